"""What a batch provider must do, and what it must promise.

A provider turns prepared shards into jobs and jobs into output lines. It never retries a create call
by itself: whether a lost answer may be sent again is the ledger's decision. It raises, for a call

- that was refused and may work later: `TransientError` (or `QuotaReached`: no room for another job),
- that was refused for good: `TerminalError`,
- whose answer never came: `LostAnswer`. The work may or may not be under way.

An on-demand call that the provider answers with an error raises `RefusedAnswer`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Literal, Protocol, Self

from batch_pipeline.errors import BatchPipelineError

Phase = Literal["running", "ended"]


class LostAnswer(BatchPipelineError):
    """A call left, and nothing came back that says what became of it."""


class RefusedAnswer(BatchPipelineError):
    """An on-demand call was answered with an error: not paid, and `code` (an HTTP status) says why."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True)
class JobRequest:
    """Everything that decides what a job does; the token is a hash of all of it."""

    name: str
    token: str
    model: str
    invocation_type: str
    input_uri: str
    output_uri: str
    timeout_hours: int


@dataclass(frozen=True)
class RecordCounts:
    """The provider's own counters; zero or absent until it reports them."""

    total: int | None = None
    processed: int | None = None
    succeeded: int | None = None
    errored: int | None = None


@dataclass(frozen=True)
class JobReport:
    """What the provider says about one job."""

    provider_id: str
    name: str
    token: str | None
    status: str
    phase: Phase
    message: str | None
    submitted_at: datetime
    ended_at: datetime | None
    deadline: datetime | None
    counts: RecordCounts


@dataclass(frozen=True)
class OutputFile:
    """One file of answers; `open` streams its bytes and may be called again."""

    key: str
    size: int


class ByteStream(Protocol):
    """Bytes that end where the file ends: a connection that breaks raises TransientError."""

    def read(self, size: int, /) -> bytes: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...


class BatchProvider(Protocol):
    """One account at one provider, for one migration."""

    @property
    def account(self) -> str:
        """Who pays: quotas and in-flight counts are shared by jobs of one account."""

    def preflight(self, model: str) -> list["Check"]:
        """Look at everything a paid call for `model` needs, without paying."""

    def upload(self, name: str, body: BinaryIO, size: int) -> str:
        """Store a shard's lines for the job of this name; return the URI. Safe to repeat."""

    def input_uri(self, name: str) -> str:
        """Where `upload` stores the shard of this job."""

    def output_uri(self, name: str) -> str:
        """Where the job of this name must write."""

    def discard(self, name: str) -> None:
        """Remove what `upload` stored for a job that was refused."""

    def create(self, request: JobRequest) -> str:
        """Start a paid job; return the provider's id."""

    def find(self, request: JobRequest, since: datetime) -> JobReport | None:
        """The job that this very request started at or after `since`, if there is one."""

    def reports(self, since: datetime) -> Iterator[JobReport]:
        """All jobs of the account submitted at or after `since`, by pages."""

    def report(self, provider_id: str) -> JobReport:
        """One job."""

    def stop(self, provider_id: str) -> None:
        """Ask for the end of a job; a job that is already over is no error."""

    def outputs(self, name: str, provider_id: str) -> list[OutputFile]:
        """Files of answers the job has written, in a stable order."""

    def open(self, file: OutputFile) -> ByteStream:
        """A stream of one output file's bytes."""

    def answer(
        self, model: str, invocation_type: str, model_input: Mapping[str, object]
    ) -> Mapping[str, object]:
        """One paid on-demand call; the model's output as in a batch line's `modelOutput`.

        For Converse, `model_input` holds file bytes as bytes, not as base64 text.
        """


@dataclass(frozen=True)
class Check:
    """One line of `doctor`: what was looked at, whether it will do, and what to do if not."""

    subject: str
    passed: bool
    detail: str
