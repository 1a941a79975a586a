"""A document and a prompt -> the body a model takes, on either route, in its provider's dialect.

Bodies hold no model id, no tools and, but for Anthropic's own API where a migration asks for it, no cache
points: on Bedrock each of them fails every record of a batch job while the job itself ends as Completed
(contracts/bedrock.md sections 2 and 4, F21, F25).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.provider_settings import Kind
from batch_pipeline.requests.dialects.base import Ask, Dialect
from batch_pipeline.requests.dialects.table import dialect_of
from batch_pipeline.requests.digests import prompt_hash
from batch_pipeline.requests.families import cap_of, check_caps
from batch_pipeline.requests.file_blocks import FileBlock, check_limits
from batch_pipeline.requests.record_ids import check_record_id

OPEN: Final = "<document>\n"
CLOSE: Final = "\n</document>"
# Where a text could end the document early and speak as us. The same pattern runs in Python and in
# polars, so it names its blanks instead of using \s, which the two engines read differently.
TAG: Final = r"<([ \t\r\n\x0c]*/?[ \t\r\n\x0c]*[dD][oO][cC][uU][mM][eE][nN][tT])"
NEUTRAL: Final = "&lt;"
_TAG: Final = re.compile(TAG)


def framed(text: str) -> str:
    """The text between document tags, with any such tag inside it made harmless."""
    return OPEN + _TAG.sub(rf"{NEUTRAL}\1", text) + CLOSE


@dataclass(frozen=True)
class RequestBuilder:
    """Builds `modelInput` for one model and one prompt.

    Raises ConfigurationError on construction where the model is unknown or would refuse every
    record: nothing is written and nothing is sent.
    """

    model: str
    prompt: str
    max_tokens: int
    temperature: Literal[0] | None = 0
    kind: Kind = "bedrock"
    cache_prompt: bool = False

    def __post_init__(self) -> None:
        dialect = self.dialect
        if self.temperature not in (None, 0):
            raise ConfigurationError("provider.temperature", self.temperature, "give 0 or leave it out")
        if not self.prompt.strip():
            raise ConfigurationError("task.prompt", "", "a request needs a prompt")
        check_caps(self.model, self.max_tokens, self.temperature)
        dialect.check(self.text(""))

    @classmethod
    def for_model(
        cls, model: str, prompt: str, max_tokens: int, kind: Kind = "bedrock", *, cache_prompt: bool = False
    ) -> "RequestBuilder":
        """Temperature 0 wherever the model takes one at all."""
        cap = cap_of(model)
        temperature: Literal[0] | None = None if cap and not cap.takes_temperature else 0
        return cls(model, prompt, max_tokens, temperature, kind, cache_prompt)

    @cached_property
    def dialect(self) -> Dialect:
        return dialect_of(self.kind, self.model)

    @property
    def prompt_version(self) -> str:
        return prompt_hash(self.prompt)

    def text(self, text: str) -> dict[str, Any]:
        """`modelInput` for a document that has text."""
        return self.around(framed(text))

    def around(self, user_text: Any) -> dict[str, Any]:
        """`modelInput` with `user_text` at the place of the one text, as it is."""
        return self.dialect.text(self._ask, user_text)

    def vision(self, files: Sequence[FileBlock]) -> dict[str, Any]:
        """`modelInput` for a document that is shown: page images, or the PDF itself.

        Raises TerminalError, with counts only, where a limit of one message is passed.
        """
        check_limits(files)
        return self.dialect.vision(self._ask, files)

    def line(self, record_id: str, model_input: dict[str, Any]) -> dict[str, Any]:
        """One request as a JSON line holds it."""
        return {"recordId": check_record_id(record_id), "modelInput": model_input}

    @property
    def _ask(self) -> Ask:
        return Ask(self.prompt, self.max_tokens, self.temperature, self.cache_prompt)
