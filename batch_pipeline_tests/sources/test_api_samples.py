"""The sample customer in three API dialects ends with the figures of `expected_canonical.json`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl
import pytest

from batch_pipeline.documents.attachments import fetch_attachments
from batch_pipeline.documents.dedup import (
    build_documents,
    build_links,
    count_near_duplicates,
    distinct_files,
)
from batch_pipeline.documents.extraction import extract, read_outcomes
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.target import Target
from batch_pipeline.sources.base import SourceReport
from batch_pipeline.sources.canonical import ENTITIES, SCHEMAS
from batch_pipeline.workspace import Workspace, write_parquet
from batch_pipeline_tests.sources.exports import notices, table
from batch_pipeline_tests.sources.payload_exports import SAMPLES, SHARED, read_payloads, write_lists

pytestmark = pytest.mark.skipif(
    not SAMPLES.exists(), reason="the shared sample exports are not beside the checkout"
)
CVS = SHARED / "cvs" / "synthetic"
ATTACHED = SAMPLES / "csv_zip" / "attachments"
ELSEWHERE = {  # named by the payloads, and only in the CSV export of the same customer
    "pt-thais_1col.docx": ATTACHED / "88004" / "curriculo.docx",
    "pt-thais_2col.pdf": ATTACHED / "88005" / "curriculo.pdf",
}


@dataclass(frozen=True)
class Sample:
    """One dialect: what it cannot say, and the ids of applications A1, A2, ... in it."""

    kind: str
    payloads: Path
    files: dict[str, str]  # path below the folder of files -> file of the shared CVs
    applications: dict[str, str]  # id -> name in the expectation
    people: int
    stages: int
    prospects: int
    references: int
    stage_move_origins: dict[str, int]
    cannot_say: frozenset[str] = frozenset()  # applications whose CV the dialect has no way to name


def load(*path: str) -> Any:
    return json.loads(SAMPLES.joinpath(*path).read_text())


def by_link(link: str) -> str:
    return Path(unquote(urlsplit(link).path)).name


def greenhouse(folder: Path) -> Sample:
    applications = load("greenhouse", "applications.json")
    files = {
        f"{one['id']}/{file['filename']}": by_link(file["url"])
        for one in applications
        for file in one["attachments"]
    }
    ids = {str(one["id"]): f"A{str(one['id'])[-1]}" for one in applications if not one["prospect"]}
    origins = {"parsed_from_text": 8, "derived": 6}
    return Sample("greenhouse", SAMPLES / "greenhouse", files, ids, 8, 12, 1, 9, origins)


def greenhouse_v3(folder: Path) -> Sample:
    """The v1 lists as v3 gives them: nothing nested, everything by id, attachments a list of its own."""
    applications = load("greenhouse", "applications.json")
    v1 = greenhouse(folder)
    stages = [{"id": one["id"], "name": one["name"]} for one in load("greenhouse", "job_stages.json")]
    ids = {one["name"]: one["id"] for one in stages}
    flat = [
        {name: value for name, value in one.items() if name not in NESTED}
        | {
            "job_id": one["jobs"][0]["id"] if one["jobs"] else None,
            "status": {"active": "in_process"}.get(one["status"], one["status"]),
            "job_interview_stage_id": (one["current_stage"] or {}).get("id"),
            "source_id": one["source"]["id"],
            "rejection_reason_id": (one.get("rejection_reason") or {}).get("id"),
            "created_at": one["applied_at"],
        }
        for one in applications
    ]
    reasons = {
        one["rejection_reason"]["id"]: one["rejection_reason"]
        for one in applications
        if one.get("rejection_reason")
    }
    history = load("lever", "opportunities.json")["data"]
    stage_names = {one["id"]: one["text"] for one in load("lever", "stages.json")["data"]}
    moves = [
        {
            "id": 1000 * number + step,
            "application_id": application["id"],
            "job_interview_stage_id": ids[stage_names[change["toStageId"]]],
            "entered_at": pl.Series([change["updatedAt"]]).cast(pl.Datetime("ms", "UTC"))[0].isoformat(),
        }
        for number, (application, opportunity) in enumerate(
            zip([one for one in applications if not one["prospect"]], history[:9], strict=True)
        )
        for step, change in enumerate(opportunity["stageChanges"])
    ]
    candidates = [
        {
            name: value
            for name, value in one.items()
            if name not in ("applications", "attachments", "is_private")
        }
        | {"private": one["is_private"]}
        for one in load("greenhouse", "candidates.json")
    ]
    notes = [
        {name: value for name, value in note.items() if name not in ("user", "private", "visiblity")}
        | {"candidate_id": candidate, "user_id": 301, "type": "NOTE"}
        for candidate in (7001, 7002)
        for note in load("greenhouse", "activity_feed", f"{candidate}.json")["notes"]
    ]
    scorecards = [
        {name: value for name, value in one.items() if name not in ("submitted_by", "interviewer")}
        | {"submitter_id": 301}
        for one in load("greenhouse", "scorecards.json")
    ]
    attachments = load("greenhouse_v3", "attachments.json")
    payloads = write_lists(
        folder / "v3",
        jobs=load("greenhouse", "jobs.json"),
        candidates=candidates,
        applications=flat,
        application_stages=moves,
        job_interview_stages=stages,
        rejection_reasons=list(reasons.values()),
        sources=[{"id": 16, "name": "Jobs page on your website"}, {"id": 12, "name": "Meetups"}],
        users=[{"id": 301, "first_name": "Rae", "last_name": "Recruiter"}],
        notes=notes,
        scorecards=scorecards,
        attachments=attachments,
    )
    files = {f"{one['id']}{Path(one['filename']).suffix}": by_link(one["url"]) for one in attachments}
    return Sample("greenhouse", payloads, files, v1.applications, 8, 4, 1, 9, {"structured": 14})


NESTED = ("jobs", "current_stage", "source", "rejection_reason", "attachments", "recruiter", "applied_at")


def lever(folder: Path) -> Sample:
    opportunities = load("lever", "opportunities.json")["data"]
    ids = {one["id"]: f"A{number}" for number, one in enumerate(opportunities[:9], start=1)}
    by_application = {
        name: one for one in load("greenhouse", "applications.json") for name in [f"A{str(one['id'])[-1]}"]
    }
    named = {
        (name, file["filename"]): by_link(file["url"])
        for name, one in by_application.items()
        for file in one["attachments"]
    }
    listed = [
        (owner, one["id"], one["file"]["name"])
        for owner, page in load("lever", "resumes.json").items()
        for one in page["data"]
        if one["file"]
    ] + [
        (owner, one["id"], one["name"])
        for owner, page in load("lever", "files.json").items()
        for one in page["data"]
    ]
    files = {f"{source_id}/{name}": named[ids[owner], name] for owner, source_id, name in listed}
    return Sample("lever", SAMPLES / "lever", files, ids, 8, 4, 1, 9, {"structured": 14})


def workable(folder: Path) -> Sample:
    candidates = load("workable", "candidates.json")["candidates"]
    files = {
        f"{one['id']}/{by_link(one['resume_url'])}": by_link(one["resume_url"])
        for one in candidates
        if one["resume_url"]
    }
    ids = {one["id"]: f"A{one['profile_url'][-1]}" for one in candidates}
    # C7 has no job and is not listed; C1 and C6 have one address and name; A6's CV is in a second file
    return Sample(
        "workable", SAMPLES / "workable", files, ids, 6, 0, 0, 7, {"structured": 14}, frozenset({"A6"})
    )


SAMPLES_OF = {"greenhouse": greenhouse, "greenhouse_v3": greenhouse_v3, "lever": lever, "workable": workable}


@pytest.fixture(params=sorted(SAMPLES_OF))
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Sample:
    made: Sample = SAMPLES_OF[request.param](tmp_path)
    return made


def read_sample(sample: Sample, tmp_path: Path) -> SourceReport:
    files = tmp_path / "files"
    for path, name in sample.files.items():
        (files / path).parent.mkdir(parents=True, exist_ok=True)
        (files / path).write_bytes(ELSEWHERE.get(name, CVS / name).read_bytes())
    return read_payloads(sample.kind, sample.payloads, tmp_path / "out", attachments=str(files))


def test_the_rows_of_the_sample_come_out(sample: Sample, tmp_path: Path) -> None:
    expected = load("expected_canonical.json")
    report = read_sample(sample, tmp_path)
    has_notes = sample.kind != "workable"
    assert report.counts == {
        "person": sample.people,
        "job": expected["jobs"],
        "stage": sample.stages,
        "tag": 1 if sample.kind == "greenhouse" else 0,
        "offer": 0,
        "question_answer": 0,
        "application": expected["applications"] + sample.prospects,
        "stage_move": expected["stage_moves"],
        "note": expected["notes"] if has_notes else 0,
        "evaluation": expected["scorecards"] if sample.kind == "greenhouse" else 0,
        "attachment": sample.references,
    }
    out = tmp_path / "out"
    for entity in ENTITIES:
        assert table(out, entity).schema == SCHEMAS[entity]
    origins = dict(table(out, "stage_move")["origin"].value_counts().iter_rows())
    assert origins == sample.stage_move_origins
    assert [one.count for one in notices(report, "erased_people")] == [expected["candidates_erased"]]
    assert table(out, "person")["erased_at"].is_not_null().sum() == expected["candidates_erased"]
    prospects = table(out, "application").filter(kind="prospect")
    assert (prospects.height, prospects["job_id"].null_count()) == (sample.prospects, sample.prospects)
    assert not notices(report, "dangling_references")
    assert not notices(report, "unknown_values")
    assert not notices(report, "orphan_files")
    if sample.kind != "workable":
        assert [one.count for one in notices(report, "possible_duplicates")] == [1]


def test_the_applications_say_the_same_in_every_dialect(sample: Sample, tmp_path: Path) -> None:
    read_sample(sample, tmp_path)
    rows = table(tmp_path / "out", "application").with_columns(
        name=pl.col("source_id").replace_strict(sample.applications, default=None)
    )
    named = {row["name"]: row for row in rows.iter_rows(named=True) if row["name"]}
    assert {name: row["status"] for name, row in named.items()} == {
        **dict.fromkeys(("A1", "A4", "A7"), "rejected"),
        **dict.fromkeys(("A2", "A5", "A6", "A8", "A9"), "active"),
        "A3": "hired",
    }
    assert named["A1"]["reject_reason"] == "Not enough experience"
    assert named["A1"]["rejected_at"].isoformat() == "2023-05-02T10:00:00+00:00"
    assert named["A4"]["person_id"] == named["A5"]["person_id"]
    assert (named["A4"]["sequence_no"], named["A5"]["sequence_no"]) == (1, 2)
    moves = table(tmp_path / "out", "stage_move").filter(application_id=next(iter(sample.applications)))
    assert moves.sort("moved_at")["from_stage"].to_list()[0] is None
    assert moves.sort("moved_at")["moved_at"].dt.date().cast(pl.String).to_list() == [
        "2023-02-10",
        "2023-02-20",
        "2023-03-15",
    ]


def test_the_files_of_the_sample_come_out(sample: Sample, tmp_path: Path) -> None:
    expected = load("expected_canonical.json")
    report = read_sample(sample, tmp_path)
    listed = table(tmp_path / "out", "attachment")
    assert listed["state"].unique().to_list() == ["pending"]
    assert "http" not in str(listed["source_handle"].to_list()) + str(listed["raw"].to_list())
    fetched = fetch_attachments(listed, tmp_path / "spool", workers=1)
    failed = fetched.filter(state="download_failed")
    assert [sample.applications[one] for one in failed["application_id"]] == ["A9"]
    extract(distinct_files(fetched), tmp_path / "texts", 1)
    documents = build_documents(fetched, read_outcomes(tmp_path / "texts"))
    cvs = documents.filter(verdict="cv")
    wanted = set(expected["unique_cv_md5"])
    lost = {md5_of("de-joerg_1col.pdf")} if sample.cannot_say else set()
    assert set(cvs["md5"]) == wanted - lost
    # A1 and A8 hold equal text in other bytes
    assert count_near_duplicates(documents) == expected["unique_cv_count"] - expected["unique_cv_text_count"]
    assert cvs.filter("needs_vision")["md5"].to_list() == [md5_of("es-ximena_scan.pdf")]
    letters = documents.filter(reason="cover_letter")
    assert letters.height == (0 if sample.kind == "workable" else 1)
    links = build_links(fetched, documents, table(tmp_path / "out", "application"))
    fan_out = {sample.applications[one] for one in links["application_id"]}
    assert fan_out == set(expected["cv_references"]["by_application"]) - sample.cannot_say
    assert links.height == expected["cv_references"]["total"] - len(sample.cannot_say)
    assert notices(report, "attachment_layout")


def md5_of(name: str) -> str:
    index = pl.read_csv(SHARED / "cvs" / "index.csv", infer_schema=False)
    found: str = index.filter(path=f"synthetic/{name}")["md5"][0]
    return found


def test_reading_a_folder_again_gives_the_same_tables(sample: Sample, tmp_path: Path) -> None:
    first = read_payloads(sample.kind, sample.payloads, tmp_path / "a")
    assert first == read_payloads(sample.kind, sample.payloads, tmp_path / "b")
    for entity in ENTITIES:
        assert table(tmp_path / "a", entity).equals(table(tmp_path / "b", entity))


@pytest.mark.servers
def test_the_sample_lands_in_postgresql_with_its_references(
    sample: Sample, tmp_path: Path, postgres_url: str
) -> None:
    report = read_sample(sample, tmp_path)
    workspace = Workspace(tmp_path / "work", "sample").create()
    (tmp_path / "out").rename(workspace.canonical)
    fetched = fetch_attachments(pl.read_parquet(workspace.table("attachment")), workspace.spool, workers=1)
    extract(distinct_files(fetched), workspace.texts, 1)
    documents = build_documents(fetched, read_outcomes(workspace.texts))
    links = build_links(fetched, documents, pl.read_parquet(workspace.table("application")))
    for frame, path in (
        (fetched, workspace.attachments),
        (documents, workspace.documents),
        (links, workspace.links),
    ):
        write_parquet(frame, path)
    target = Target("northwind", sample.kind, "sample")
    landed = import_migration(postgres_url, target, workspace).tables
    listed = {name: count for name, count in report.counts.items() if name != "attachment"}
    assert {name: landed[name].inserted for name in listed} == listed
    assert landed["attachment"].inserted == fetched.height
    assert landed["cv_link"].inserted == links.height
    assert import_migration(postgres_url, target, workspace).changed == 0
