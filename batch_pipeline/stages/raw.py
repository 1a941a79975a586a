"""`raw_cvs`: read the export into canonical tables, and every file it refers to into hash and type."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import polars as pl

from batch_pipeline.documents.attachments import fetch_attachments
from batch_pipeline.ledger import migrations
from batch_pipeline.sources.base import Notice, open_source
from batch_pipeline.stages.context import Context
from batch_pipeline.workspace import write_parquet


@dataclass(frozen=True)
class RawCvs:
    """Rows per canonical table, attachments per state, and what a person should know."""

    rows: Mapping[str, int]
    states: Mapping[str, int]
    bytes: int
    notices: tuple[Notice, ...]


def read_raw(context: Context) -> RawCvs:
    """Read the export again from the start; the same export gives the same files.

    Raises:
        SourceError, ConfigurationError: the export is not as the migration file says.
    """
    workspace = context.workspace
    workspace.canonical.mkdir(parents=True, exist_ok=True, mode=0o700)
    report = open_source(source_settings(context)).read(workspace.canonical)
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
    )
    figures = {"rows": result.rows, "states": result.states, "bytes": result.bytes}
    migrations.keep_report(context.ledger, context.key, {"raw_cvs": figures})
    # notices may name columns and files: they stay in the migration's own folder
    workspace.write_note("notices", {"notices": [asdict(notice) for notice in report.notices]})
    return result


def source_settings(context: Context) -> dict[str, object]:
    """The file's `source:` section with its relative path made absolute."""
    settings = dict(context.migration.source)
    if isinstance(settings.get("path"), str):
        settings["path"] = str(context.migration.folder / str(settings["path"]))
    return settings
