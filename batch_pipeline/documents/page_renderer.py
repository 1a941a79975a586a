"""The parent's end of showing pages: one killable process, kept for many documents.

PDFium must not run in threads, and a decoder that dies must take one document and nothing else.
"""

import selectors
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from batch_pipeline.documents.extraction_process import ExtractionProcess, Job
from batch_pipeline.documents.extraction_worker import Answer, Limits, Task
from batch_pipeline.documents.page_images import PageImage, ShowLimits
from batch_pipeline.documents.reasons import Reason, Refused
from batch_pipeline.errors import TerminalError, TransientError

_TICK = 0.1
_FILES_PER_PROCESS = 500


class PageRenderer:
    """Shows documents one at a time, from whatever thread asks; starts its process when first asked."""

    def __init__(
        self, *, memory_bytes: int = 1 << 30, cpu_seconds: int = 30, wall_seconds: float = 120.0
    ) -> None:
        self._limits = Limits(memory_bytes, cpu_seconds, 64 << 20, _FILES_PER_PROCESS)
        self._wall_seconds = wall_seconds
        self._process: ExtractionProcess | None = None
        self._lock = threading.Lock()

    def show(self, path: Path, kind: str, limits: ShowLimits) -> list[PageImage]:
        """Every page as an image.

        Raises:
            Refused: it cannot be shown; see `page_drawing`, and parse_crashed, parse_timeout and
                parse_memory where the process did not survive it.
            TransientError: the file cannot be read, or the process does not start: no fault of the
                document.
        """
        try:
            with self._lock, self._running() as process:
                process.give(Job(str(path), Task(str(path), kind, limits)))
                answer = self._answer(process)
        except TerminalError as error:
            raise TransientError(str(error)) from None
        if answer.unreadable:
            raise TransientError("the file of a document can no longer be read: run the fetch again")
        if answer.reason is not None:
            raise Refused(Reason(answer.reason))
        return answer.images

    def close(self) -> None:
        """End the process; it is started again when something is to be shown."""
        with self._lock:
            self._end()

    @contextmanager
    def _running(self) -> Iterator[ExtractionProcess]:
        if self._process is None:
            self._process = ExtractionProcess(self._limits, self._wall_seconds)
        process = self._process
        try:
            yield process
        finally:
            # whatever was not answered, or is the last answer, is not waited for
            if process.jobs or process.ending:
                self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def _answer(self, process: ExtractionProcess) -> Answer:
        with selectors.DefaultSelector() as selector:
            selector.register(process.output, selectors.EVENT_READ)
            while True:
                if not selector.select(_TICK):
                    process.watch()
                    continue
                received = process.receive()
                if received is None:
                    lost = process.blame()
                    return Answer(reason=(lost or Reason.PARSE_CRASHED).value)
                for _, answer in received:
                    return answer
