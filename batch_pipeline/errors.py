"""Every error the product raises on purpose.

BatchPipelineError
├── ConfigurationError      a file or variable is wrong: names the field, the value and the fix
├── SourceError             an export cannot be read as its migration file says: mend it, or the file
├── TransientError          the same call may work later; nothing was paid
│   └── QuotaReached        the provider takes no more jobs now: wait, this is no failure
├── TerminalError           the same call will fail the same way: fix the cause, then run again
│   ├── PreflightError      refused before anything was sent or paid
│   └── LedgerConflict      the ledger holds something else than what was about to be done
└── NeedsPerson             only a person can choose; carries the choices, their cost, the commands
    ├── AmbiguousRequest    a request may or may not have been paid, and nobody can tell
    └── OpenSums            a sum of the migration does not close; names the open rows

Messages hold ids and counts, never a name, an address or a word of a CV.
"""

from dataclasses import dataclass


class BatchPipelineError(Exception):
    """Base of all: `str()` is written for the person who reads it."""


class ConfigurationError(BatchPipelineError):
    """A setting is wrong.

    >>> raise ConfigurationError("provider.timeout_hours", 12, "give 24 to 168")
    """

    def __init__(self, field: str, value: object, fix: str) -> None:
        self.field = field
        self.value = value
        self.fix = fix
        super().__init__(f"{field} = {value!r}: {fix}")


class SourceError(BatchPipelineError):
    """An export cannot be read; the message names file, row and column by number."""


class TransientError(BatchPipelineError):
    """The same call may work later; nothing was paid."""


class QuotaReached(TransientError):
    """The provider holds as many jobs of this account as it takes."""


class TerminalError(BatchPipelineError):
    """The same call will fail the same way until its cause is mended."""


class PreflightError(TerminalError):
    """Refused before anything was sent or paid."""


class LedgerConflict(TerminalError):
    """The ledger holds something else than what was about to be done."""


@dataclass(frozen=True)
class WayOut:
    """One choice a person has: what it does, what it may cost, how to take it."""

    does: str
    cost: str
    command: str

    def __str__(self) -> str:
        return f"{self.does} ({self.cost}): {self.command}"


class NeedsPerson(BatchPipelineError):
    """Only a person can choose how to go on."""

    def __init__(self, what: str, ways_out: tuple[WayOut, ...] = ()) -> None:
        self.what = what
        self.ways_out = ways_out
        super().__init__("\n".join([what, *(f"  - {way}" for way in ways_out)]))


class AmbiguousRequest(NeedsPerson):
    """A request may or may not have been paid, and nobody can tell."""


class OpenSums(NeedsPerson):
    """A sum of the migration does not close."""
