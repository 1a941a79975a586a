"""A job's files on local disk: input as downloaded, output lines as they are made.

Nothing here is ever read into memory whole. Output is flushed before the job's progress is saved, and
cut back to that progress after a crash, so no line is lost, doubled or paid again.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from batch_pipeline.local.emulator.job import Job


class Spool:
    """Files of one job below `root/<job id>/`."""

    def __init__(self, root: Path, job: Job) -> None:
        self.folder = root / job.id

    def create(self) -> "Spool":
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self

    def input(self, index: int) -> Path:
        return self.folder / f"input-{index}.jsonl"

    def output(self, index: int) -> Path:
        return self.folder / f"output-{index}.jsonl"

    def scratch(self, name: str) -> Path:
        return self.folder / name

    def remove(self) -> None:
        if self.folder.exists():
            shutil.rmtree(self.folder)


def records(path: Path) -> Iterator[bytes]:
    """Lines split at the line feed alone, without it; an unfinished last line counts."""
    with path.open("rb") as lines:
        for line in lines:
            yield line.rstrip(b"\n")
