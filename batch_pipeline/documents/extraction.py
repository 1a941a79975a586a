"""Text of many documents, in processes that can be killed, written part by part.

Two files a part, in the folder `texts/`:
- `part-<n>.parquet`: `md5`, `text` (never empty) of the documents that have a text;
- `outcomes-<n>.parquet`: a row per document, in the shape of OUTCOMES.

A part's outcomes are written last, each file whole or not at all: they are what makes the part
count. A killed run leaves at most a `part` without its `outcomes`, which the next run overwrites.
Documents that have an outcome are not read again. Memory: the digests of what is done (about 100
bytes a document), one part, and the children's limits.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from batch_pipeline.documents.cluster import not_shared
from batch_pipeline.documents.extraction_process import Job
from batch_pipeline.documents.extraction_run import ClusterRun, ExtractionLimits, ExtractionRun
from batch_pipeline.documents.extraction_worker import Answer, Task
from batch_pipeline.errors import TerminalError
from batch_pipeline.workspace import write_parquet

OUTCOMES: Final = pl.Schema(
    {
        "md5": pl.String,
        "pages": pl.Int32,
        "text_chars": pl.Int64,  # 0 where there is no text
        "text_sha": pl.String,
        "needs_vision": pl.Boolean,
        "reason": pl.String,  # documents/reasons.py, null where there is text or a scan
        "encoding": pl.String,  # of text formats
        "kind": pl.String,  # documents/classify.py, null without text
        "cv_score": pl.Float64,
    }
)
TEXTS: Final = pl.Schema({"md5": pl.String, "text": pl.String})

_NUMBER = "[0-9]" * 6


@dataclass(frozen=True)
class ExtractionReport:
    """`extracted` now, `skipped` because an earlier run had; `reasons` and restarts of this run."""

    extracted: int
    skipped: int
    restarts: int
    reasons: Mapping[str, int]


def read_outcomes(out: Path, *, with_ocr: bool = False) -> pl.LazyFrame:
    """Outcomes of every part, in the shape of OUTCOMES; `with_ocr` puts those of `ocr` in their place."""
    found = _outcomes(sorted(out.glob(f"outcomes-{_NUMBER}.parquet")))
    if not with_ocr:
        return found
    read = ocr_outcomes(out)
    return pl.concat([found.join(read, on="md5", how="anti"), read])


def ocr_outcomes(out: Path) -> pl.LazyFrame:
    """Outcomes of scans that the local engine tried, in the shape of OUTCOMES."""
    return _outcomes(sorted(out.glob("outcomes-ocr-*.parquet")))


def _outcomes(parts: list[Path]) -> pl.LazyFrame:
    return pl.scan_parquet(parts) if parts else OUTCOMES.to_frame().lazy()


def extract(
    files: Iterable[tuple[str, str, str]],
    out: Path,
    workers: int,
    limits: ExtractionLimits | None = None,
    on_progress: Callable[[int], None] | None = None,
    scheduler: str | None = None,
) -> ExtractionReport:
    """Read every (md5, path, mime) that has no outcome yet, here or on the Dask cluster of `scheduler`.

    A document that crashes its process, or takes more than its limits, gets its reason and costs
    nobody else anything. `on_progress` is given the number of documents done in this run. However it
    ends, what was answered is written.

    Raises:
        TerminalError: the processes do not start, or a file cannot be read at all.
        ConfigurationError, TransientError: of the cluster, see `map_on_cluster`; or its workers do
            not see a file that is here.
    """
    limits = limits or ExtractionLimits()
    done = set(read_outcomes(out).select("md5").collect()["md5"].str.decode("hex"))
    parts = Parts(out, limits, number=next_part(out))
    skipped = 0

    def todo() -> Iterator[Job]:
        nonlocal skipped
        for md5, path, kind in files:
            digest = bytes.fromhex(md5)
            if digest in done:
                skipped += 1
                continue
            done.add(digest)
            yield Job(md5, Task(path, kind))

    run = (
        ExtractionRun(todo(), max(1, workers), limits)
        if scheduler is None
        else ClusterRun(todo(), scheduler, limits)
    )
    extracted = 0
    reasons: Counter[str] = Counter()
    try:
        for job, answer in run.answers():
            if answer.unreadable:
                if scheduler is not None and os.access(job.task.path, os.R_OK):
                    raise not_shared(scheduler)
                raise TerminalError(
                    f"the file of document {job.name} can no longer be read: run the fetch again"
                )
            parts.add(job.name, answer)
            extracted += 1
            if answer.reason is not None:
                reasons[answer.reason] += 1
            if on_progress is not None:
                on_progress(extracted)
    finally:
        parts.flush()
    return ExtractionReport(extracted, skipped, run.restarts, dict(reasons))


def next_part(out: Path) -> int:
    """A number that no part of `out` has."""
    numbers = [int(path.stem.rpartition("-")[2]) for path in out.glob("outcomes-*.parquet")]
    return max(numbers, default=0) + 1


@dataclass
class Parts:
    """Collects answers and writes a part when it is full or old enough."""

    out: Path
    limits: ExtractionLimits
    number: int
    prefix: str = ""
    _outcomes: list[tuple[Any, ...]] = field(default_factory=list)
    _texts: list[tuple[str, str]] = field(default_factory=list)
    _bytes: int = 0
    _since: float = field(default_factory=time.monotonic)

    def add(self, md5: str, answer: Answer) -> None:
        text = answer.text
        self._outcomes.append(
            (
                md5,
                answer.pages,
                0 if text is None else len(text),
                answer.text_sha,
                answer.needs_vision,
                answer.reason,
                answer.encoding,
                answer.kind,
                answer.cv_score,
            )
        )
        if text is not None:
            self._texts.append((md5, text))
            self._bytes += len(text)
        full = len(self._outcomes) >= self.limits.part_documents or self._bytes >= self.limits.part_bytes
        if full or time.monotonic() - self._since >= self.limits.part_seconds:
            self.flush()

    def flush(self) -> None:
        if self._outcomes:
            name = f"{self.prefix}{self.number:06d}.parquet"
            write_parquet(pl.DataFrame(self._texts, schema=TEXTS, orient="row"), self.out / f"part-{name}")
            outcomes = pl.DataFrame(self._outcomes, schema=OUTCOMES, orient="row")
            write_parquet(outcomes, self.out / f"outcomes-{name}")
            self.number += 1
        self._outcomes, self._texts, self._bytes = [], [], 0
        self._since = time.monotonic()
