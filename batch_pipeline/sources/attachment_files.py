"""The files of saved payloads: a folder in which each lies under the id of its attachment or application.

Files are found by looking up the folder's listing, never by joining a name to a path (trap 21). One
layout holds for a whole folder: ids of attachments, applications and people may be equal numbers, and a
row that could be found in two ways might be given another person's file.
"""

import unicodedata
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import Final

import polars as pl

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources import manifest
from batch_pipeline.sources.base import Notice
from batch_pipeline.sources.listing import Listing, list_export

LAYOUTS: Final = ("{attachment_id}/{file_name}", "{attachment_id}", "{application_id}/{file_name}")
"""Tried when none is stated; `{attachment_id}` also finds `<id>.pdf`."""


def place(
    rows: pl.DataFrame, folder: Path | None, layout: str | None, unpack_into: Path
) -> tuple[pl.DataFrame, pl.DataFrame, list[Notice]]:
    """`local_path` and `state` of every attachment; the folder's files that no row names; notices.

    Raises ConfigurationError where the layout must be stated or is none, SourceError for a folder that
    is none.
    """
    if folder is None:
        notices = [Notice("missing_files", "attachment", "source.attachments names no folder", rows.height)]
        return _with_states(rows, {}), _orphans([]), notices if rows.height else []
    listing = list_export(folder, unpack_into)
    chosen, found, notices = _chosen(rows, listing, layout)
    placed = _with_states(rows, found)
    used = set(found.values())
    orphans = _orphans(
        [path for path, local in listing.files.select("path", "local_path").iter_rows() if local not in used]
    )
    missing = placed.filter(state="missing").height
    notices.append(Notice("attachment_layout", "attachment", chosen, len(found)))
    notices += [
        Notice("missing_files", "attachment", "state missing", missing),
        Notice("orphan_files", "attachment", "listed in orphan_files.parquet", orphans.height),
        Notice("symbolic_links", "attachment", "not followed", listing.symbolic_links),
    ]
    return placed, orphans, [notice for notice in notices if notice.count]


def _chosen(
    rows: pl.DataFrame, listing: Listing, layout: str | None
) -> tuple[str, dict[str, str], list[Notice]]:
    if layout is not None:
        manifest.checked_template(layout, has_paths=False)
        return f"{layout}, stated", _find(rows, listing, layout), []
    tried = {one: _find(rows, listing, one) for one in LAYOUTS}
    best = max(LAYOUTS, key=lambda one: len(tried[one]))
    others = [one for one in LAYOUTS if one != best and set(tried[one]) - set(tried[best])]
    if others:
        raise ConfigurationError(
            "source.attachment_path", None, f"state one of {', '.join([best, *others])}: each finds files"
        )
    return f"{best}, derived", tried[best], []


def _find(rows: pl.DataFrame, listing: Listing, layout: str) -> dict[str, str]:
    """Attachment id -> local path."""
    by_path: dict[str, str] = {}
    by_stem: dict[str, list[str]] = defaultdict(list)
    for path, local in listing.files.select("path", "local_path").iter_rows():
        key = unicodedata.normalize("NFC", path)
        by_path[key] = local
        by_stem[str(PurePosixPath(key).with_suffix(""))].append(local)
    found: dict[str, str] = {}
    for row in rows.iter_rows(named=True):
        path = _filled(layout, row)
        if row["_erased"] or path is None:
            continue
        stems = by_stem.get(path, []) if layout.endswith("{attachment_id}") else []
        local = by_path.get(path) or (stems[0] if len(stems) == 1 else None)
        if local is not None:
            found[row["source_id"]] = local
    return found


def _filled(layout: str, row: dict[str, str | None]) -> str | None:
    values = {
        "attachment_id": row["source_id"],
        "application_id": row["application_id"],
        "person_id": row["person_id"],
        "candidate_id": row["person_id"],
        "file_name": row["file_name"],
    }
    needed = {name: value for name, value in values.items() if f"{{{name}}}" in layout}
    if any(value is None for value in needed.values()):
        return None
    return unicodedata.normalize("NFC", layout.format(**needed))


def _with_states(rows: pl.DataFrame, found: dict[str, str]) -> pl.DataFrame:
    where = pl.col("source_id").replace_strict(found, default=None, return_dtype=pl.String)
    return rows.with_columns(pl.when(~pl.col("_erased")).then(where).alias("local_path")).with_columns(
        pl.when("_erased")
        .then(pl.lit("erased"))
        .when(pl.col("local_path").is_null())
        .then(pl.lit("missing"))
        .otherwise(pl.lit("pending"))
        .alias("state")
    )


def _orphans(paths: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"path": paths}, schema={"path": pl.String})
