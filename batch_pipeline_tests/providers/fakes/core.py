"""What every provider's fake has in common: jobs, a fast clock, faults, a meter, and a reader that answers.

A fake is this core and a skin (`skin.py`): the skin knows one provider's wire shapes and nothing else. It is
strict about what it is sent, and what it answers is written from contracts/providers.md, never from our
adapter. Jobs live in real time: each ends `job_seconds` after it was accepted, looked at or not.
"""

import os
import signal
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from batch_pipeline.local.emulator.connections import drop_connection
from batch_pipeline.local.emulator.engines.contract import EngineAnswer, PromptRequest
from batch_pipeline.local.emulator.engines.reader.engine import ReaderEngine

End = Literal["completed", "expired", "cancelled", "failed"]
Kind = Literal["answered", "refused", "never_begun"]
# Why a call is answered with an error; a skin says each in its provider's own words and status.
Refusal = Literal["throttled", "broken", "credit", "denied", "bad_request", "not_found"]

INVENTED_ERROR = "messages: Field required"


@dataclass
class Faults:
    """What goes wrong, set by a test before it happens; numbers are counted down."""

    drop_after_accept: int = 0  # a create is accepted and its connection cut
    error_after_accept: int = 0  # a create is accepted and answered with a 500
    error_before_accept: int = 0  # a create is answered with a 500 and nothing begins
    kill_after_accept: int | None = None  # a create is accepted, and the process of this id killed
    throttle_creates: int = 0
    throttle_polls: int = 0
    credit_exhausted: bool = False  # creates and single calls
    ends: deque[End] = field(default_factory=deque)  # of the next jobs; they complete when it is empty
    done_before_end: int = 0  # records an expired or cancelled job got through
    refused_records: int = 0  # first records of every job that are answered with a 400
    busy_records: int = 0  # first records of the next job alone that are answered with a 429
    unpaid_records: int = 0  # first records of the next job alone refused for an empty account
    useless_answers: int = 0  # first records of every job that are answered in words and not in JSON
    unknown_ids: int = 0
    duplicate_ids: int = 0
    corrupt_lines: int = 0  # lines of a job whose bytes are no JSON any more
    truncated: bool = False  # the last line is cut in its middle
    results_gone: bool = False
    failed_for_room: bool = False  # what a job that ends as failed is said to have failed for
    drop_answer: int = 0  # single calls that are answered by a cut connection

    def take(self, name: str) -> bool:
        """Whether a counted fault happens now; it is one less afterwards."""
        left = int(getattr(self, name))
        if left > 0:
            setattr(self, name, left - 1)
        return left > 0


@dataclass
class Meter:
    """What was asked and what would be billed."""

    creates: int = 0  # jobs that were accepted
    create_calls: int = 0
    billed: Counter[str] = field(default_factory=Counter)  # record id -> batch answers
    single_calls: int = 0


@dataclass(frozen=True)
class Ask:
    """One record of a job: its id, its body as sent, and what the body asks."""

    record_id: str
    body: Any
    prompt: PromptRequest


@dataclass(frozen=True)
class Result:
    """What became of one record."""

    record_id: str
    kind: Kind
    answer: EngineAnswer | None = None
    status: int = 200
    code: str = ""
    message: str = ""


@dataclass
class FakeJob:
    """A job; `stamp` is whatever the skin keeps of the create call."""

    id: str
    number: int
    asks: Sequence[Ask]
    stamp: Mapping[str, Any]
    created: float
    end: End
    results: list[Result] | None = None  # set once it has ended
    cancel_asked: bool = False
    things: dict[str, str] = field(default_factory=dict)  # ids of files and the like, for the skin

    def count(self, kind: Kind) -> int:
        return sum(one.kind == kind for one in self.results or ())


class Core:
    """The state of one fake provider; every method may be called from any thread."""

    def __init__(self, job_seconds: float = 0.05) -> None:
        self.job_seconds = job_seconds
        self.lock = threading.RLock()
        self.faults = Faults()
        self.meter = Meter()
        self.jobs: dict[str, FakeJob] = {}
        self.files: dict[str, Any] = {}
        self._engine = ReaderEngine()
        self._numbers = 0

    def new_id(self, prefix: str) -> str:
        return f"{prefix}{uuid.uuid4().hex[:24]}"

    def accept(self, prefix: str, asks: Sequence[Ask], stamp: Mapping[str, Any]) -> FakeJob:
        """A new job; a skin calls it only with what its provider would accept."""
        with self.lock:
            self._numbers += 1
            end = self.faults.ends.popleft() if self.faults.ends else "completed"
            job = FakeJob(self.new_id(prefix), self._numbers, asks, stamp, time.time(), end)
            self.jobs[job.id] = job
            self.meter.creates += 1
            return job

    def newest_first(self) -> list[FakeJob]:
        with self.lock:
            jobs = sorted(self.jobs.values(), key=lambda job: -job.number)
            return [self.looked_at(job) for job in jobs]

    def looked_at(self, job: FakeJob) -> FakeJob:
        """The job as it is now: it runs when its time is over, exactly once."""
        with self.lock:
            over = time.time() - job.created >= self.job_seconds
            if job.results is None and (over or job.cancel_asked):
                if job.cancel_asked:
                    job.end = "cancelled"
                job.results = self._run(job)
            return job

    def _run(self, job: FakeJob) -> list[Result]:
        if job.end == "failed":
            return []
        faults = self.faults
        whole = len(job.asks) if job.end == "completed" else min(faults.done_before_end, len(job.asks))
        busy, faults.busy_records = faults.busy_records, 0
        unpaid, faults.unpaid_records = faults.unpaid_records, 0
        results = []
        for at, ask in enumerate(job.asks):
            if at >= whole:
                results.append(Result(ask.record_id, "never_begun"))
            elif at < faults.refused_records:
                results.append(Result(ask.record_id, "refused", None, 400, "invalid", INVENTED_ERROR))
            elif at < busy:
                results.append(Result(ask.record_id, "refused", None, 429, "rate_limited", "Slow down"))
            elif at < unpaid:
                results.append(Result(ask.record_id, "refused", None, 429, "credit", "no credit"))
            else:
                self.meter.billed[ask.record_id] += 1
                answer = self._engine.answer(ask.prompt)
                if at < faults.useless_answers:
                    answer = replace(answer, text="I am afraid that I cannot help with this.")
                results.append(Result(ask.record_id, "answered", answer))
        return results

    def answer(self, prompt: PromptRequest) -> EngineAnswer:
        """A single call."""
        with self.lock:
            self.meter.single_calls += 1
            return self._engine.answer(prompt)

    async def create(
        self, request: Request, accept: Callable[[], Response], refuse: Callable[[Refusal], Response]
    ) -> Response:
        """The create call with whatever is to go wrong with it."""
        self.meter.create_calls += 1
        if (why := self._refusal()) is not None:
            return refuse(why)
        before = self.meter.creates
        answer = accept()
        if self.meter.creates == before:
            return answer  # the skin itself refused it
        if (client := self.faults.kill_after_accept) is not None:
            self.faults.kill_after_accept = None
            os.kill(client, signal.SIGKILL)
        if self.faults.take("drop_after_accept"):
            return await drop_connection(request)
        if self.faults.take("error_after_accept"):
            return refuse("broken")
        return answer

    def _refusal(self) -> Refusal | None:
        if self.faults.credit_exhausted:
            return "credit"
        if self.faults.take("throttle_creates"):
            return "throttled"
        return "broken" if self.faults.take("error_before_accept") else None

    async def single(
        self, request: Request, accept: Callable[[], Response], refuse: Callable[[Refusal], Response]
    ) -> Response:
        """A single call with whatever is to go wrong with it."""
        if self.faults.credit_exhausted:
            return refuse("credit")
        answer = accept()
        if self.faults.take("drop_answer"):
            return await drop_connection(request)
        return answer

    def poll_fault(self, refuse: Callable[[Refusal], Response]) -> Response | None:
        return refuse("throttled") if self.faults.take("throttle_polls") else None

    def bend(self, lines: list[bytes], odd: Callable[[str], bytes]) -> bytes:
        """Result lines as a file, with the faults of files. `odd` makes a line for an id nobody sent."""
        faults = self.faults
        bent = list(lines)
        bent += bent[: faults.duplicate_ids]
        bent += [odd(f"cv-{n:032x}") for n in range(faults.unknown_ids)]
        for at in range(min(faults.corrupt_lines, len(bent))):
            bent[at] = bent[at][: len(bent[at]) // 2] + b'"}{'
        data = b"".join(line + b"\n" for line in bent)
        return data[: -len(bent[-1]) // 2] if faults.truncated and bent else data
