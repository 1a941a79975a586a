"""What a body dialect must do: say one prompt and one document as one provider's API takes them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from batch_pipeline.requests.file_blocks import FileBlock

VISION_TEXT: Final = "The document follows as a file."


@dataclass(frozen=True)
class Ask:
    """What is asked about every document."""

    prompt: str
    max_tokens: int
    temperature: Literal[0] | None = 0
    cache_prompt: bool = False


class Dialect(ABC):
    """The shape of a body. It names no model: the job, the URL or the adapter does."""

    name: str
    """What the ledger and the provider's adapter call it."""

    @abstractmethod
    def text(self, ask: Ask, user_text: Any) -> dict[str, Any]:
        """The body of a document that has text, with `user_text` in exactly one place, as it is.

        `jsonl.py` passes a placeholder here to learn the shape it then fills by columns.
        """

    @abstractmethod
    def vision(self, ask: Ask, files: Sequence[FileBlock]) -> dict[str, Any]:
        """The body of a document that is shown: page images, or the PDF itself."""

    def check(self, body: dict[str, Any]) -> None:  # noqa: B027 - most APIs answer a wrong body at once
        """Raises PreflightError where every record would be refused; checked once per builder."""

    def for_sdk(self, body: dict[str, Any]) -> dict[str, Any]:
        """The same body as the provider's `answer` takes it."""
        return body


def sampling(ask: Ask) -> dict[str, Any]:
    """Nothing at all where a model refuses to be told."""
    return {} if ask.temperature is None else {"temperature": ask.temperature}
