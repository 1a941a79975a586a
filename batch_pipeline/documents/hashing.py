"""The identity of a file: MD5 (the document), SHA-256 (to catch an MD5 collision), size, type.

One pass over the bytes gives all four; a file is never in memory as a whole.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from batch_pipeline.documents.chunk_pool import CHUNK_FILES, map_chunks
from batch_pipeline.documents.cluster import map_on_cluster, not_shared
from batch_pipeline.documents.sniffing import HEAD_BYTES, Sniffed, sniff_file

_BLOCK = 1 << 18


@dataclass(frozen=True)
class FileHash:
    """Digests in lower-case hex; `head` is the first 8192 bytes."""

    md5: str
    sha256: str
    head: bytes
    size: int


@dataclass(frozen=True)
class Fingerprint:
    """What `fingerprint_files` knows of one path. Without digests where it could not be read."""

    path: str
    md5: str | None
    sha256: str | None
    size: int | None
    mime: str | None
    error_page: bool
    missing: bool


def hash_file(path: Path) -> FileHash:
    """Read a file once. Raises OSError."""
    md5 = hashlib.md5(usedforsecurity=False)
    sha256 = hashlib.sha256()
    size = 0
    head = b""
    with path.open("rb", buffering=0) as stream:
        while block := stream.read(_BLOCK):
            if not head:
                head = block[:HEAD_BYTES]
            md5.update(block)
            sha256.update(block)
            size += len(block)
    return FileHash(md5.hexdigest(), sha256.hexdigest(), head, size)


def fingerprint(path: str) -> Fingerprint:
    """Hash and sniff one path; an unreadable path is a result, not an error."""
    try:
        found = hash_file(Path(path))
        kind: Sniffed = sniff_file(Path(path), found.head, found.size)
    except FileNotFoundError:
        return Fingerprint(path, None, None, None, None, error_page=False, missing=True)
    except OSError:
        return Fingerprint(path, None, None, None, None, error_page=False, missing=False)
    return Fingerprint(
        path, found.md5, found.sha256, found.size, kind.mime, error_page=kind.error_page, missing=False
    )


def _fingerprint_chunk(paths: list[str]) -> list[Fingerprint]:
    return [fingerprint(path) for path in paths]


def fingerprint_files(
    paths: Iterable[str], workers: int, scheduler: str | None = None
) -> Iterator[Fingerprint]:
    """Every path's fingerprint, in order, in chunks of CHUNK_FILES: in processes or on a Dask cluster.

    Raises:
        ConfigurationError, TransientError: of the cluster, see `map_on_cluster`; or its workers do
            not see a file that is here.
    """
    if scheduler is None:
        return map_chunks(_fingerprint_chunk, paths, workers=workers, chunk=CHUNK_FILES)
    return _on_cluster(paths, scheduler)


def _on_cluster(paths: Iterable[str], scheduler: str) -> Iterator[Fingerprint]:
    for chunk in map_on_cluster(scheduler, _fingerprint_chunk, paths, in_order=True):
        for found in chunk:
            if found.md5 is None and fingerprint(found.path) != found:
                raise not_shared(scheduler)
            yield found
