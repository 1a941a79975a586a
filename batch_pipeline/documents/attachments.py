"""From the attachments a source lists to the files there are: `attachments.parquet`.

Every reference of the export stays a row and gets a state; a zip bundle's members become rows of
their own below it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from batch_pipeline.documents import mime
from batch_pipeline.documents.bundles import BundleLimits, Member, unpack
from batch_pipeline.documents.chunk_pool import map_chunks
from batch_pipeline.documents.hashing import Fingerprint, fingerprint_files
from batch_pipeline.documents.reasons import Reason, Refused, State

FOUND: Final = pl.Schema(
    {
        "reason": pl.String,
        "sniffed_mime": pl.String,
        "bytes": pl.Int64,
        "document_md5": pl.String,
        "sha256": pl.String,
        "parent_attachment_id": pl.String,
    }
)
"""The columns of `attachments.parquet` after those of the attachment entity."""

_FILE: Final[dict[str, type[pl.DataType]]] = {
    "_found": pl.String,
    "reason": pl.String,
    "sniffed_mime": pl.String,
    "bytes": pl.Int64,
    "document_md5": pl.String,
    "sha256": pl.String,
}
_JUDGED: Final = frozenset({"_found", "reason"})
_BUNDLES_PER_TASK = 20


def fetch_attachments(
    attachments: pl.DataFrame,
    spool: Path,
    workers: int,
    limits: BundleLimits | None = None,
    scheduler: str | None = None,
) -> pl.DataFrame:
    """Hash and sniff what lies at `local_path`; unpack zip bundles into `spool`.

    `attachments` is the canonical attachment table. Rows keep their order, members follow all
    others. A file named by several references is read once. Erased people's files are not opened.
    With `scheduler` a Dask cluster hashes; bundles are unpacked here. Raises as `fingerprint_files` does.
    """
    pending = attachments.filter((pl.col("state") == "pending") & pl.col("local_path").is_not_null())
    paths = pending["local_path"].unique(maintain_order=True)
    files = pl.DataFrame(
        ((f.path, *_judged(f)) for f in fingerprint_files(paths.to_list(), workers, scheduler)),
        schema={"local_path": pl.String, **_FILE},
        orient="row",
    )
    pending_row = (pl.col("state") == "pending") & pl.col("local_path").is_not_null()
    rows = (
        attachments.join(files, on="local_path", how="left", maintain_order="left")
        .with_columns(
            pl.when(pending_row)
            .then("_found")
            .when(pl.col("state") == "pending")
            .then(pl.lit(State.MISSING.value))
            .otherwise("state")
            .alias("state"),
            *(pl.when(pending_row).then(name).alias(name) for name in _FILE if name not in _JUDGED),
            pl.when(pending_row)
            .then("reason")
            .when(pl.col("state") == State.DOWNLOAD_FAILED.value)
            .then("state_reason")
            .alias("reason"),
            pl.lit(None, pl.String).alias("parent_attachment_id"),
        )
        .select(*attachments.columns, *FOUND.names())
    )
    return _with_members(rows, spool, workers, limits or BundleLimits())


def _judged(file: Fingerprint) -> tuple[str, str | None, str | None, int | None, str | None, str | None]:
    """state, reason, mime, bytes, md5, sha256 of one file."""
    if file.missing:
        return State.MISSING, None, None, None, None, None
    if file.md5 is None:
        return State.DOWNLOAD_FAILED, Reason.UNREADABLE_FILE, None, None, None, None
    if file.error_page:
        # no digest: else every candidate with an expired link would "share" one CV
        return State.DOWNLOAD_FAILED, Reason.ERROR_PAGE, file.mime, file.size, None, None
    reason: Reason | None = None
    if file.size == 0:
        reason = Reason.EMPTY
    elif file.mime == mime.ZIP:
        reason = Reason.ARCHIVE
    return State.FETCHED, reason, file.mime, file.size, file.md5, file.sha256


def _unpack_chunk(
    work: list[tuple[str, str, BundleLimits]],
) -> list[tuple[str, list[Member], Reason | None]]:
    done: list[tuple[str, list[Member], Reason | None]] = []
    for path, spool, limits in work:
        try:
            done.append((path, unpack(Path(path), Path(spool), limits), None))
        except Refused as refused:
            done.append((path, [], refused.reason))
    return done


def _with_members(rows: pl.DataFrame, spool: Path, workers: int, limits: BundleLimits) -> pl.DataFrame:
    bundles = rows.filter(
        (pl.col("state") == State.FETCHED.value) & (pl.col("reason") == Reason.ARCHIVE.value)
    )
    if bundles.is_empty():
        return rows
    work = [(path, str(spool), limits) for path in bundles["local_path"].unique(maintain_order=True)]
    refused: dict[str, str] = {}
    unpacked: dict[str, list[Member]] = {}
    for path, members, reason in map_chunks(_unpack_chunk, work, workers=workers, chunk=_BUNDLES_PER_TASK):
        unpacked[path] = members
        if reason is not None:
            refused[path] = reason.value
    children = pl.DataFrame(
        list(_member_rows(bundles, unpacked)), schema=rows.schema, orient="row", strict=False
    )
    reasons = pl.col("local_path").replace_strict(refused, default=None, return_dtype=pl.String)
    is_bundle = (pl.col("state") == State.FETCHED.value) & (pl.col("reason") == Reason.ARCHIVE.value)
    rows = rows.with_columns(
        pl.when(is_bundle).then(pl.coalesce(reasons, "reason")).otherwise("reason").alias("reason")
    )
    return pl.concat([rows, children])


def _member_rows(bundles: pl.DataFrame, unpacked: dict[str, list[Member]]) -> Iterator[dict[str, Any]]:
    for bundle in bundles.iter_rows(named=True):
        for member in unpacked[bundle["local_path"]]:
            state, reason, kind, size, md5, sha256 = _judged(member.file)
            yield bundle | {
                "source_id": f"{bundle['source_id']}/{member.number}",
                "parent_attachment_id": bundle["source_id"],
                "raw": None,
                "file_name": member.name,
                "declared_type": None,  # the bundle's type says nothing about a member
                "local_path": member.file.path,
                "state": state,
                "reason": Reason.TOO_DEEP if reason is Reason.ARCHIVE else reason,
                "sniffed_mime": kind,
                "bytes": size,
                "document_md5": md5,
                "sha256": sha256,
            }
