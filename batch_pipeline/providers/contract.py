"""What a batch provider must do, and what it must promise.

A provider turns prepared shards into jobs and jobs into output lines. Both are in our own format, whatever
the provider's is: an adapter translates `{"recordId", "modelInput"}` while it uploads, and reads its
provider's answers as lines `{"recordId", "modelInput"?, "modelOutput"}` or
`{"recordId", "error": {"errorCode": <HTTP status>, "errorMessage"}}`. In those lines

- a provider that keeps the order of the requests may not say which record an answer is of: its id is then its
  place (`record_places.py`), a shard being in record-id order;
- a record the provider never began (expired, cancelled) has no line: it is owed again, its attempt is given
  back where the job's status says that it was not begun;
- an answer of status 4xx or 5xx is an error with that code, whatever else the line says;
- 402 means that the account's credit or budget is used up, in whatever words it was said: the migration is
  held, and the record is owed again.

A provider never retries a create call by itself: whether a lost answer may be sent again is the ledger's
decision. It raises, for a call

- that was refused and may work later: `TransientError` (or `QuotaReached`: no room for another job),
- that was refused for good: `TerminalError`,
- whose answer never came: `LostAnswer`. The work may or may not be under way.

An on-demand call that the provider answers with an error raises `RefusedAnswer`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Final, Literal, Protocol, Self, get_args

from batch_pipeline.errors import BatchPipelineError, TerminalError, TransientError
from batch_pipeline.providers.capabilities import Capabilities

Phase = Literal["running", "ended"]

# How a job can end, in the words the ledger keeps; every adapter maps its provider's own onto them.
#   Completed           all records were worked on; some or all may be errors
#   PartiallyCompleted  time ran out after some records; the rest was begun or not, nobody says
#   Expired             time ran out; a record without a line was never begun
#   Stopped             cancelled by somebody; what was finished is kept, the rest was never begun
#   Failed              refused as a whole before any record was worked on, nothing is paid
#   NoRoom              as Failed, for want of room alone: the same job may be taken later
EndedStatus = Literal["Completed", "PartiallyCompleted", "Expired", "Stopped", "Failed", "NoRoom"]
ENDED: Final[frozenset[str]] = frozenset(get_args(EndedStatus))
# Those under which a record without a line was never begun: its attempt is not counted.
NOT_BEGUN: Final[frozenset[str]] = frozenset({"Expired", "Stopped", "Failed", "NoRoom"})


class LostAnswer(BatchPipelineError):
    """A call left, and nothing came back that says what became of it."""


class NotYetKnown(TransientError):
    """Whether a request became a job cannot be said yet: a candidate has to end first."""


class ResultsGone(TerminalError):
    """The provider does not hold a job's answers any more."""


class RefusedAnswer(BatchPipelineError):
    """An on-demand call was answered with an error: not paid, and `code` (an HTTP status) says why."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True)
class JobRequest:
    """Everything that decides what a job does; the token is a hash of all of it. `records` is how many it
    holds, for a provider that shows little else of a job."""

    name: str
    token: str
    model: str
    invocation_type: str
    input_uri: str
    output_uri: str
    timeout_hours: int
    records: int = 0


@dataclass(frozen=True)
class RecordCounts:
    """The provider's own counters; zero or absent until it reports them."""

    total: int | None = None
    processed: int | None = None
    succeeded: int | None = None
    errored: int | None = None


@dataclass(frozen=True)
class Totals:
    """What the provider says an ended job came to, over all its lines; None is unknown and never zero.

    Input tokens include those written to and read from a cache.
    """

    succeeded: int | None = None
    errored: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True)
class JobReport:
    """What the provider says about one job; `status` of an ended one is an `EndedStatus`."""

    provider_id: str
    name: str
    token: str | None
    status: str
    phase: Phase
    message: str | None
    ended_at: datetime | None
    deadline: datetime | None
    counts: RecordCounts


@dataclass(frozen=True)
class OutputFile:
    """One file of answers; `open` streams its lines and may be called again."""

    key: str
    size: int = 0  # 0 where the provider does not say


class ByteStream(Protocol):
    """Bytes that end where the file ends: a connection that breaks raises TransientError."""

    def read(self, size: int, /) -> bytes: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...


@dataclass(frozen=True)
class ErasureCertificate:
    """Objects, versions or files that listings showed, that the server confirmed as deleted, and that a
    listing after the last deletion still showed.

    `kept` is what the provider gives no way to delete, in words, and until when: said, never claimed deleted.
    """

    listed: int
    deleted: int
    bytes: int
    multipart_uploads_aborted: int
    left: int
    kept: Sequence[str] = ()


class BatchProvider(Protocol):
    """One account at one provider, for one migration."""

    @property
    def capabilities(self) -> Capabilities:
        """Limits, recovery and promises of this provider."""

    @property
    def account(self) -> str:
        """`<kind>:<who pays, where>`: quotas and in-flight counts are shared by jobs of one account."""

    @property
    def home(self) -> str:
        """URI prefix of everything of this migration: `input_uri` and `output_uri` begin with it."""

    @property
    def place_settings(self) -> str:
        """The settings `account` and `home` come from, as words for a message."""

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Whatever else of the settings changes what a job does: part of its idempotency token."""

    def preflight(self, model: str, planned: Mapping[str, int] | None) -> list["Check"]:
        """Look at everything a paid call for `model` needs, without paying.

        `planned` are the batch limits the plan keeps, by the names of `provider.quotas`; None where the
        model answers on demand only.
        """

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

    def find(self, request: JobRequest, since: datetime, known: Collection[str] = ()) -> JobReport | None:
        """The job that this very request started at or after `since`, if there is one.

        Asked before every create call, the first one too: a ledger put back from a backup may have forgotten
        that it sent it. `known` are ids the ledger holds for other requests: none of them is the one.

        Raises:
            NotYetKnown: only the end of a job that may be it will tell; ask again later.
        """

    def reports(self, since: datetime) -> Iterator[JobReport]:
        """All jobs of the account submitted at or after `since`, by pages."""

    def report(self, provider_id: str) -> JobReport:
        """One job."""

    def stop(self, provider_id: str) -> None:
        """Ask for the end of a job; a job that is already over is no error."""

    def outputs(self, name: str, provider_id: str) -> list[OutputFile]:
        """Files of answers the job has written, in a stable order.

        Raises:
            ResultsGone: the job is over and its answers are no longer there; so may `open`.
        """

    def totals(self, name: str, provider_id: str) -> Totals:
        """The provider's own sums of an ended job, to hold ours against: a witness, the lines are the truth."""

    def open(self, file: OutputFile) -> ByteStream:
        """One output file as a stream of our own lines."""

    def answer(
        self, model: str, invocation_type: str, model_input: Mapping[str, object]
    ) -> Mapping[str, object]:
        """One paid on-demand call; the model's output as in a batch line's `modelOutput`.

        For Converse, `model_input` holds file bytes as bytes, not as base64 text.
        """

    def erase(self, provider_ids: Sequence[str], since: datetime) -> ErasureCertificate:
        """Delete everything of this migration that the provider lets anybody delete, and look again.

        `provider_ids` are the jobs the ledger knows, `since` is when the migration began: uploads and jobs a
        lost ledger has forgotten are found by name. All jobs have ended. Safe to repeat.

        Raises:
            TerminalError: something that can be deleted is still there.
        """


@dataclass(frozen=True)
class Check:
    """One line of `doctor`: what was looked at, whether it will do, and what to do if not."""

    subject: str
    passed: bool
    detail: str

    @classmethod
    def failed(cls, subject: str, error: Exception, fix: str) -> Self:
        """What was said, without the subject again; where no answer came, the fix is another one."""
        if isinstance(error, TransientError):
            fix = "Check the address and the network, then look again"
        why = str(error).removeprefix(f"{subject}: ").rstrip(".")
        return cls(subject, False, f"{why}. {fix}")
