"""Zip bundles of candidates: members become files of our own, within limits, one level deep.

All members or none: a bundle beyond a limit is refused as a whole, so that no half of it passes for
the whole. Files are stored under their MD5, never under a member's name.
"""

import hashlib
import os
import tempfile
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path

from batch_pipeline.documents.hashing import Fingerprint, fingerprint
from batch_pipeline.documents.reasons import Reason, Refused

_JUNK = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_BLOCK = 1 << 18


@dataclass(frozen=True)
class BundleLimits:
    """`growth`: unpacked bytes per packed byte, looked at above `small` unpacked bytes."""

    members: int = 200
    unpacked_bytes: int = 256 << 20
    growth: int = 100
    small: int = 1 << 20


@dataclass(frozen=True)
class Member:
    """`number` counts the kept members from 1; `name` is for people only."""

    number: int
    name: str
    file: Fingerprint


def unpack(bundle: Path, spool: Path, limits: BundleLimits) -> list[Member]:
    """Unpack into `spool`; the same bundle again gives the same files.

    Raises Refused: unreadable_archive, archive_too_large or password_protected.
    """
    try:
        with zipfile.ZipFile(bundle) as archive:
            chosen = [info for info in archive.infolist() if not info.is_dir() and not _is_junk(info)]
            if any(info.flag_bits & 0x1 for info in chosen):
                raise Refused(Reason.PASSWORD_PROTECTED)
            _check(chosen, limits)
            left = limits.unpacked_bytes
            members: list[Member] = []
            for number, info in enumerate(chosen, start=1):
                path, size = _store(archive, info, spool, left)
                left -= size
                members.append(Member(number, _shown_name(info), fingerprint(str(path))))
            return members
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the spool's disk, not the bundle
        raise Refused(Reason.UNREADABLE_ARCHIVE) from None


def _is_junk(info: zipfile.ZipInfo) -> bool:
    parts = info.filename.replace("\\", "/").split("/")
    return "__MACOSX" in parts or parts[-1] in _JUNK or parts[-1].startswith("._")


def _check(chosen: list[zipfile.ZipInfo], limits: BundleLimits) -> None:
    unpacked = sum(info.file_size for info in chosen)
    packed = sum(info.compress_size for info in chosen)
    grows = unpacked > limits.small and unpacked > packed * limits.growth
    if len(chosen) > limits.members or unpacked > limits.unpacked_bytes or grows:
        raise Refused(Reason.ARCHIVE_TOO_LARGE)


def _store(archive: zipfile.ZipFile, info: zipfile.ZipInfo, spool: Path, left: int) -> tuple[Path, int]:
    spool.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=spool, prefix=".member.")
    partial = Path(name)
    digest = hashlib.md5(usedforsecurity=False)
    size = 0
    try:
        with os.fdopen(handle, "wb") as target, archive.open(info) as source:
            while block := source.read(_BLOCK):
                size += len(block)
                if size > left or size > info.file_size:
                    raise Refused(Reason.ARCHIVE_TOO_LARGE)  # what the table said was a lie
                digest.update(block)
                target.write(block)
        path = spool / digest.hexdigest()[:2] / digest.hexdigest()
        path.parent.mkdir(exist_ok=True, mode=0o700)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path, size


def _shown_name(info: zipfile.ZipInfo) -> str:
    name = info.filename
    if not info.flag_bits & 0x800:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = info.filename
    shown = unicodedata.normalize("NFC", name.replace("\\", "/").rsplit("/", 1)[-1])
    return shown.encode("utf-8", "replace").decode("utf-8")
