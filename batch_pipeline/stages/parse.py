"""`parsed_cvs`: every paid answer read once more and made a CV, whichever way it came."""

import io
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from batch_pipeline.answers.lines import Line, iter_lines
from batch_pipeline.answers.table import Expected, parsed_row, parsed_schema, write_parsed, write_rows
from batch_pipeline.documents.identical_texts import reused_answers, with_reused
from batch_pipeline.ledger import jobs, migrations, on_demand
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.records.parsed_before import parsed_before
from batch_pipeline.requests.digests import document_digest
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.job_lines import lines_of, sent_in
from batch_pipeline.stages.load import target_of
from batch_pipeline.stages.restore import restoring
from batch_pipeline.tasks.base import Failure
from batch_pipeline.workspace import write_parquet


@dataclass(frozen=True)
class ParsedCvs:
    """Documents by status, failed ones by reason, and what the answers used."""

    parsed: int
    failed: int
    reused: int  # of `parsed`: read by an earlier migration of this tenant, not paid again
    copied: int  # of both: of a text that was asked about once
    reasons: Mapping[str, int]
    input_tokens: int
    output_tokens: int
    models: Mapping[str, int]  # of `parsed`: by the model that answered


def parse(context: Context) -> ParsedCvs:
    """Read the answers in the bucket and in the ledger; write `parsed/` anew, all of it or nothing.

    Which answer counts for a document was settled in the ledger: a line of another job for the same
    record is left aside.
    """
    target = context.workspace.parsed
    fresh = target.with_name("parsed.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True, mode=0o700)
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    tokens = [0, 0]
    for number, (model, lines, sent, repeats) in enumerate(_sources(context)):
        settled = write_parsed(
            lines,
            sent if repeats else _without_digest(sent),
            fresh / f"{number:05}.parquet",
            task=context.task,
            model=model,
            digest_of=document_digest if repeats else _not_echoed,
            restored=restoring(context, sent),
        )
        statuses.update(settled.by_outcome)
        reasons.update(settled.by_reason)
        tokens[0] += settled.input_tokens
        tokens[1] += settled.output_tokens
        context.progress("answers parsed", sum(statuses.values()), None)
    refused = _refused(context)
    write_rows(
        (
            parsed_row(context.task, model, record_id, md5, failure)
            for record_id, md5, model, failure in refused
        ),
        parsed_schema(context.task),
        fresh / "failed.parquet",
    )
    reasons.update(failure.reason for *_, failure in refused)
    reused = _write_reused(context, fresh / "reused.parquet")
    copied = _write_copies(context, fresh)
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)
    result = ParsedCvs(
        parsed=statuses["parsed"] + reused + copied["parsed"],
        failed=statuses["failed"] + len(refused) + copied["failed"],
        reused=reused,
        copied=copied.total(),
        reasons=dict(reasons),
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        models=_parsed_by(target),
    )
    migrations.keep_report(context.ledger, context.key, {"parsed_cvs": asdict(result)})
    return result


def _parsed_by(folder: Path) -> dict[str, int]:
    rows = pl.scan_parquet(folder / "*.parquet").filter(pl.col("status") == "parsed")
    return dict(rows.group_by("model").len().sort("model").collect().iter_rows())


def _write_reused(context: Context, out: Path) -> int:
    """Rows of CVs that were not asked about, because this tenant had them read before."""
    asked = {
        row["record_id"]
        for row in context.ledger.sql.execute(
            "select record_id from document where migration = %s", (context.key,)
        )
    }
    cvs = pl.read_parquet(context.workspace.documents, columns=["md5", "record_id", "verdict"])
    records = {
        md5: record_id
        for md5, record_id, verdict in cvs.iter_rows()
        if verdict == "cv" and record_id not in asked
    }
    url = context.settings.database_url.get_secret_value()
    count = 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal count
        for md5, *values in parsed_before(url, target_of(context), list(records)):
            count += 1
            yield (records[md5], md5, "parsed", None, None, *values)

    write_rows(rows(), parsed_schema(context.task), out)
    return count


def _write_copies(context: Context, folder: Path) -> Counter[str]:
    """Answers of texts that were asked about once, for the other documents of the same text."""
    if not context.migration.reuse_identical_text:
        return Counter()
    before = pl.read_parquet(folder / "reused.parquet", columns=["md5"])
    documents = pl.read_parquet(context.workspace.documents).join(before, on="md5", how="anti")
    wanted = reused_answers(documents).select(md5="answer_md5").unique()
    answers = pl.scan_parquet(folder / "*.parquet").join(wanted.lazy(), on="md5", how="semi").collect()
    copies = with_reused(answers, documents)[answers.height :]
    write_parquet(copies, folder / "copies.parquet")
    return Counter(copies["status"].to_list())


def _not_echoed(_model_input: bytes) -> str:
    """Some providers do not repeat what they were asked, and single answers are kept without their input: the
    process that asked wrote the line itself."""
    return ""


_Source = tuple[str, Iterator[Line], dict[str, Expected], bool]
"""Model, lines, what was sent, and whether a line repeats it."""


def _sources(context: Context) -> Iterator[_Source]:
    for job in jobs.jobs(context.ledger, context.key, "collected", "imported"):
        expected = _expected(context, "answered_by_job = %s", job.id)
        if not expected:
            continue
        lines = _job_lines(context.of(job), job)
        yield job.model, lines, expected, context.of(job).provider.capabilities.echoes_input
    for model in on_demand.models(context.ledger, context.key):
        calls = _expected(
            context, "answered_by_call in (select id from on_demand_call where model = %s)", model
        )
        yield model, _call_lines(context, model), calls, False


def _without_digest(expected: dict[str, Expected]) -> dict[str, Expected]:
    return {record_id: Expected(sent.md5, "") for record_id, sent in expected.items()}


def _expected(context: Context, condition: str, value: object) -> dict[str, Expected]:
    rows = context.ledger.sql.execute(
        f"select record_id, md5, request_digest from document where migration = %s and withdrawn_at is null and {condition}",  # noqa: S608
        (context.key, value),
    )
    return {row["record_id"]: Expected(row["md5"], row["request_digest"]) for row in rows}


def _job_lines(context: Context, job: Job) -> Iterator[Line]:
    assert job.provider_id is not None
    sent = sent_in(context, job)
    for file in context.provider.outputs(job.name, job.provider_id):
        yield from lines_of(context, file, sent)


def _call_lines(context: Context, model: str) -> Iterator[Line]:
    for line in on_demand.lines(context.ledger, context.key, model):
        yield from iter_lines(io.BytesIO(line))


def _refused(context: Context) -> list[tuple[str, str, str, Failure]]:
    """Documents that failed before there was an answer to parse, and the model that was to answer."""
    rows = context.ledger.sql.execute(
        "select record_id, md5, tier, reason, error_code from document where migration = %s and state = 'failed' and withdrawn_at is null "
        "order by record_id",
        (context.key,),
    )
    return [
        (
            row["record_id"],
            row["md5"],
            context.tiers[row["tier"]].migration.provider.model,
            Failure(row["reason"], f"code {row['error_code']}" if row["error_code"] is not None else None),
        )
        for row in rows
    ]
