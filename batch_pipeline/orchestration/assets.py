"""The flow as assets. Each reads as: open the migration, run the stage, say what came of it."""

from collections.abc import Iterable
from typing import Any

import dagster as dg

from batch_pipeline.ledger import jobs as ledger_jobs
from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.orchestration.metadata import check_specs, checks, figures, first_rows, job_table
from batch_pipeline.orchestration.partitions import MIGRATIONS
from batch_pipeline.orchestration.resources import MigrationsResource
from batch_pipeline.stages import sums
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.dedup import dedup
from batch_pipeline.stages.finish import (
    erase_when_imported,
    is_imported,
    load_and_check,
    parse_and_check,
)
from batch_pipeline.stages.headless import preflight
from batch_pipeline.stages.on_demand import answer_on_demand
from batch_pipeline.stages.raw import read_raw
from batch_pipeline.stages.report import cost_report as report_costs
from batch_pipeline.stages.shards import plan_shards
from batch_pipeline.stages.submit import submit

GROUP = "migration"
_COMMON: dict[str, Any] = {
    "group_name": GROUP,
    "partitions_def": MIGRATIONS,
    "owners": ["team:migrations"],
}


def _sums(all_of: Iterable[sums.Sum], *names: str) -> list[dg.AssetCheckResult]:
    return checks([one for one in all_of if one.name in names])


def _over(context: Context) -> dg.MaterializeResult | None:
    """What a preparing asset says of a migration that is already imported: nothing is read again."""
    if not is_imported(context):
        return None
    closed = {one.name: one for one in sums.recorded(context)}
    return dg.MaterializeResult(
        metadata={"state": "imported: nothing is read or sent again", "sums closed": len(closed)}
    )


@dg.asset(
    **_COMMON,
    kinds={"python", "polars"},
    check_specs=check_specs(
        "raw_cvs", attachments="attachments = fetched + missing + download_failed + erased"
    ),
)
def raw_cvs(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """Every attachment reference of the export, with its file's hash, type and state.

    Also reads the customer's people, jobs, applications, stage moves, notes and evaluations.
    """
    with migration.open(context) as opened:
        if over := _over(opened):
            return _with_recorded(opened, over, "attachments")
        raw = read_raw(opened)
        return dg.MaterializeResult(
            metadata={
                **figures(rows=raw.rows, states=raw.states, bytes=raw.bytes),
                **figures(notices={f"{notice.table}: {notice.kind}": notice.count for notice in raw.notices}),
                **first_rows(
                    opened.workspace.attachments,
                    ("source_id", "application_id", "state", "sniffed_mime", "bytes", "document_md5"),
                ),
            },
            check_results=_sums(sums.state_sums(opened), "attachments"),
        )


@dg.asset(
    **_COMMON,
    deps=[raw_cvs],
    kinds={"python", "polars"},
    check_specs=check_specs("deduped_cvs", files="fetched = CVs + not_a_cv + quarantined"),
)
def deduped_cvs(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """One row per distinct document (MD5): its text, or the reason there is none, and its route."""
    with migration.open(context) as opened:
        if over := _over(opened):
            return _with_recorded(opened, over, "files")
        deduped = dedup(opened)
        return dg.MaterializeResult(
            metadata={
                **figures(**vars(deduped)),
                **first_rows(
                    opened.workspace.documents,
                    ("md5", "references", "sniffed_mime", "text_chars", "verdict", "reason", "route"),
                ),
            },
            check_results=_sums(sums.attachment_sums(opened), "files"),
        )


@dg.asset(
    **_COMMON,
    deps=[deduped_cvs],
    kinds={"python", "json"},
    check_specs=check_specs("jsonl_shards", documents="distinct CVs = batch + on-demand"),
)
def jsonl_shards(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """The requests as JSON lines, cut into jobs that keep every quota of the provider and model."""
    with migration.open(context) as opened:
        if over := _over(opened):
            return _with_recorded(opened, over, "documents")
        planned = plan_shards(opened)
        return dg.MaterializeResult(
            metadata={
                **figures(**vars(planned)),
                **first_rows(
                    opened.workspace.shards, ("shard_digest", "records", "bytes", "first_record_id")
                ),
            },
            check_results=_sums(sums.document_sums(opened), "documents"),
        )


@dg.asset(**_COMMON, deps=[jsonl_shards], io_manager_key="job_ledger", kinds={"bedrock", "s3", "postgres"})
def bedrock_jobs(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """The batch jobs as the ledger holds them: settles what ended, sends only what is owed.

    Materialising it again never pays again: a request that was accepted and not settled is not sent.
    """
    with migration.open(context) as opened:
        step = migrations.standing(opened.ledger, opened.key).next_step()
        if step == "submit":
            preflight(opened)
        done = submit(opened)
        held = [job for job in ledger_jobs.jobs(opened.ledger, opened.key) if job.state != "void"]
        standing = migrations.standing(opened.ledger, opened.key)
        return dg.MaterializeResult(
            value=held,
            metadata={
                **figures(
                    accepted=done.accepted,
                    adopted=done.adopted,
                    waiting_for_quota=done.waiting,
                    settled_jobs=len(done.harvested),
                    moved_to_on_demand=done.moved_to_on_demand,
                    next_step=standing.next_step(),
                    held=standing.hold,
                ),
                **job_table(held),
            },
        )


@dg.asset(**_COMMON, kinds={"bedrock", "postgres"})
def on_demand_answers(
    context: dg.AssetExecutionContext, migration: MigrationsResource, bedrock_jobs: list[Job]
) -> dg.MaterializeResult:
    """Answers of documents that cannot go in batch: scans, and what is left under the minimum."""
    with migration.open(context) as opened:
        _require_settled(opened, bedrock_jobs)
        if not is_imported(opened):
            preflight(opened)
        done = answer_on_demand(opened)
        return dg.MaterializeResult(metadata=figures(**vars(done)))


@dg.asset(
    **_COMMON,
    deps=[on_demand_answers],
    kinds={"python", "pydantic"},
    check_specs=check_specs(
        "parsed_cvs",
        requests="requested records = answered + errored + missing, per job",
        answers="documents = answered + failed",
        parsed="distinct CVs = parsed + failed",
        final_answers="rows = distinct documents",
    ),
)
def parsed_cvs(
    context: dg.AssetExecutionContext, migration: MigrationsResource, bedrock_jobs: list[Job]
) -> dg.MaterializeResult:
    """One row per document: a validated CV (JSON Resume), or a failure with its reason."""
    with migration.open(context) as opened:
        _require_settled(opened, bedrock_jobs)
        parsed = parse_and_check(opened)
        names = ("requests", "answers", "parsed", "final answers")
        if parsed is None:
            over = _over(opened)
            assert over is not None
            return _with_recorded(opened, over, *names)
        return dg.MaterializeResult(
            metadata={
                **figures(**vars(parsed)),
                "dagster/row_count": parsed.parsed + parsed.failed,
            },
            check_results=_sums([*sums.answer_sums(opened), *sums.parsed_sums(opened)], *names),
        )


@dg.asset(
    **_COMMON,
    deps=[parsed_cvs],
    kinds={"postgres"},
    check_specs=check_specs("imported_records", links="links = CV attachments x their applications"),
)
def imported_records(
    context: dg.AssetExecutionContext, migration: MigrationsResource
) -> dg.MaterializeResult:
    """The customer's whole history and every parsed CV in the target database, counted and compared."""
    with migration.open(context) as opened:
        imported = load_and_check(opened)
        if imported is None:
            over = _over(opened)
            assert over is not None
            return _with_recorded(opened, over, "links")
        inserted = {table: counts["inserted"] for table, counts in imported.tables.items()}
        staged = {table: counts["staged"] for table, counts in imported.tables.items()}
        return dg.MaterializeResult(
            metadata={
                **figures(rows=staged, inserted=inserted, compared_rows=imported.compared),
                "dagster/row_count": sum(staged.values()),
            },
            check_results=_sums(sums.link_sums(opened), "links"),
        )


@dg.asset(
    **_COMMON,
    deps=[imported_records],
    kinds={"s3"},
    check_specs=check_specs(
        "erased_files", objects="objects listed before erasing = objects deleted, none left"
    ),
)
def erased_files(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """The deletion certificate: objects, versions and uploads listed, deleted, and looked for again."""
    with migration.open(context) as opened:
        erased = erase_when_imported(opened)
        objects = sums.Sum(
            "objects",
            "objects listed before erasing = objects deleted, none left",
            erased.objects.listed,
            erased.objects.deleted - erased.objects.left,
        )
        return dg.MaterializeResult(
            metadata=figures(
                **vars(erased.objects),
                kept_answers_erased=erased.kept_answers,
                intermediate_files_erased=erased.intermediate_files,
            ),
            check_results=checks([objects]),
        )


@dg.asset(**_COMMON, deps=[imported_records], kinds={"python"})
def cost_report(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """Tokens and money from the answers' own usage, and what dedup and batch saved."""
    with migration.open(context) as opened:
        return dg.MaterializeResult(metadata=figures(**report_costs(opened)))


def _with_recorded(opened: Context, over: dg.MaterializeResult, *names: str) -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata=over.metadata, check_results=_sums(sums.recorded(opened), *names))


def _require_settled(opened: Context, known: list[Job]) -> None:
    """Answers are read only when no job can bring another one."""
    unsettled = [job.name for job in known if job.state in {"intent", "accepted", "running", "ended"}]
    if unsettled:
        raise dg.Failure(
            f"migration {opened.key}: {len(unsettled)} jobs are not settled yet; the sensor goes on by itself "
            "when they end",
            metadata={"jobs": ", ".join(unsettled[:20])},
            allow_retries=False,
        )


ASSETS = [
    raw_cvs,
    deduped_cvs,
    jsonl_shards,
    bedrock_jobs,
    on_demand_answers,
    parsed_cvs,
    imported_records,
    erased_files,
    cost_report,
]
