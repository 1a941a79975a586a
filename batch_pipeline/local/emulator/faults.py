"""Faults on demand: what `GET/PUT/DELETE /_emulator/faults` shows, takes and clears.

Rates are deterministic: whether a record is hit depends on its id alone, so a run can be repeated.
"""

import hashlib
from threading import Lock
from typing import Literal, TypeVar

from pydantic import Field

from batch_pipeline.local.emulator.rules import Strict

Operation = Literal[
    "CreateModelInvocationJob",
    "GetModelInvocationJob",
    "ListModelInvocationJobs",
    "StopModelInvocationJob",
    "InvokeModel",
    "Converse",
    "GetFoundationModel",
    "GetCallerIdentity",
    "GetRole",
    "SimulatePrincipalPolicy",
    "ListServiceQuotas",
]
HeldState = Literal["Submitted", "Validating", "Scheduled", "InProgress", "Stopping"]
Plane = Literal["batch", "on_demand"]


class ApiFaults(Strict):
    """Calls that fail, wait or lose their answer. `*_next` counts go down as they are used up."""

    throttle_next: dict[Operation, int] = Field(
        default_factory=dict, description="The next n calls of an operation answer 429."
    )
    throttle_every: dict[Operation, int] = Field(
        default_factory=dict, description="Every nth call of an operation answers 429."
    )
    internal_error_next: dict[Operation, int] = Field(
        default_factory=dict, description="The next n calls answer 500 and do nothing."
    )
    latency_seconds: dict[Operation, float] = Field(
        default_factory=dict, description="Seconds a call waits before it is looked at."
    )
    drop_after_accept_next: int = Field(
        0, ge=0, description="The next n Create calls are accepted, then the connection is cut."
    )
    error_after_accept_next: int = Field(
        0, ge=0, description="The next n Create calls are accepted, then answer 500."
    )
    drop_after_answer_next: int = Field(
        0, ge=0, description="The next n runtime calls are answered and metered, then cut."
    )
    no_capacity_next: int = Field(0, ge=0, description="The next n runtime calls answer 503.")
    deny: tuple[Operation, ...] = Field((), description="Operations the caller may not use: 403.")
    deny_pass_role: bool = Field(
        False, description="Create answers 403 for want of iam:PassRole, and IAM's simulation says so."
    )
    role: Literal["right", "missing", "untrusting"] = Field(
        "right",
        description="What iam:GetRole shows of any role; untrusting: another service may take it on.",
    )


class JobFaults(Strict):
    """What happens to whole jobs."""

    hold: tuple[HeldState, ...] = Field(
        (), description="States no job leaves by itself; time goes on, so a held job can expire."
    )
    hold_after_records: int | None = Field(
        None, ge=0, description="Jobs in progress stop working after n records, until this is cleared."
    )
    time_out_after_records: int | None = Field(
        None, ge=0, description="Jobs run out of time after n records: PartiallyCompleted."
    )
    fail_message: str | None = Field(
        None, description="Validation of every job fails with this message, as for a role that cannot read."
    )
    counters: Literal["right", "zero", "missing"] = Field(
        "right", description="Record counters in Get, List and the manifest."
    )


class Selector(Strict):
    """Which requests a fault hits."""

    rate: float = Field(
        1.0, ge=0, le=1, description="Share of requests hit, by hash of record id or body digest."
    )
    record_ids: tuple[str, ...] | None = Field(
        None, description="Only these records; null: by rate. Ids exist in batch only."
    )
    plane: Literal["batch", "on_demand", "both"] = Field("both", description="Where it applies.")
    models: tuple[str, ...] | None = Field(
        None, description="Only requests to these models, by the start of their bare ids; null: to all."
    )
    times: int | None = Field(
        None, ge=1, description="How often one request is hit before it goes through; null: always."
    )


class RecordFault(Selector):
    """A request that ends in an error."""

    code: Literal[400, 403, 404, 408, 424, 429, 500, 503] = Field(429, description="Error code.")
    message: str | None = Field(None, description="Error message; null: the usual one of the code.")
    expired: bool = Field(False, description="Value of `expired` in the error line.")


class AnswerFault(Selector):
    """An answer that comes as models at times give it."""

    style: Literal["fenced", "prose", "truncated", "refused", "filtered", "invented", "empty"] = Field(
        description=(
            "fenced: in a Markdown code fence; prose: sentences around it; truncated: cut in the middle, "
            "stop reason max_tokens; refused: a refusal as text; filtered: stop reason content_filtered; "
            "invented: a made-up John Doe; empty: no text"
        )
    )


class OutputFaults(Strict):
    """How output objects come out."""

    keep_order: bool = Field(False, description="Write lines in input order instead of shuffled.")
    no_nulls: bool = Field(False, description="Converse answers without the explicit nulls of batch.")
    missing_manifest: bool = Field(False, description="No manifest.json.out.")
    missing_output_files: bool = Field(False, description="No .out files although the job ended well.")
    truncated_last_line: bool = Field(False, description="The last line of each file is cut in half.")
    corrupt_lines: int = Field(0, ge=0, description="n lines are overwritten with bytes that are no JSON.")
    missing_lines: int = Field(0, ge=0, description="n lines are left out.")
    duplicate_lines: int = Field(0, ge=0, description="n lines come twice.")
    unknown_record_ids: int = Field(0, ge=0, description="n lines carry an id nobody sent.")
    altered_echo: int = Field(0, ge=0, description="n lines echo another modelInput than was sent.")
    missing_echo: bool = Field(False, description="No line echoes its modelInput.")
    text_error_codes: bool = Field(False, description="errorCode as a string instead of a number.")
    errors_inside_output: bool = Field(
        False, description="errorCode and errorMessage inside modelOutput instead of error."
    )
    manifest_extra: dict[str, int] = Field(
        default_factory=lambda: {"cacheReadInputTokenCount": 0, "cacheWriteInputTokenCount": 0},
        description="Fields of the manifest beyond the documented ones.",
    )


class EventFaults(Strict):
    """How the list of EventBridge-shaped events comes out."""

    duplicate: bool = Field(False, description="Every event twice.")
    reorder: bool = Field(False, description="Events in a fixed random order.")
    loss_rate: float = Field(0.0, ge=0, le=1, description="Share of events that never arrive.")


class Faults(Strict):
    """All faults; the default is none."""

    api: ApiFaults = Field(default_factory=ApiFaults)
    jobs: JobFaults = Field(default_factory=JobFaults)
    records: tuple[RecordFault, ...] = Field((), description="The first that hits a request counts.")
    answers: tuple[AnswerFault, ...] = Field((), description="The first that hits a request counts.")
    output: OutputFaults = Field(default_factory=OutputFaults)
    events: EventFaults = Field(default_factory=EventFaults)


F = TypeVar("F", bound=Selector)


def share(*parts: str) -> float:
    """A fixed number in [0, 1) for a key."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


class FaultBook:
    """The faults in force and what is left of those that are counted. Safe to share by threads."""

    def __init__(self, faults: Faults) -> None:
        self._lock = Lock()
        self.replace(faults)

    @property
    def now(self) -> Faults:
        return self._faults

    def replace(self, faults: Faults) -> None:
        with self._lock:
            self._faults = faults.model_copy(deep=True)
            self._calls: dict[Operation, int] = {}
            self._hits: dict[tuple[str, int, str], int] = {}

    def throttles(self, operation: Operation) -> bool:
        """Whether this call is to be answered 429; counts it."""
        with self._lock:
            self._calls[operation] = self._calls.get(operation, 0) + 1
            every = self._faults.api.throttle_every.get(operation, 0)
            if every and self._calls[operation] % every == 0:
                return True
            return self._take(self._faults.api.throttle_next, operation)

    def breaks(self, operation: Operation) -> bool:
        """Whether this call is to be answered 500 before it does anything."""
        with self._lock:
            return self._take(self._faults.api.internal_error_next, operation)

    def take(
        self,
        counter: Literal[
            "drop_after_accept_next", "error_after_accept_next", "drop_after_answer_next", "no_capacity_next"
        ],
    ) -> bool:
        """Use up one of a counted fault; False when none is left."""
        with self._lock:
            left: int = getattr(self._faults.api, counter)
            if left < 1:
                return False
            setattr(self._faults.api, counter, left - 1)
            return True

    def record_fault(
        self, plane: Plane, model: str, record_id: str | None, digest: str
    ) -> RecordFault | None:
        return self._first("records", self._faults.records, plane, model, record_id, digest)

    def answer_fault(
        self, plane: Plane, model: str, record_id: str | None, digest: str
    ) -> AnswerFault | None:
        return self._first("answers", self._faults.answers, plane, model, record_id, digest)

    def _first(
        self, kind: str, faults: tuple[F, ...], plane: Plane, model: str, record_id: str | None, digest: str
    ) -> F | None:
        key = record_id or digest
        for index, fault in enumerate(faults):
            if fault.plane not in ("both", plane):
                continue
            if fault.models is not None and not model.startswith(fault.models):
                continue
            if fault.record_ids is not None and record_id not in fault.record_ids:
                continue
            if share(kind, str(index), key) >= fault.rate:
                continue
            if fault.times is not None:
                with self._lock:
                    hits = self._hits.get((kind, index, key), 0)
                    self._hits[kind, index, key] = hits + 1
                if hits >= fault.times:
                    continue
            return fault
        return None

    @staticmethod
    def _take(counts: dict[Operation, int], operation: Operation) -> bool:
        left = counts.get(operation, 0)
        if left < 1:
            return False
        counts[operation] = left - 1
        return True
