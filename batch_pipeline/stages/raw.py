"""`raw_cvs`: read the export into canonical tables, and every file it refers to into hash and type."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import polars as pl

from batch_pipeline.documents.attachments import fetch_attachments
from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.erased_people import erased_people
from batch_pipeline.records.erased_before import erased_before
from batch_pipeline.sources.base import Notice, open_source
from batch_pipeline.sources.canonical import PERSONAL_COLUMNS, SCHEMAS, UTC
from batch_pipeline.sources.listing import ORPHANS
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.load import target_of
from batch_pipeline.workspace import write_parquet


@dataclass(frozen=True)
class RawCvs:
    """Rows per canonical table, attachments per state, and what a person should know."""

    rows: Mapping[str, int]
    states: Mapping[str, int]
    bytes: int
    notices: tuple[Notice, ...]
    totals: Mapping[str, Mapping[str, int]]  # by the source's own word, and as read


def read_raw(context: Context) -> RawCvs:
    """Read the export again from the start; the same export gives the same files.

    Raises:
        SourceError, ConfigurationError: the export is not as the migration file says.
    """
    workspace = context.workspace
    workspace.canonical.mkdir(parents=True, exist_ok=True, mode=0o700)
    report = open_source(source_settings(context)).read(workspace.canonical)
    _leave_out_erased(context)
    listed = pl.read_parquet(workspace.table("attachment"))
    context.progress("files hashed", 0, listed.height)
    fetched = fetch_attachments(listed, workspace.spool, context.settings.workers)
    context.progress("files hashed", listed.height, listed.height)
    write_parquet(fetched, workspace.attachments)
    result = RawCvs(
        rows={str(entity): count for entity, count in report.counts.items()},
        states=dict(Counter(fetched["state"].to_list())),
        bytes=int(fetched["bytes"].sum() or 0),
        notices=report.notices,
        totals={one.what: {"stated": one.stated, "read": one.read} for one in report.totals},
    )
    figures = {
        "rows": result.rows,
        "states": result.states,
        "bytes": result.bytes,
        "totals": result.totals,
        "orphans": pl.scan_parquet(workspace.canonical / ORPHANS).select(pl.len()).collect().item(),
    }
    migrations.keep_report(context.ledger, context.key, {"raw_cvs": figures})
    # notices may name columns and files: they stay in the migration's own folder
    workspace.write_note("notices", {"notices": [asdict(notice) for notice in report.notices]})
    return result


def _leave_out_erased(context: Context) -> None:
    """People erased on request, or held as erased already: as if the source itself had erased them."""
    url = context.settings.database_url.get_secret_value()
    erased = erased_before(url, target_of(context)) | erased_people(context.ledger, context.key)
    if not erased:
        return
    workspace = context.workspace
    people = pl.read_parquet(workspace.table("person"))
    since = pl.DataFrame(
        {"source_id": list(erased), "asked_at": list(erased.values())},
        schema={"source_id": pl.String, "asked_at": UTC},
    )
    people = people.join(since, on="source_id", how="left", maintain_order="left")
    theirs = pl.col("asked_at").is_not_null()
    blank = [pl.when(~theirs).then(pl.col(name)).alias(name) for name in PERSONAL_COLUMNS]
    write_parquet(
        people.with_columns(*blank, erased_at=pl.coalesce("erased_at", "asked_at")).select(
            SCHEMAS["person"].names()
        ),
        workspace.table("person"),
    )
    applications = pl.read_parquet(workspace.table("application"), columns=["source_id", "person_id"])
    mine = applications.filter(pl.col("person_id").is_in(list(erased)))["source_id"]
    attachments = pl.read_parquet(workspace.table("attachment"))
    of_them = pl.col("person_id").is_in(list(erased)) | pl.col("application_id").is_in(mine.implode())
    write_parquet(
        attachments.with_columns(
            state=pl.when(of_them.fill_null(value=False)).then(pl.lit("erased")).otherwise("state")
        ),
        workspace.table("attachment"),
    )


def source_settings(context: Context) -> dict[str, object]:
    """The file's `source:` section with its relative path made absolute."""
    settings = dict(context.migration.source)
    if isinstance(settings.get("path"), str):
        settings["path"] = str(context.migration.folder / str(settings["path"]))
    return settings
