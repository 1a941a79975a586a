"""`raw_cvs`: read the export into canonical tables, and every file it refers to into hash and type."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

import polars as pl

from batch_pipeline.documents.attachments import fetch_attachments
from batch_pipeline.ledger import migrations
from batch_pipeline.records.erased_before import erased_before
from batch_pipeline.sources.base import Notice, open_source
from batch_pipeline.sources.listing import ORPHANS
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.left_out import erased_people, keep_left_out
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
    left_out = _left_out(context)
    report = open_source(source_settings(context)).read(workspace.canonical, left_out)
    keep_left_out(context, left_out)
    listed = pl.read_parquet(workspace.table("attachment"))
    context.progress("files hashed", 0, listed.height)
    fetched = fetch_attachments(
        listed, workspace.spool, context.settings.workers, scheduler=context.settings.dask_scheduler
    )
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


def _left_out(context: Context) -> dict[str, datetime]:
    """Source id -> since when, of people erased on request, or held as erased by the target."""
    people = erased_people(context)
    people.follow_the_file()
    url = context.settings.database_url.get_secret_value()
    return erased_before(url, target_of(context)) | people.since()


def nobody_there(rows: Mapping[str, int]) -> str | None:
    """What to say of an export without a single person or application, None for any other."""
    return None if rows["person"] or rows["application"] else "the export holds no people and no applications"


def source_settings(context: Context) -> dict[str, object]:
    """The file's `source:` section with its relative path made absolute."""
    settings = dict(context.migration.source)
    if isinstance(settings.get("path"), str):
        settings["path"] = str(context.migration.folder / str(settings["path"]))
    return settings
