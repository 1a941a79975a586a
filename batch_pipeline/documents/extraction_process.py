"""The parent's end of one extraction worker: tasks in, answers out, and whose fault a death is."""

import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from batch_pipeline.documents.extraction_worker import FRAME, Answer, Limits, Task
from batch_pipeline.documents.reasons import Reason
from batch_pipeline.errors import TerminalError

_READ = 1 << 18
_MUCH_MEMORY = 0.5  # a child that has read nothing yet holds 0.15 of the default limit
_MODULE = "batch_pipeline.documents.extraction_worker"


@dataclass(frozen=True)
class Job:
    """`name` is what the caller knows the document by."""

    name: str
    task: Task


@dataclass
class ExtractionProcess:
    """One child and the documents it holds; the first of them is the one in hand.

    Started by `subprocess` and not by a fork of this process, whose threads' locks a fork would
    copy. It is in a session of its own: an interrupt in the terminal ends the parent, which kills
    it; without a parent its input ends and so does it.
    """

    limits: Limits
    wall_seconds: float
    child: "subprocess.Popen[bytes]" = field(init=False)
    jobs: deque[Job] = field(default_factory=deque)
    ready: bool = False
    ending: bool = False
    timed_out: bool = False
    peak_memory: int = 0
    _buffer: bytearray = field(default_factory=bytearray)
    _since: float = 0.0

    def __post_init__(self) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", _MODULE, msgspec.json.encode(self.limits).decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        self._since = time.monotonic()

    @property
    def output(self) -> int:
        assert self.child.stdout is not None
        return self.child.stdout.fileno()

    def give(self, job: Job) -> None:
        """Queue one document. A child that has just died is noticed when its output ends."""
        assert self.child.stdin is not None
        if not self.jobs:
            self._since = time.monotonic()
        self.jobs.append(job)
        frame = msgspec.msgpack.encode(job.task)
        try:
            self.child.stdin.write(FRAME.pack(len(frame)) + frame)
        except BrokenPipeError:
            self.ending = True

    def receive(self) -> Iterator[tuple[Job, Answer]] | None:
        """Answers that have come; None where the output has ended."""
        assert self.child.stdout is not None
        data = self.child.stdout.read(_READ)
        if not data:
            return None
        self._buffer += data
        return self._answers()

    def _answers(self) -> Iterator[tuple[Job, Answer]]:
        while len(self._buffer) >= FRAME.size:
            (length,) = FRAME.unpack_from(self._buffer)
            end = FRAME.size + length
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[FRAME.size : end])
            del self._buffer[:end]
            self._since = time.monotonic()
            self.peak_memory = 0
            if length == 0:
                self.ready = True
                continue
            answer = msgspec.msgpack.decode(frame, type=Answer)
            self.ending = self.ending or answer.last
            yield self.jobs.popleft(), answer

    def watch(self) -> None:
        """Kill the child where the document in hand has taken too long; note its memory."""
        if not self.jobs and self.ready:
            return
        if time.monotonic() - self._since > self.wall_seconds:
            self.timed_out = True
            self.child.kill()
            return
        status = Path(f"/proc/{self.child.pid}/statm")
        if status.exists():
            try:
                pages = int(status.read_text().split()[0])
            except (OSError, IndexError):
                return  # it died between the two lines
            self.peak_memory = max(self.peak_memory, pages * 4096)

    def blame(self) -> Reason | None:
        """After the end: why the document in hand is lost, None where the child ended as it should.

        Raises TerminalError for a child that never became ready: no document is to blame.
        """
        code = self.child.wait()
        if not self.ready:
            raise TerminalError(f"the text extraction process does not start (exit code {code})")
        if not self.jobs or (self.ending and code == 0):
            return None
        if self.timed_out or code == -signal.SIGXCPU:
            return Reason.PARSE_TIMEOUT
        # an allocation the limit refuses makes PDFium abort, well below the limit when it is a large one;
        # SIGKILL not sent by us is the kernel's, out of memory
        if code == -signal.SIGKILL or self.peak_memory > self.limits.memory_bytes * _MUCH_MEMORY:
            return Reason.PARSE_MEMORY
        return Reason.PARSE_CRASHED

    def close(self) -> None:
        for stream in (self.child.stdin, self.child.stdout):
            if stream is not None:
                stream.close()
        self.child.kill()
        self.child.wait()
