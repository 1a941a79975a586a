"""The manifest of attachments against the files of the export, both ways."""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.base import Notice
from batch_pipeline.sources.canonical import SCHEMAS
from batch_pipeline.sources.listing import Listing

_PLACES = {
    "path": "source_handle",
    "attachment_id": "source_id",
    "application_id": "application_id",
    "person_id": "person_id",
    "candidate_id": "person_id",
    "file_name": "file_name",
    "email": "_email",
}
_MARKS = ("_row", "_erased", "_unsafe", "_found", "_near_only")
_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Checked:
    """`rows` have `local_path`, `state` and `source_handle`; `orphans` is a frame of `path`."""

    rows: pl.LazyFrame
    orphans: pl.DataFrame
    notices: tuple[Notice, ...]


def uses_email(template: str) -> bool:
    return "email" in _PLACE.findall(template)


def checked_template(template: str, *, has_paths: bool) -> str:
    """Raises ConfigurationError for a template this manifest cannot fill."""
    unknown = [name for name in _PLACE.findall(template) if name not in _PLACES]
    if unknown or not _PLACE.search(template):
        raise ConfigurationError(
            "source.attachment_path", template, f"use {', '.join(sorted(_PLACES))} in braces"
        )
    if not has_paths and "path" in _PLACE.findall(template):
        raise ConfigurationError(
            "source.attachment_path",
            template,
            "the manifest has no path column: state how paths are made, "
            "for example attachments/{application_id}/{file_name}",
        )
    return template


def check(rows: pl.LazyFrame, listing: Listing, template: str, tables: list[str], scratch: Path) -> Checked:
    """Find every row's file by looking it up in the listing, never by joining paths.

    `rows` are attachments with the columns `_row` and `_erased` (and `_email` for a template that asks
    for it), their handles not yet blanked. `tables` are the listing's paths that are CSV tables. The
    rows of a large customer do not fit in memory: they rest in `scratch`, which must outlive them.
    """
    declared = pl.format(_PLACE.sub("{}", template), *(pl.col(_PLACES[n]) for n in _PLACE.findall(template)))
    slashed = pl.col("_path").str.replace_all("\\", "/", literal=True).str.strip_prefix("./")
    unsafe = pl.col("_path").str.contains(r"^[/\\]|^[A-Za-z]:|(?:^|[/\\])\.\.(?:[/\\]|$)")
    rows = rows.with_columns(declared.alias("_path")).with_columns(
        unsafe.fill_null(value=False).alias("_unsafe"), slashed.str.normalize("NFC").alias("_key")
    )
    files = listing.files.lazy()
    exact = files.select(_path="path", _exact="local_path")
    by_key = files.select(_key=pl.col("path").str.normalize("NFC"), _near="local_path").unique(
        "_key", keep="first", maintain_order=True
    )
    rows = rows.join(exact, on="_path", how="left", maintain_order="left")
    rows = rows.join(by_key, on="_key", how="left", maintain_order="left")
    found = pl.when(~pl.col("_unsafe")).then(pl.coalesce("_exact", "_near"))
    rows = rows.with_columns(found.alias("_found")).with_columns(
        pl.when(~pl.col("_erased")).then("_found").alias("local_path"),
        pl.when(~pl.col("_erased")).then("_path").alias("source_handle"),
        pl.when(pl.col("_erased"))
        .then(pl.lit("erased"))
        .when(pl.col("_found").is_null())
        .then(pl.lit("missing"))
        .otherwise(pl.lit("pending"))
        .alias("state"),
        (pl.col("_exact").is_null() & pl.col("_found").is_not_null()).alias("_near_only"),
    )
    rows.select(*SCHEMAS["attachment"], *_MARKS).sink_parquet(scratch / "checked.parquet")
    resolved = pl.scan_parquet(scratch / "checked.parquet")
    copies = _candidate_copies(resolved)
    resolved = resolved.filter(~pl.col("_row").is_in(copies.implode()))
    used = resolved.select(local_path="_found").drop_nulls().unique().collect(engine="streaming")
    missing, unsafe_paths, near = (
        resolved.select(
            (pl.col("state") == "missing").sum(), pl.col("_unsafe").sum(), pl.col("_near_only").sum()
        )
        .collect(engine="streaming")
        .row(0)
    )
    orphans = (
        listing.files.filter(~pl.col("path").is_in(tables))
        .join(used, on="local_path", how="anti", maintain_order="left")
        .select("path")
    )
    counts: list[Notice] = [
        Notice("missing_files", "attachment", "state missing", missing),
        Notice("unsafe_paths", "attachment", "never opened", unsafe_paths),
        Notice("normalised_paths", "attachment", "Unicode form or slashes", near),
        Notice("candidate_copy", "attachment", "an application carries the same file", copies.len()),
        Notice("orphan_files", "attachment", "listed in orphan_files.parquet", orphans.height),
        Notice("symbolic_links", "attachment", "not followed", listing.symbolic_links),
    ]
    return Checked(resolved, orphans, tuple(notice for notice in counts if notice.count))


def _candidate_copies(rows: pl.LazyFrame) -> pl.Series:
    """Rows of a person's file that an application carries too: both are one reference (trap 3)."""
    file = ["person_id", "_found"]
    of_application = pl.col("application_id").is_not_null()
    found = rows.filter(pl.col("_found").is_not_null())
    loose = found.filter(~of_application).select(*file, "_row").collect(engine="streaming")
    carried = found.filter(of_application).select(file).join(loose.lazy(), on=file, how="semi").unique()
    return loose.join(carried.collect(engine="streaming"), on=file, how="semi")["_row"]
