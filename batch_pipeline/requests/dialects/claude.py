"""Claude's own body: alike on Bedrock, on Vertex and at Anthropic but for the version field.

Sources: contracts/bedrock.md section 5, contracts/providers.md sections 2.1 and 2.4. Anthropic's own API of
version 2026-10-21, which its SDK speaks from 2.0 on, refuses a temperature in every request, even the default.
"""

from collections.abc import Sequence
from typing import Any, Final

from batch_pipeline.requests.dialects.base import VISION_TEXT, Ask, Dialect, sampling
from batch_pipeline.requests.file_blocks import FileBlock
from batch_pipeline.requests.forbidden import check_model_input


class Claude(Dialect):
    """`version` is `anthropic_version`; Anthropic's own API takes it as a header, which its SDK sends."""

    def __init__(self, name: str, version: str | None) -> None:
        self.name = name
        self._version = version

    def text(self, ask: Ask, user_text: Any) -> dict[str, Any]:
        return self._body(ask, [{"type": "text", "text": user_text}])

    def vision(self, ask: Ask, files: Sequence[FileBlock]) -> dict[str, Any]:
        return self._body(ask, [*map(_block, files), {"type": "text", "text": VISION_TEXT}])

    def _body(self, ask: Ask, content: list[dict[str, Any]]) -> dict[str, Any]:
        version = {"anthropic_version": self._version} if self._version else {}
        return {
            **version,
            "max_tokens": ask.max_tokens,
            **(sampling(ask) if self._version else {}),
            "system": [_cached(ask.prompt)] if ask.cache_prompt else ask.prompt,
            "messages": [{"role": "user", "content": content}],
        }


class BedrockClaude(Claude):
    """InvokeModel's, which refuses in every record what it does not know."""

    def __init__(self) -> None:
        super().__init__("InvokeModel", "bedrock-2023-05-31")

    def check(self, body: dict[str, Any]) -> None:
        check_model_input(body, "InvokeModel")


def _cached(prompt: str) -> dict[str, Any]:
    """For an hour: a batch may well take longer than the usual five minutes."""
    return {"type": "text", "text": prompt, "cache_control": {"type": "ephemeral", "ttl": "1h"}}


def _block(file: FileBlock) -> dict[str, Any]:
    source = {"type": "base64", "media_type": file.media_type, "data": file.base64}
    return {"type": "image" if file.is_image else "document", "source": source}


BEDROCK: Final = BedrockClaude()
ANTHROPIC: Final = Claude("messages", None)
VERTEX: Final = Claude("raw_predict", "vertex-2023-10-16")
