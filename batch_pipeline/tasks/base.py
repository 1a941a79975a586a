"""What a task is: a question to a model and a reading of its answer.

Requests and answers know a task only through this file, so they know no field of a CV.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

# Why a model stopped, in one closed list for every family.
Stop = Literal[
    "end",  # it said all it had to say
    "truncated",  # out of output tokens or context: the answer is a part of one
    "tool_use",  # the text is the tool's input
    "refused",  # the model would not answer
    "filtered",  # a guardrail or content filter took the answer
    "malformed",  # the provider calls its own output broken
    "unknown",  # none given, or one we do not know
]


@dataclass(frozen=True, slots=True)
class Parsed:
    """An answer that passed every check. Both fields are JSON text."""

    document: str
    extra: str | None


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer that did not, with a reason of the task's closed list. `detail` quotes no document."""

    reason: str
    detail: str | None = None


class Task(Protocol):
    """One question asked of every document of a migration."""

    @property
    def prompt(self) -> str:
        """The system prompt."""

    @property
    def redacted_prompt(self) -> str:
        """The system prompt for texts in which placeholders stand for what names a person."""

    @property
    def document_column(self) -> str:
        """The column of the parsed table that holds `Parsed.document`."""

    @property
    def schema_version(self) -> str: ...

    @property
    def parser_version(self) -> str: ...

    def parse(self, text: str, stop: Stop) -> Parsed | Failure:
        """Read an answer. Never raises for any text."""

    def unrestored(self, *, made_up: bool) -> Failure:
        """An answer whose placeholders cannot be put back: the model `made_up` one that its text does not hold,
        or the table of that text is lost."""

    def is_of_the_model(self, reason: str) -> bool:
        """Whether this failure says something about the model that answered, so that another one may do better;
        the others say something about the document."""
