"""Documents on their way through killable processes, on this machine or on a Dask cluster's."""

import selectors
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from batch_pipeline.documents.cluster import map_on_cluster
from batch_pipeline.documents.extraction_process import ExtractionProcess, Job
from batch_pipeline.documents.extraction_worker import Answer, Limits

_AHEAD = 8  # documents a child holds: it never waits for the next one
_TICK = 0.1


@dataclass(frozen=True)
class ExtractionLimits:
    """Of one document: CPU and wall seconds, address space of its process, size of its file.

    `part_documents`, `part_bytes` and `part_seconds` bound what a killed run does again.
    """

    memory_bytes: int = 1 << 30
    cpu_seconds: int = 30
    wall_seconds: float = 120.0
    file_bytes: int = 64 << 20
    files_per_process: int = 5_000
    part_documents: int = 2_000
    part_bytes: int = 32 << 20
    part_seconds: float = 60.0


class ExtractionRun:
    """Children, what they hold, and what nobody holds any more because its child died."""

    def __init__(self, todo: Iterator[Job], workers: int, limits: ExtractionLimits) -> None:
        self.restarts = 0
        self._todo = todo
        self._workers = workers
        self._limits = limits
        self._again: deque[Job] = deque()
        self._selector = selectors.DefaultSelector()

    def answers(self) -> Iterator[tuple[Job, Answer]]:
        """Every document's answer, in no order. Leaves no child behind, however it ends."""
        try:
            for _ in range(self._workers):
                self._start()
            while self._selector.get_map():
                for key, _ in self._selector.select(_TICK):
                    yield from self._serve(key.data)
                for process in self._processes():
                    process.watch()
        finally:
            for process in self._processes():
                self._selector.unregister(process.output)
                process.close()
            self._selector.close()

    def _processes(self) -> list[ExtractionProcess]:
        return [key.data for key in list(self._selector.get_map().values())]

    def _next(self) -> Job | None:
        return self._again.popleft() if self._again else next(self._todo, None)

    def _start(self) -> None:
        """One more child, where there is work for it."""
        first = self._next()
        if first is None:
            return
        limits = self._limits
        process = ExtractionProcess(
            Limits(limits.memory_bytes, limits.cpu_seconds, limits.file_bytes, limits.files_per_process),
            limits.wall_seconds,
        )
        self._selector.register(process.output, selectors.EVENT_READ, process)
        process.give(first)
        self._feed(process)

    def _feed(self, process: ExtractionProcess) -> None:
        while not process.ending and len(process.jobs) < _AHEAD and (job := self._next()) is not None:
            process.give(job)

    def _serve(self, process: ExtractionProcess) -> Iterator[tuple[Job, Answer]]:
        received = process.receive()
        if received is not None:
            yield from received
            self._feed(process)
            if not process.jobs:
                self._retire(process)  # nothing is left to give
            return
        lost = process.blame()
        if lost is not None:
            self.restarts += 1
            yield process.jobs.popleft(), Answer(reason=lost.value)
        self._retire(process)

    def _retire(self, process: ExtractionProcess) -> None:
        self._again.extend(process.jobs)
        process.jobs.clear()
        self._selector.unregister(process.output)
        process.close()
        self._start()


@dataclass
class ClusterRun:
    """The same on a Dask cluster: a task reads a chunk in one such process on its worker's machine."""

    todo: Iterator[Job]
    scheduler: str
    limits: ExtractionLimits
    restarts: int = 0

    def answers(self) -> Iterator[tuple[Job, Answer]]:
        """Every document's answer, chunk by chunk as they come. Raises as `map_on_cluster` does."""
        read = partial(_read_chunk, limits=self.limits)
        for answers, restarts in map_on_cluster(self.scheduler, read, self.todo, in_order=False):
            self.restarts += restarts
            yield from answers


def _read_chunk(jobs: list[Job], limits: ExtractionLimits) -> tuple[list[tuple[Job, Answer]], int]:
    run = ExtractionRun(iter(jobs), 1, limits)
    return list(run.answers()), run.restarts
