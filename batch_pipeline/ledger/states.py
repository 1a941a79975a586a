"""The states a job and a document can be in, and what a migration needs next.

The database holds the same sets as constraints; a test compares the two.
"""

from dataclasses import dataclass
from typing import Final, Literal

JobState = Literal["intent", "void", "accepted", "running", "ended", "collected", "imported", "erased"]
DocumentState = Literal["owed", "sent", "answered", "failed"]
Outcome = Literal["answered", "error", "missing", "unsent"]

TRANSITIONS: Final[frozenset[tuple[JobState, JobState]]] = frozenset(
    {
        ("intent", "accepted"),
        ("intent", "void"),
        ("accepted", "running"),
        ("accepted", "ended"),
        ("running", "ended"),
        ("ended", "collected"),
        ("collected", "imported"),
        ("imported", "erased"),
    }
)

# At one model `answered` is final: nothing leads out of it but a rise to the next one (`escalation.py`).
DOCUMENT_TRANSITIONS: Final[frozenset[tuple[DocumentState, DocumentState]]] = frozenset(
    {
        ("owed", "sent"),
        ("owed", "failed"),
        ("sent", "answered"),
        ("sent", "owed"),
        ("sent", "failed"),
        ("failed", "owed"),
    }
)

Step = Literal["prepare", "submit", "wait", "answer", "finish", "done", "held", "paused"]


@dataclass(frozen=True)
class Standing:
    """Where a migration stands, in counts: everything `next_step` decides from."""

    known: bool
    planned: bool
    state: str
    hold: str | None
    ready_intents: int
    waiting_intents: int
    in_flight: int
    uncollected: int
    owed_batch: int
    owed_on_demand: int
    open_calls: int

    def next_step(self) -> Step:  # noqa: PLR0911 - one line per rule reads best
        """What must happen next; the same facts always give the same step.

        prepare: read the export and plan. submit: settle ended jobs, send what is owed.
        wait: jobs are under way and nothing can be sent. answer: on-demand calls are owed.
        finish: every document has its final answer: parse, import, erase.
        """
        if self.state == "erased":
            return "done"
        if self.hold is not None:
            return "held"
        if self.uncollected:
            return "submit"
        if self.state in {"paused", "cancelled"}:
            return "wait" if self.in_flight else "paused"
        if not self.known or not self.planned:
            return "prepare"
        if self.ready_intents or self.owed_batch:
            return "submit"
        if self.in_flight or self.waiting_intents:
            return "wait"
        if self.owed_on_demand or self.open_calls:
            return "answer"
        return "finish"
