"""The files of an export, by their path inside it: the only files that are ever opened.

A manifest's path is looked up here and never joined to a folder, so nothing outside the export can
be reached whatever a manifest says. A zip file's members are stored under names of our own.
"""

import hashlib
import os
import shutil
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from batch_pipeline.errors import SourceError

ORPHANS = "orphan_files.parquet"
"""Written beside the canonical tables: `path` of every file no row of the export names."""

MAX_MEMBERS = 5_000_000
MAX_RATIO = 200
MIN_SUSPECT_BYTES = 100 << 20
_JUNK = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_TABLE_ENDINGS = (".csv", ".tsv", ".txt")
_COPY = 1 << 20


@dataclass(frozen=True)
class Listing:
    """`files`: `path` (inside the export, with `/`) and `local_path`, sorted by path."""

    files: pl.DataFrame
    symbolic_links: int

    def local_path(self, path: str) -> Path | None:
        """Where one file lies, by its path, in any Unicode form."""
        wanted = unicodedata.normalize("NFC", path)
        found = self.files.filter(pl.col("path").str.normalize("NFC") == wanted)
        return Path(str(found["local_path"][0])) if found.height else None

    def tables(self) -> list[str]:
        """Paths of CSV files at the top of the export."""
        top = self.files.filter(~pl.col("path").str.contains("/"))["path"].to_list()
        return [path for path in top if path.lower().endswith(_TABLE_ENDINGS)]


def list_export(path: Path, unpack_into: Path) -> Listing:
    """The files of a folder, or of a zip file, which is unpacked once below `unpack_into`.

    Raises SourceError for a path that is neither, and for an archive that is damaged, encrypted,
    climbs out of itself or grows beyond reason.
    """
    if path.is_dir():
        found, links = _walk(path)
    elif path.is_file() and zipfile.is_zipfile(path):
        found, links = _unpack(path, unpack_into), 0
    else:
        raise SourceError(
            f"the export {path} is neither a folder nor a zip file: give the folder, or download the file again"
        )
    files = pl.DataFrame(found, schema={"path": pl.String, "local_path": pl.String}, orient="row").sort(
        "path"
    )
    return Listing(_without_common_folder(files), links)


def _walk(root: Path) -> tuple[list[tuple[str, str]], int]:
    found: list[tuple[str, str]] = []
    links = 0
    pending = [(str(root.resolve()), "")]
    while pending:
        folder, prefix = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    links += 1
                elif entry.is_dir():
                    if entry.name != "__MACOSX":
                        pending.append((entry.path, f"{prefix}{entry.name}/"))
                elif entry.is_file() and not _is_junk(entry.name):
                    found.append((f"{prefix}{entry.name}", entry.path))
    return found, links


def _is_junk(name: str) -> bool:
    return name in _JUNK or name.startswith("._")


def _without_common_folder(files: pl.DataFrame) -> pl.DataFrame:
    """A zip often holds one folder that holds the export."""
    top = files["path"].str.extract(r"^([^/]+)/").unique()
    if files.height and top.len() == 1 and top[0] is not None:
        return files.with_columns(pl.col("path").str.strip_prefix(f"{top[0]}/"))
    return files


def _unpack(archive: Path, into: Path) -> list[tuple[str, str]]:
    facts = archive.stat()
    stamp = hashlib.sha256(f"{archive.resolve()}|{facts.st_size}|{facts.st_mtime_ns}".encode()).hexdigest()
    target = into / stamp[:16]
    partial = into / f".{stamp[:16]}.partial"
    try:
        with zipfile.ZipFile(archive) as bundle:
            members = list(_safe_members(bundle))
            if not target.exists():
                shutil.rmtree(partial, ignore_errors=True)
                partial.mkdir(parents=True, mode=0o700)
                for member, name in members:
                    _copy(bundle, member, partial / _stored_name(name))
                partial.rename(target)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise SourceError(f"the export's zip file cannot be unpacked: {type(error).__name__}") from None
    return [(name, str((target / _stored_name(name)).resolve())) for _, name in members]


def _stored_name(name: str) -> str:
    ending = Path(name).suffix.lower()
    safe = ending if ending in _TABLE_ENDINGS else ""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest() + safe


def _safe_members(bundle: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    members = bundle.infolist()
    if len(members) > MAX_MEMBERS:
        raise SourceError(f"the export's zip file holds {len(members)} members, more than {MAX_MEMBERS}")
    packed = sum(member.compress_size for member in members)
    unpacked = sum(member.file_size for member in members)
    if unpacked > MIN_SUSPECT_BYTES and unpacked > packed * MAX_RATIO:
        number, largest = max(enumerate(members, start=1), key=lambda one: one[1].file_size)
        grown = largest.file_size // max(largest.compress_size, 1)
        raise SourceError(
            f"the export's zip file grows {unpacked // max(packed, 1)} times: refused. Its largest "
            f"member, number {number} of {len(members)}, grows {grown} times to {largest.file_size} bytes: look at "
            "it, and where it belongs to the export unpack the file and give the folder"
        )
    seen: set[str] = set()
    for number, member in enumerate(members, start=1):
        name = _member_name(member)
        parts = name.split("/")
        if member.is_dir() or "__MACOSX" in parts or _is_junk(parts[-1]):
            continue
        if name.startswith("/") or ".." in parts or ":" in parts[0]:
            raise SourceError(f"member {number} of the export's zip file climbs out of it: refused")
        if name in seen:
            raise SourceError(f"member {number} of the export's zip file has the name of an earlier one")
        seen.add(name)
        if member.flag_bits & 0x1:
            raise SourceError("the export's zip file is encrypted: unpack it and give the folder")
        yield member, name


def _member_name(member: zipfile.ZipInfo) -> str:
    name = member.filename.replace("\\", "/")
    if not member.flag_bits & 0x800:
        try:
            # macOS and many Unix tools write UTF-8 without saying so; zipfile read it as cp437
            return name.encode("cp437").decode("utf-8")
        except UnicodeError:
            return name
    return name


def _copy(bundle: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    left = member.file_size
    with bundle.open(member) as source, target.open("wb") as copy:
        while chunk := source.read(_COPY):
            left -= len(chunk)
            if left < 0:
                raise SourceError("a member of the export's zip file is larger than it says: refused")
            copy.write(chunk)
