"""The manifest of attachments against the files of the export, both ways."""

import re
from dataclasses import dataclass

import polars as pl

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.base import Notice
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


def check(rows: pl.LazyFrame, listing: Listing, template: str, tables: list[str]) -> Checked:
    """Find every row's file by looking it up in the listing, never by joining paths.

    `rows` are attachments with the column `_erased` (and `_email` for a template that asks for it),
    their handles not yet blanked. `tables` are the listing's paths that are CSV tables.
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
    )
    resolved = rows.collect(engine="streaming")
    resolved, copies = _without_candidate_copies(resolved)
    used = resolved.select(local_path="_found").drop_nulls().unique()
    orphans = (
        listing.files.filter(~pl.col("path").is_in(tables))
        .join(used, on="local_path", how="anti", maintain_order="left")
        .select("path")
    )
    near = pl.col("_exact").is_null() & pl.col("_found").is_not_null()
    counts: list[Notice] = [
        Notice("missing_files", "attachment", "state missing", resolved.filter(state="missing").height),
        Notice("unsafe_paths", "attachment", "never opened", resolved.filter("_unsafe").height),
        Notice("normalised_paths", "attachment", "Unicode form or slashes", resolved.filter(near).height),
        Notice("candidate_copy", "attachment", "an application carries the same file", copies),
        Notice("orphan_files", "attachment", "listed in orphan_files.parquet", orphans.height),
        Notice("symbolic_links", "attachment", "not followed", listing.symbolic_links),
    ]
    return Checked(resolved.lazy(), orphans, tuple(notice for notice in counts if notice.count))


def _without_candidate_copies(rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """A file listed on the person and on an application is one reference (trap 3)."""
    carried = rows.filter(pl.col("application_id").is_not_null() & pl.col("_found").is_not_null())
    carried = carried.select("person_id", "_found", _carried=pl.lit(value=True)).unique()
    marked = rows.join(carried, on=["person_id", "_found"], how="left", maintain_order="left")
    copy = pl.col("application_id").is_null() & pl.col("_carried").fill_null(value=False)
    kept = marked.filter(~copy).drop("_carried")
    return kept, rows.height - kept.height
