"""A small invented migration, written as the stages before `records` write it."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl

from batch_pipeline.sources.canonical import ENTITIES, SCHEMAS, Entity
from batch_pipeline.workspace import Workspace, write_parquet

NOON = datetime(2026, 1, 12, 12, 0, 0, 123456, tzinfo=UTC)
ATTACHMENTS = pl.Schema(
    dict(SCHEMAS["attachment"])
    | {
        "reason": pl.String,
        "sniffed_mime": pl.String,
        "bytes": pl.Int64,
        "document_md5": pl.String,
        "sha256": pl.String,
        "parent_attachment_id": pl.String,
    }
)
DOCUMENTS = pl.Schema(
    {
        "md5": pl.String,
        "sha256": pl.String,
        "bytes": pl.Int64,
        "sniffed_mime": pl.String,
        "local_path": pl.String,
        "references": pl.Int32,
        "pages": pl.Int32,
        "text_chars": pl.Int64,
        "text_sha": pl.String,
        "verdict": pl.String,
        "reason": pl.String,
        "needs_vision": pl.Boolean,
        "record_id": pl.String,
        "route": pl.String,
    }
)
LINKS = pl.Schema(
    {
        "attachment_id": pl.String,
        "application_id": pl.String,
        "person_id": pl.String,
        "document_md5": pl.String,
        "is_latest": pl.Boolean,
    }
)
PARSED = pl.Schema(
    {
        "record_id": pl.String,
        "md5": pl.String,
        "status": pl.String,
        "reason": pl.String,
        "detail": pl.String,
        "json_resume": pl.String,
        "extra": pl.String,
        "schema_version": pl.String,
        "parser_version": pl.String,
        "model": pl.String,
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
    }
)

Row = dict[str, Any]


def md5_of(name: str) -> str:
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def source_row(source_id: str, **values: object) -> Row:
    return {
        "source_id": source_id,
        "source_created_at": NOON,
        "tz_assumed": False,
        "raw": json.dumps({"ID": source_id}),
        **values,
    }


def document(name: str, verdict: str = "cv", **values: object) -> Row:
    md5 = md5_of(name)
    return {
        "md5": md5,
        "sha256": hashlib.sha256(name.encode()).hexdigest(),
        "bytes": 1000,
        "sniffed_mime": "application/pdf",
        "references": 1,
        "text_chars": 900,
        "verdict": verdict,
        "needs_vision": False,
        "record_id": f"cv-{md5}" if verdict == "cv" else None,
        "route": "batch" if verdict == "cv" else "none",
        **values,
    }


def answer(name: str, resume: Mapping[str, object] | None, **values: object) -> Row:
    md5 = md5_of(name)
    return {
        "record_id": f"cv-{md5}",
        "md5": md5,
        "status": "failed" if resume is None else "parsed",
        "reason": "truncated" if resume is None else None,
        "json_resume": None if resume is None else json.dumps(resume, ensure_ascii=False),
        "extra": None if resume is None else "{}",
        "schema_version": "1",
        "parser_version": "1",
        "model": "test-model",
        "input_tokens": 100,
        "output_tokens": 50,
        **values,
    }


RESUME: dict[str, object] = {
    "basics": {"name": "Imogen Example"},
    "work": [
        {"name": "Contoso", "position": "Engineer", "startDate": "2020-01", "highlights": ["Built a thing"]},
        {"name": "Fabrikam", "position": "Trainee", "startDate": "2018", "endDate": "2019-12"},
    ],
    "education": [{"institution": "Example University", "studyType": "BSc", "courses": ["Logic"]}],
    "skills": [{"name": "Data", "keywords": ["SQL", "Python"]}],
    "languages": [{"language": "German", "fluency": "C1"}],
}


def small_migration() -> dict[str, list[Row]]:
    """Two people (one erased), one CV on two applications, one CV that failed, one letter."""
    return {
        "person": [
            source_row(
                "p1", full_name="Imogen Example", emails='[{"raw":"i@example.com","norm":"i@example.com"}]'
            ),
            source_row("p2", full_name="Erased Example", erased_at=NOON, emails="[]"),
        ],
        "job": [source_row("j1", title="Data Engineer", status="open")],
        "stage": [
            source_row("s1", job_id="j1", name="Applied", position=0),
            source_row("s2", name="Onsite", position=1, kind="interview"),
        ],
        "application": [
            source_row("a1", person_id="p1", job_id="j1", status="rejected", sequence_no=1),
            source_row("a2", person_id="p1", job_id="j1", status="active", sequence_no=2),
            source_row("a3", person_id="p2", job_id=None, status="active", sequence_no=1),
        ],
        "tag": [
            source_row("g1", person_id="p1", name="Python"),
            source_row("g2", application_id="a3", name="knows everybody"),
        ],
        "offer": [
            source_row(
                "o1",
                application_id="a2",
                status="open",
                starts_on=date(2026, 3, 1),
                details='{"salary": 42000}',
            ),
            source_row("o2", application_id="a3", status="draft", details='{"salary": 1}'),
        ],
        "question_answer": [
            source_row("q1", application_id="a1", question="Why?", answer="Because", kind="screening"),
            source_row("q2", application_id="a3", question="Where?", answer="At home", kind="screening"),
        ],
        "stage_move": [source_row("m1", application_id="a1", to_stage="Applied", moved_at=NOON)],
        "note": [
            source_row(
                "n1", person_id="p1", application_id="a1", body_text='kind\nof, "good"', visibility="private"
            ),
            source_row(
                "n2", person_id="p2", application_id="a3", body_text="knows everybody", visibility="public"
            ),
        ],
        "evaluation": [
            source_row("e1", application_id="a1", overall=4, items='[{"question":"Q","answer":"A"}]')
        ],
        "attachments": [
            _attachment("t1", "p1", "a1", "cv"),
            _attachment("t2", "p1", "a2", "cv"),
            _attachment("t3", "p1", "a2", "letter"),
            _attachment("t4", "p1", "a2", "second cv"),
            source_row("t5", person_id="p2", application_id="a3", file_name="cv.pdf", state="erased"),
        ],
        "documents": sorted(
            [document("cv"), document("letter", "not_a_cv", reason="cover_letter"), document("second cv")],
            key=lambda row: str(row["md5"]),
        ),
        "links": [
            _link("t1", "a1", "cv", latest=True),
            _link("t2", "a2", "cv", latest=False),
            _link("t4", "a2", "second cv", latest=True),
        ],
        "parsed": [answer("cv", RESUME), answer("second cv", None)],
    }


def write(root: Path, rows: Mapping[str, Iterable[Row]], key: str = "acme-2026") -> Workspace:
    """Write a migration's Parquet files; replaces those that are there."""
    workspace = Workspace(root, key).create()
    entities: tuple[Entity, ...] = ENTITIES
    for entity in entities:
        if entity != "attachment":
            write_parquet(pl.DataFrame(list(rows[entity]), schema=SCHEMAS[entity]), workspace.table(entity))
    write_parquet(pl.DataFrame(list(rows["attachments"]), schema=ATTACHMENTS), workspace.attachments)
    write_parquet(pl.DataFrame(list(rows["documents"]), schema=DOCUMENTS), workspace.documents)
    write_parquet(pl.DataFrame(list(rows["links"]), schema=LINKS), workspace.links)
    write_parquet(pl.DataFrame(list(rows["parsed"]), schema=PARSED), workspace.parsed / "part-0.parquet")
    return workspace


def _attachment(source_id: str, person: str, application: str, name: str) -> Row:
    return source_row(
        source_id,
        person_id=person,
        application_id=application,
        file_name="CV.pdf",
        local_path="/somewhere/CV.pdf",
        state="fetched",
        bytes=1000,
        document_md5=md5_of(name),
    )


def _link(attachment: str, application: str, name: str, *, latest: bool) -> Row:
    return {
        "attachment_id": attachment,
        "application_id": application,
        "person_id": "p1",
        "document_md5": md5_of(name),
        "is_latest": latest,
    }
