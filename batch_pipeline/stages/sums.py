"""The sums that must close before anything is erased (DESIGN: "the sums that must close").

Each sum is two counts from different places that must be equal. A sum that cannot be taken (a stage
has not run) is open, never assumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

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

    @property
    def closes(self) -> bool:
        return self.left == self.right

    def __str__(self) -> str:
        verdict = "closes" if self.closes else "OPEN"
        rows = f" (among them {', '.join(self.open_rows[:5])})" if self.open_rows and not self.closes else ""
        return f"{self.name}: {self.says}: {self.left} = {self.right} {verdict}{rows}"


def state_sums(context: Context) -> list[Sum]:
    """Every reference of the export is kept and has a state."""
    attachments = pl.scan_parquet(context.workspace.attachments)
    states = dict(attachments.group_by("state").len().collect().iter_rows())
    listed = pl.scan_parquet(context.workspace.table("attachment")).select(pl.len()).collect().item()
    own = attachments.filter(pl.col("parent_attachment_id").is_null()).select(pl.len()).collect().item()
    known = ("fetched", "missing", "download_failed", "erased")
    return [
        Sum("references", "rows of the export = attachments kept (zip members aside)", listed, own),
        Sum(
            "attachments",
            "attachments = fetched + missing + download_failed + erased",
            sum(states.values()),
            sum(states.get(state, 0) for state in known),
        ),
    ]


def attachment_sums(context: Context) -> list[Sum]:
    """Every fetched file has a verdict."""
    attachments = pl.scan_parquet(context.workspace.attachments).filter(pl.col("state") == "fetched")
    documents = pl.scan_parquet(context.workspace.documents)
    judged = dict(
        attachments.join(documents, left_on="document_md5", right_on="md5", how="inner")
        .group_by("verdict")
        .len()
        .collect()
        .iter_rows()
    )
    return [
        *state_sums(context),
        Sum(
            "files",
            "fetched = CVs + not_a_cv + quarantined",
            attachments.select(pl.len()).collect().item(),
            sum(judged.get(verdict, 0) for verdict in ("cv", "not_a_cv", "quarantined")),
        ),
    ]


def document_sums(context: Context) -> list[Sum]:
    """Every distinct CV is in the ledger exactly once, by one route."""
    documents = pl.scan_parquet(context.workspace.documents)
    cvs = documents.filter(pl.col("verdict") == "cv").select(pl.len()).collect().item()
    row = context.ledger.sql.execute(
        "select count(*) filter (where route = 'batch') as batch, "
        "count(*) filter (where route = 'on_demand') as on_demand from document where migration = %s",
        (context.key,),
    ).fetchone()
    assert row is not None
    return [
        Sum("documents", "distinct CVs = batch + on-demand", cvs, row["batch"] + row["on_demand"]),
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
    """The fan-out loses no reference: CV attachments times their applications, counted anew."""
    attachments = pl.scan_parquet(context.workspace.attachments).filter(pl.col("state") == "fetched")
    cvs = pl.scan_parquet(context.workspace.documents).filter(pl.col("verdict") == "cv")
    applications = pl.scan_parquet(context.workspace.table("application"))
    referring = attachments.join(cvs, left_on="document_md5", right_on="md5", how="semi")
    direct = (
        referring.filter(pl.col("application_id").is_not_null())
        .join(applications, left_on="application_id", right_on="source_id", how="semi")
        .select(pl.len())
        .collect()
        .item()
    )
    by_person = (
        referring.filter(pl.col("application_id").is_null())
        .join(applications.select(person_id="person_id", id="source_id"), on="person_id", how="inner")
        .select(pl.len())
        .collect()
        .item()
    )
    links = pl.scan_parquet(context.workspace.links).select(pl.len()).collect().item()
    return [Sum("links", "links = CV attachments x their applications", links, direct + by_person)]


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
