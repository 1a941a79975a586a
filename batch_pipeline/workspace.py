"""Where one migration keeps its intermediate files, and how they are written.

Everything here can be made again from the export and the bucket: the ledger, not this folder, is
the truth about what was paid. It holds personal data, so it is private to its owner (0700) and
erased with the migration.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A path beside `target` that takes its name only when the block ends well.

    A killed process leaves either the old file or the new one, never half of one.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def write_parquet(frame: pl.DataFrame, target: Path) -> None:
    """Write one frame whole or not at all."""
    with atomic_path(target) as partial:
        frame.write_parquet(partial)


@dataclass(frozen=True)
class Workspace:
    """The files of one migration below `root/<key>/`. Shapes: `docs/architecture.md`."""

    root: Path
    key: str
    tier: int = 0  # whose requests `requests` holds: each model of a cascade is asked in its own words

    @property
    def folder(self) -> Path:
        return self.root / self.key

    @property
    def canonical(self) -> Path:
        """Canonical tables as the source wrote them: `<entity>.parquet`."""
        return self.folder / "canonical"

    def table(self, entity: str) -> Path:
        return self.canonical / f"{entity}.parquet"

    @property
    def spool(self) -> Path:
        """Files the pipeline itself unpacked or downloaded (zip members, API attachments)."""
        return self.folder / "spool"

    @property
    def attachments(self) -> Path:
        """`raw_cvs`: a row per attachment reference, zip members included."""
        return self.folder / "attachments.parquet"

    @property
    def texts(self) -> Path:
        """Extracted text by MD5, in parts; content-addressed, so a part is never stale."""
        return self.folder / "texts"

    @property
    def redacted(self) -> Path:
        """Texts as they are sent, in parts beside what was taken out: a folder per way of redacting, for an
        answer is read by the table of the text that left. Content-addressed like `texts`."""
        return self.folder / "redacted"

    @property
    def documents(self) -> Path:
        """`deduped_cvs`: a row per distinct document."""
        return self.folder / "documents.parquet"

    @property
    def links(self) -> Path:
        """The fan-out: attachment, application and document."""
        return self.folder / "links.parquet"

    @property
    def requests(self) -> Path:
        """Every batch request as one JSON line, in record-id order."""
        return self.folder / f"requests{self._of_tier}.jsonl"

    @property
    def request_lines(self) -> Path:
        """Where each request lies in `requests`: record id, offset, length, digest."""
        return self.folder / f"request_lines{self._of_tier}.parquet"

    @property
    def _of_tier(self) -> str:
        return f"-{self.tier}" if self.tier else ""

    def forget_later_requests(self) -> None:
        """Requests to later models of a cascade are made when they are needed, from what is planned then."""
        for path in [*self.folder.glob("request_lines-*.parquet"), *self.folder.glob("requests-*.jsonl")]:
            path.unlink(missing_ok=True)

    @property
    def shards(self) -> Path:
        return self.folder / "shards.parquet"

    @property
    def parsed(self) -> Path:
        """`parsed_cvs`: a row per document with a final answer, in parts."""
        return self.folder / "parsed"

    def read_note(self, name: str) -> dict[str, Any] | None:
        """A stage's small JSON record (counts, notices), or None where it never ended."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def write_note(self, name: str, note: dict[str, Any]) -> None:
        with atomic_path(self.folder / f"{name}.json") as partial:
            partial.write_text(json.dumps(note, indent=1, sort_keys=True, default=str))

    def create(self) -> "Workspace":
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self

    def erase(self) -> int:
        """Remove every file; return how many there were."""
        files = sum(1 for path in self.folder.rglob("*") if path.is_file())
        if self.folder.exists():
            shutil.rmtree(self.folder)
        return files
