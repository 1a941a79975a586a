"""`jsonl_shards`: every batch request as one JSON line, and which lines make a job."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import polars as pl

from batch_pipeline.documents.identical_texts import asked_about
from batch_pipeline.ledger import documents as ledger_documents
from batch_pipeline.ledger import jobs, migrations
from batch_pipeline.ledger.documents import PlannedDocument
from batch_pipeline.records.parsed_before import parsed_before
from batch_pipeline.requests.jsonl import write_requests
from batch_pipeline.requests.shards import plan
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.load import target_of
from batch_pipeline.stages.plan_basis import forget_plan_basis, keep_plan_basis
from batch_pipeline.stages.raw import nobody_there
from batch_pipeline.stages.redact import parts_to_send, redact_texts
from batch_pipeline.stages.restore import mark_redacted, was_redacted
from batch_pipeline.stages.submit import shard_digest
from batch_pipeline.workspace import write_parquet

SCHEMA = pl.Schema(
    {
        "shard_digest": pl.String,
        "records": pl.Int64,
        "bytes": pl.Int64,
        "first_record_id": pl.String,
        "last_record_id": pl.String,
    }
)


@dataclass(frozen=True)
class JsonlShards:
    """The plan: paid jobs to come, and what goes on-demand because no legal job can hold it."""

    documents: int
    reused: int
    batch: int
    on_demand: int
    shards: int
    bytes: int
    new_in_ledger: int
    # different findings of the texts, by kind; None where all are sent as they are
    redacted: Mapping[str, int] | None


@dataclass(frozen=True)
class Plan:
    """Requests as they would be sent; nothing is in the ledger yet."""

    cvs: pl.DataFrame  # those a model must read
    reused: int  # CVs read by an earlier migration of this tenant, or of a text that is asked about already
    lines: pl.DataFrame
    shards: tuple[pl.DataFrame, ...]
    left: frozenset[str]  # record ids no legal job can hold
    redacted: Mapping[str, int]  # findings by kind

    @property
    def bytes(self) -> int:
        return sum(int(shard["length"].sum()) for shard in self.shards)


def write_plan(context: Context) -> Plan:
    """Write the requests and the shard table; the same documents give the same bytes and shards."""
    workspace = context.workspace
    every = pl.read_parquet(workspace.documents).filter(pl.col("verdict") == "cv").sort("md5")
    url = context.settings.database_url.get_secret_value()
    known = [row[0] for row in parsed_before(url, target_of(context), every["md5"].to_list())]
    cvs = every.filter(~pl.col("md5").is_in(known))
    if context.migration.reuse_identical_text:
        cvs = asked_about(cvs)
    redacted = redact_texts(context, cvs)
    lines = write_requests(
        parts_to_send(context),
        cvs.filter(pl.col("route") == "batch"),
        context.batch_requests,
        workspace.requests,
        workspace.request_lines,
    )
    planned = plan(lines["length"].to_list(), context.limits)
    shards = tuple(lines[part.start : part.stop] for part in planned.shards)
    rows = [
        (
            shard_digest(shard),
            shard.height,
            int(shard["length"].sum()),
            shard["record_id"][0],
            shard["record_id"][-1],
        )
        for shard in shards
    ]
    write_parquet(pl.DataFrame(rows, schema=SCHEMA, orient="row"), workspace.shards)
    left = (record for part in planned.on_demand for record in lines[part.start : part.stop]["record_id"])
    return Plan(cvs, every.height - cvs.height, lines, shards, frozenset(left), redacted)


def plan_shards(context: Context) -> JsonlShards:
    """Plan, and make every document known to the ledger as owed; nothing is sent."""
    made = write_plan(context)
    context.workspace.forget_later_requests()
    if context.migration.redaction:
        mark_redacted(context)
    otherwise = _leave_what_is_under_way(context, made)
    with context.ledger.transaction():
        new = ledger_documents.register(
            context.ledger, context.key, _planned(context, made), may_differ=otherwise
        )
        migrations.mark_planned(context.ledger, context.key)
    result = JsonlShards(
        documents=made.cvs.height,
        reused=made.reused,
        batch=made.lines.height - len(made.left),
        on_demand=made.cvs.height - made.lines.height + len(made.left),
        shards=len(made.shards),
        bytes=made.bytes,
        new_in_ledger=new,
        redacted=made.redacted if context.migration.redaction else None,
    )
    migrations.keep_report(context.ledger, context.key, {"jsonl_shards": asdict(result)})
    if otherwise:
        forget_plan_basis(context)  # what comes back from there is owed in the words of now
    else:
        keep_plan_basis(context)
    _stop_where_nobody_is_there(context)
    _stop_where_rows_are_missing(context)
    _stop_where_files_are_missing(context)
    return result


def _leave_what_is_under_way(context: Context, made: Plan) -> bool:
    """Whether texts are under way that would be redacted otherwise now: their answers are read by the tables they
    left with. Jobs that did not leave yet are given up for new ones."""
    if not was_redacted(context) or not _under_way_otherwise(context, made):
        return False
    with context.ledger.exclusive(f"jobs of {context.key}"):
        for job in jobs.jobs(context.ledger, context.key, "intent"):
            if job.sent_at is None:
                jobs.void(context.ledger, job)
    return _under_way_otherwise(context, made)


def _under_way_otherwise(context: Context, made: Plan) -> bool:
    rows = context.ledger.sql.execute(
        "select record_id, request_digest from document where migration = %s and state = 'sent'",
        (context.key,),
    )
    sent = {row["record_id"]: row["request_digest"] for row in rows}
    return any(
        sent.get(one.record_id, one.request_digest) != one.request_digest for one in _planned(context, made)
    )


def _stop_where_nobody_is_there(context: Context) -> None:
    """An export of headers alone is taken over at once, and called done: a person looks at it first."""
    nobody = nobody_there(migrations.report(context.ledger, context.key)["raw_cvs"]["rows"])
    if nobody:
        migrations.hold_once(
            context.ledger,
            context.key,
            "nobody is there",
            f"{nobody}; nothing was sent or imported. Complete it and resume; resume to take it as it is",
        )


def _stop_where_rows_are_missing(context: Context) -> None:
    """Less than the source itself says there is: a person looks at it, before it is paid."""
    totals = migrations.report(context.ledger, context.key).get("raw_cvs", {}).get("totals", {})
    short = [
        f"{found['read']} of {found['stated']} {what}"
        for what, found in totals.items()
        if found["read"] < found["stated"]
    ]
    if short:
        migrations.hold_once(
            context.ledger,
            context.key,
            "rows are missing",
            f"the source states more than was read: {', '.join(short)}; nothing was sent. "
            "Complete the export, or mend `source.totals`; `resume` reads the export again",
        )


def _stop_where_files_are_missing(context: Context) -> None:
    """An export without most of its files is an export gone wrong: a person looks at it, before it is paid."""
    states = pl.read_parquet(context.workspace.attachments, columns=["state"])["state"]
    expected = states.len() - int((states == "erased").sum())
    fetched = int((states == "fetched").sum())
    if expected and 2 * fetched < expected:
        migrations.hold_once(
            context.ledger,
            context.key,
            "files are missing",
            f"only {fetched} of {expected} attached files of the export are there and readable; nothing was sent. "
            "Put the files where the export names them; `resume` reads the export again",
        )


def _planned(context: Context, made: Plan) -> Iterator[PlannedDocument]:
    for record_id, md5, digest in made.lines.select("record_id", "md5", "request_digest").iter_rows():
        yield PlannedDocument(record_id, md5, digest, "on_demand" if record_id in made.left else "batch")
    version = context.on_demand_requests.prompt_version
    shown = made.cvs.filter(pl.col("route") == "on_demand")
    for record_id, md5, sha256 in shown.select("record_id", "md5", "sha256").iter_rows():
        digest = hashlib.sha256(f"{version} {sha256}".encode()).hexdigest()
        yield PlannedDocument(record_id, md5, digest, "on_demand")
