"""The sums that must close before anything is erased (DESIGN: "the sums that must close").

Each sum is two counts from different places that must be equal. A sum that cannot be taken (a stage
has not run) is open, never assumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from batch_pipeline.documents import sums as room
from batch_pipeline.errors import OpenSums, WayOut
from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.documents import settlement
from batch_pipeline.stages.context import Context


@dataclass(frozen=True)
class Sum:
    """One equation: `says` in words, its two sides as counts, and ids of open rows (some of them)."""

    name: str
    says: str
    left: int
    right: int
    open_rows: tuple[str, ...] = ()
    closes: bool = field(default=True)

    def __post_init__(self) -> None:
        if self.left != self.right:
            object.__setattr__(self, "closes", False)

    def __str__(self) -> str:
        verdict = "closes" if self.closes else "OPEN"
        rows = f" (among them {', '.join(self.open_rows[:5])})" if self.open_rows and not self.closes else ""
        return f"{self.name}: {self.says}: {self.left} = {self.right} {verdict}{rows}"


def state_sums(context: Context) -> list[Sum]:
    """Every reference of the export is kept and has a state."""
    listed = pl.read_parquet(context.workspace.table("attachment"), columns=["source_id"])
    attachments = _attachments(context)
    return [
        _sum("references", "rows of the export = attachments kept", room.references(listed, attachments)),
        _sum(
            "attachments",
            "attachments = fetched + missing + download_failed + erased",
            room.states(attachments),
        ),
    ]


def attachment_sums(context: Context) -> list[Sum]:
    """Every fetched file has a verdict, every document a route."""
    documents = _documents(context)
    return [
        *state_sums(context),
        _sum(
            "files",
            "fetched = CVs + not_a_cv + quarantined",
            room.verdicts(_attachments(context), documents),
        ),
        _sum("routes", "distinct documents = batch + on-demand + quarantined", room.routes(documents)),
    ]


def _attachments(context: Context) -> pl.DataFrame:
    columns = ["source_id", "person_id", "application_id", "state", "document_md5", "parent_attachment_id"]
    return pl.read_parquet(context.workspace.attachments, columns=columns)


def _documents(context: Context) -> pl.DataFrame:
    return pl.read_parquet(context.workspace.documents, columns=["md5", "verdict", "route", "record_id"])


def _sum(name: str, says: str, of_room: room.Sum) -> Sum:
    """A sum of the documents room; rows it calls open keep it open whatever the counts say."""
    rows = of_room.open_rows
    ids = tuple(str(row) for row in rows.to_series(0).head(5)) if rows.height else ()
    parts = sum(of_room.parts.values())
    return Sum(name, says, of_room.total, parts, ids, closes=of_room.closes)


def document_sums(context: Context) -> list[Sum]:
    """Every distinct CV is in the ledger exactly once, by one route."""
    documents = pl.scan_parquet(context.workspace.documents)
    cvs = documents.filter(pl.col("verdict") == "cv").select(pl.len()).collect().item()
    reused = migrations.report(context.ledger, context.key).get("jsonl_shards", {}).get("reused", 0)
    row = context.ledger.sql.execute(
        "select count(*) filter (where route = 'batch') as batch, "
        "count(*) filter (where route = 'on_demand') as on_demand from document where migration = %s and withdrawn_at is null",
        (context.key,),
    ).fetchone()
    assert row is not None
    return [
        Sum(
            "documents",
            "distinct CVs = batch + on-demand + reused",
            cvs,
            row["batch"] + row["on_demand"] + reused,
        ),
    ]


def answer_sums(context: Context) -> list[Sum]:
    """Every request is settled per job, every document has exactly one final answer."""
    open_jobs = context.ledger.sql.execute(
        "select j.name, j.records, count(d.outcome) as settled from job j join job_document d on d.job = j.id "
        "where j.migration = %s group by j.id having j.records <> count(d.outcome)",
        (context.key,),
    ).fetchall()
    requested = context.ledger.sql.execute(
        "select coalesce(sum(records), 0)::bigint as n, (select count(*) from job_document k join job i "
        "on i.id = k.job where i.migration = %(key)s and k.outcome is not null) as settled "
        "from job where migration = %(key)s",
        {"key": context.key},
    ).fetchone()
    assert requested is not None
    documents = settlement(context.ledger, context.key)
    return [
        Sum(
            "requests",
            "requested records = answered + errored + missing, per job",
            requested["n"],
            requested["settled"],
            tuple(row["name"] for row in open_jobs),
        ),
        Sum(
            "answers",
            "documents = answered + failed",
            documents.total,
            documents.answered + documents.failed,
        ),
    ]


def parsed_sums(context: Context) -> list[Sum]:
    """Every CV is parsed or failed, once."""
    parsed = pl.scan_parquet(context.workspace.parsed / "*.parquet")
    counted = parsed.select(rows=pl.len(), distinct=pl.col("record_id").n_unique()).collect()
    statuses = dict(parsed.group_by("status").len().collect().iter_rows())
    cvs = pl.scan_parquet(context.workspace.documents).filter(pl.col("verdict") == "cv")
    lacking = (
        cvs.join(parsed, on="record_id", how="anti")
        .select("record_id")
        .head(5)
        .collect()["record_id"]
        .to_list()
    )
    return [
        Sum(
            "parsed",
            "distinct CVs = parsed + failed",
            cvs.select(pl.len()).collect().item(),
            statuses.get("parsed", 0) + statuses.get("failed", 0),
            tuple(lacking),
        ),
        Sum("final answers", "rows = distinct documents", counted["rows"].item(), counted["distinct"].item()),
    ]


def link_sums(context: Context) -> list[Sum]:
    """The fan-out loses no reference."""
    applications = pl.read_parquet(context.workspace.table("application"), columns=["source_id", "person_id"])
    fan_out = pl.read_parquet(context.workspace.links)
    rule = context.migration.person_files
    found = room.links(_attachments(context), _documents(context), applications, fan_out, rule)
    return [_sum("links", "links = CV attachments x their applications", found)]


def all_sums(context: Context) -> list[Sum]:
    """Every sum that can be taken before the import."""
    return [
        *attachment_sums(context),
        *document_sums(context),
        *answer_sums(context),
        *parsed_sums(context),
        *link_sums(context),
    ]


def recorded(context: Context) -> list[Sum]:
    """The sums as they closed before the import was called verified; their rows may be erased by now."""
    kept = migrations.report(context.ledger, context.key).get("sums", [])
    return [Sum(one["name"], one["says"], one["left"], one["right"]) for one in kept]


def require(context: Context, sums: Sequence[Sum]) -> None:
    """Stop where a sum is open.

    Raises:
        OpenSums: names each open sum and some of its rows.
    """
    unclosed = [str(one) for one in sums if not one.closes]
    if unclosed:
        raise OpenSums(
            f"migration {context.key}: nothing was erased, for not every sum closes:\n" + "\n".join(unclosed),
            (
                WayOut(
                    "look at the open rows, mend their cause and go on",
                    "nothing is paid again",
                    f"batch-pipeline run {context.key}",
                ),
            ),
        )
