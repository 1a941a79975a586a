"""The flow as assets. Each reads as: open the migration, run the stage, say what came of it."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any, Final

import dagster as dg

from batch_pipeline.ledger import jobs as ledger_jobs
from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.orchestration import columns, left_out
from batch_pipeline.orchestration.metadata import (
    check_specs,
    checks,
    comes_from,
    count_table,
    figures,
    first_rows,
    job_table,
    model_table,
    money,
)
from batch_pipeline.orchestration.partitions import MIGRATIONS
from batch_pipeline.orchestration.resources import MigrationsResource
from batch_pipeline.orchestration.summary_page import page
from batch_pipeline.records.shortfall import shortfalls
from batch_pipeline.stages import sums
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.dedup import dedup
from batch_pipeline.stages.escalate import escalate
from batch_pipeline.stages.finish import (
    erase_when_imported,
    is_imported,
    load_and_check,
    stop_where_nothing_was_read,
)
from batch_pipeline.stages.headless import have_files, preflight
from batch_pipeline.stages.load import target_of
from batch_pipeline.stages.on_demand import answer_on_demand
from batch_pipeline.stages.parse import parse
from batch_pipeline.stages.raw import read_raw
from batch_pipeline.stages.report import cost_report as report_costs
from batch_pipeline.stages.shards import plan_shards
from batch_pipeline.stages.submit import submit
from batch_pipeline.stages.summary import summary
from batch_pipeline.tasks.cv.parser import CvTask

GROUP: Final = "migration"
_CODE: Final = version("batch-pipeline")
_PROMPT: Final = hashlib.sha256(CvTask().redacted_prompt.encode()).hexdigest()[:12]
_COMMON: Final[dict[str, Any]] = {
    "group_name": GROUP,
    "partitions_def": MIGRATIONS,
    "owners": ["team:migrations"],
}


def _sums(all_of: Iterable[sums.Sum], *names: str) -> list[dg.AssetCheckResult]:
    return checks([one for one in all_of if one.name in names])


@dg.asset(
    **_COMMON,
    code_version=_CODE,
    kinds={"python", "polars"},
    metadata=columns.RAW_CVS,
    check_specs=check_specs(
        "raw_cvs", attachments="attachments = fetched + missing + download_failed + erased"
    ),
)
def raw_cvs(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """Every attachment of the export, by its bytes.

    One row per reference with its file's hash, type and state; a file that is missing or broken is a row
    with its reason. Also reads the customer's people, jobs, applications, stage moves, notes and
    evaluations.
    """
    with migration.open(context) as opened:
        if is_imported(opened):
            return _over(opened, "attachments")
        migrations.mark_begun(opened.ledger, opened.key)
        raw = read_raw(opened)
        return dg.MaterializeResult(
            metadata={
                **figures(rows=raw.rows, states=raw.states, bytes=raw.bytes),
                **({"totals of the source": count_table("what", raw.totals)} if raw.totals else {}),
                **figures(notices={f"{notice.table}: {notice.kind}": notice.count for notice in raw.notices}),
                **left_out.not_fetched(opened.workspace.attachments),
                **first_rows(
                    opened.workspace.attachments,
                    ("source_id", "application_id", "state", "sniffed_mime", "bytes", "document_md5"),
                ),
            },
            check_results=_sums(sums.state_sums(opened), "attachments"),
        )


@dg.asset(
    **_COMMON,
    code_version=_CODE,
    deps=[raw_cvs],
    kinds={"python", "polars"},
    metadata=columns.DEDUPED_CVS,
    check_specs=check_specs("deduped_cvs", files="fetched = CVs + not_a_cv + quarantined"),
)
def deduped_cvs(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """One row per distinct document, by its MD5.

    Its text, or the reason there is none, and its route. A CV sent with five applications is one document
    here and is paid once. A scan goes on-demand, a letter or a broken file is not sent at all; who applied
    with what is kept beside it.
    """
    with migration.open(context) as opened:
        if is_imported(opened):
            return _over(opened, "files")
        deduped = dedup(opened)
        return dg.MaterializeResult(
            metadata={
                **comes_from("references of", raw_cvs),
                **figures(**vars(deduped)),
                **left_out.quarantined(opened.workspace.documents, opened.workspace.attachments),
                **first_rows(
                    opened.workspace.documents,
                    ("md5", "references", "sniffed_mime", "text_chars", "verdict", "reason", "route"),
                ),
            },
            check_results=_sums(sums.attachment_sums(opened), "files"),
        )


@dg.asset(
    **_COMMON,
    code_version=f"{_CODE} prompt {_PROMPT}",
    deps=[deduped_cvs],
    kinds={"python", "json"},
    metadata=columns.JSONL_SHARDS,
    check_specs=check_specs("jsonl_shards", documents="distinct CVs = batch + on-demand"),
)
def jsonl_shards(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """The requests, cut into jobs within every quota.

    JSON lines as the provider takes them, each shard within the limits of provider and model. The same documents give the same bytes and the same shards. Documents that no legal job can hold
    are marked on-demand.
    """
    with migration.open(context) as opened:
        if is_imported(opened):
            return _over(opened, "documents")
        planned = plan_shards(opened)
        return dg.MaterializeResult(
            metadata={
                **comes_from("documents of", deduped_cvs),
                **figures(**vars(planned)),
                **first_rows(
                    opened.workspace.shards, ("shard_digest", "records", "bytes", "first_record_id")
                ),
            },
            check_results=_sums(sums.document_sums(opened), "documents"),
        )


@dg.asset(
    **_COMMON,
    code_version=_CODE,
    deps=[jsonl_shards],
    io_manager_key="job_ledger",
    kinds={"bedrock", "s3", "postgres"},
)
def bedrock_jobs(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """The batch jobs of the ledger, each paid once.

    Settles what ended and sends only what is owed.     Materialising it again never pays again: a request that was accepted and not settled is not sent.
    The sensor `job_poller` waits for the jobs and goes on when they end.
    """
    with migration.open(context) as opened:
        step = migrations.standing(opened.ledger, opened.key).next_step()
        if step == "submit":
            preflight(opened)
            have_files(opened)
        done = submit(opened)
        held = [job for job in ledger_jobs.jobs(opened.ledger, opened.key) if job.state != "void"]
        standing = migrations.standing(opened.ledger, opened.key)
        return dg.MaterializeResult(
            value=held,
            metadata={
                **comes_from("shards of", jsonl_shards),
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


@dg.asset(**_COMMON, code_version=_CODE, kinds={"bedrock", "postgres"}, output_required=False)
def on_demand_answers(
    context: dg.AssetExecutionContext, migration: MigrationsResource, bedrock_jobs: list[Job]
) -> Iterator[dg.MaterializeResult]:
    """Answers of what cannot go in batch: scans, rests.

    Scans, and what is left under the least a batch job takes. Same question, same reading of the answer as in batch; limited in calls and tokens a minute, so
    that production of the same account does not notice. While jobs are under way it gives nothing and
    the run ends well; the sensor `job_poller` starts the next one when they are over.
    """
    with migration.open(context) as opened:
        if waiting := _unsettled(bedrock_jobs):
            context.log_event(
                dg.AssetObservation(
                    context.asset_key, partition=opened.key, metadata={"jobs waited for": len(waiting)}
                )
            )
            return
        if not is_imported(opened):
            preflight(opened)
            have_files(opened)
        done = answer_on_demand(opened)
    yield dg.MaterializeResult(metadata={**comes_from("after", "bedrock_jobs"), **figures(**vars(done))})


@dg.asset(
    **_COMMON,
    code_version=f"{_CODE} parser {CvTask().parser_version}",
    deps=[on_demand_answers],
    output_required=False,
    kinds={"python", "pydantic"},
    metadata=columns.PARSED_CVS,
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
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """A validated CV per document, or why there is none.

    CVs are in the JSON Resume format. Whichever way an answer came, it is read the same; one that is cut off or invented is a failure,
    never half a CV. What a model of a cascade failed to answer is owed to the next one: the run ends well
    without a value, and the sensor `job_poller` sends it and reads all answers again.
    """
    # what the block adds to the metadata must be there before anything is given
    with migration.open(context) as opened:
        _require_settled(opened, bedrock_jobs)
        given = _parsed(context, opened)
    yield from given


def _parsed(
    context: dg.AssetExecutionContext, opened: Context
) -> Sequence[dg.MaterializeResult | dg.AssetCheckResult]:
    names = ("requests", "answers", "parsed", "final answers")
    if is_imported(opened):
        return [_over(opened, *names)]
    have_files(opened)
    parsed = parse(opened)
    found = [*sums.answer_sums(opened), *sums.parsed_sums(opened)]
    shown = {
        **comes_from("batch answers of", "bedrock_jobs"),
        **comes_from("single answers of", on_demand_answers),
        **figures(**vars(parsed)),
    }
    # an open sum is shown by its check, which ends the run before anything is imported
    if all(one.closes for one in found):
        if gone_on := escalate(opened):
            context.log_event(
                dg.AssetObservation(
                    context.asset_key,
                    partition=opened.key,
                    metadata={**shown, **figures(owed_to_the_next_model=gone_on)},
                )
            )
            return _sums(found, *names)
        stop_where_nothing_was_read(opened, parsed)
    return [
        dg.MaterializeResult(
            metadata={**shown, "dagster/row_count": parsed.parsed + parsed.failed},
            check_results=_sums(found, *names),
        )
    ]


@dg.asset(
    **_COMMON,
    code_version=_CODE,
    deps=[parsed_cvs],
    kinds={"postgres"},
    check_specs=check_specs("imported_records", links="links = CV attachments x their applications"),
)
def imported_records(
    context: dg.AssetExecutionContext, migration: MigrationsResource
) -> dg.MaterializeResult:
    """History and CVs in the database, counted.

    The customer's whole history and every parsed CV, compared row by row with what was imported. One transaction, keyed by customer, source system and source id: running it again changes nothing.
    Refused while any sum of the migration is open.
    """
    with migration.open(context) as opened:
        imported = load_and_check(opened)
        if imported is None:
            return _over(opened, "links")
        return dg.MaterializeResult(
            metadata={
                **_story(opened),
                **comes_from("profiles of", parsed_cvs),
                **comes_from("history of", raw_cvs),
                "rows": count_table("table", imported.tables),
                **figures(compared_rows=imported.compared),
                "dagster/row_count": sum(counts["staged"] for counts in imported.tables.values()),
            },
            check_results=_sums(sums.link_sums(opened), "links"),
        )


@dg.asset(
    **_COMMON,
    code_version=_CODE,
    deps=[imported_records],
    kinds={"s3"},
    check_specs=check_specs(
        "erased_files", objects="objects listed before erasing = objects deleted, none left"
    ),
)
def erased_files(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """The deletion certificate: nothing is left.

    Objects, versions and unfinished uploads are listed, deleted, and looked for again. Refused until the import is verified. Afterwards only the rows in the target database and the
    ledger's ids and counts are left.
    """
    with migration.open(context) as opened:
        erased = erase_when_imported(opened)
        objects = sums.Sum(
            "objects",
            "objects listed before erasing = objects deleted, none left",
            erased.objects.listed,
            erased.objects.deleted - erased.objects.left,
        )
        return dg.MaterializeResult(
            metadata={
                **comes_from("after", imported_records),
                **figures(
                    **vars(erased.objects) | {"kept": "; ".join(erased.objects.kept) or "nothing"},
                    kept_answers_erased=erased.kept_answers,
                    intermediate_files_erased=erased.intermediate_files,
                ),
            },
            check_results=checks([objects]),
        )


@dg.asset(**_COMMON, code_version=_CODE, deps=[imported_records], kinds={"python"})
def cost_report(context: dg.AssetExecutionContext, migration: MigrationsResource) -> dg.MaterializeResult:
    """What it cost, what dedup and batch saved.

    Tokens and money from the answers' own usage. Its page tells the whole migration in a few sentences. What was not reported or has no known price
    is called unknown; nothing here is an estimate unless it says so.
    """
    with migration.open(context) as opened:
        costs = report_costs(opened)
        return dg.MaterializeResult(
            metadata={
                **_story(opened),
                **comes_from("batch usage of", "bedrock_jobs"),
                **comes_from("single calls of", on_demand_answers),
                **money(costs),
                **model_table(migrations.report(opened.ledger, opened.key)["cost_by_model"]),
            }
        )


def _story(opened: Context) -> dict[str, Any]:
    story = page(opened.key, summary(opened.ledger, opened.key))
    lacking = shortfalls(opened.settings.database_url.get_secret_value(), target_of(opened))
    return {"summary": dg.MetadataValue.md(f"{story}\n\n{left_out.told(lacking)}")}


def _over(opened: Context, *names: str) -> dg.MaterializeResult:
    """What a materialisation comes to once the migration is imported: the sums as they closed then."""
    closed = sums.recorded(opened)
    return dg.MaterializeResult(
        metadata={"state": "imported: nothing is read or sent again", "sums closed": len(closed)},
        check_results=_sums(closed, *names),
    )


def _unsettled(known: list[Job]) -> list[str]:
    return [job.name for job in known if job.state in {"intent", "accepted", "running", "ended"}]


def _require_settled(opened: Context, known: list[Job]) -> None:
    """Answers are read only when no job can bring another one."""
    unsettled = _unsettled(known)
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
