"""Bedrock's Converse: one body for every family but Claude (contracts/bedrock.md section 2)."""

import base64
from collections.abc import Sequence
from typing import Any, Final

from batch_pipeline.requests.dialects.base import VISION_TEXT, Ask, Dialect, sampling
from batch_pipeline.requests.file_blocks import FileBlock
from batch_pipeline.requests.forbidden import check_model_input

# Letters, digits, blanks, hyphens, parentheses and brackets only, and never the file's own name:
# that would be personal data in a place nobody looks.
DOCUMENT_NAME: Final = "document"


class Converse(Dialect):
    name = "Converse"

    def text(self, ask: Ask, user_text: Any) -> dict[str, Any]:
        return self._body(ask, [{"text": user_text}])

    def vision(self, ask: Ask, files: Sequence[FileBlock]) -> dict[str, Any]:
        documents = 0
        content: list[dict[str, Any]] = []
        for file in files:
            documents += not file.is_image
            content.append(_block(file, documents))
        return self._body(ask, [*content, {"text": VISION_TEXT}])

    def _body(self, ask: Ask, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "system": [{"text": ask.prompt}],
            "messages": [{"role": "user", "content": content}],
            "inferenceConfig": {"maxTokens": ask.max_tokens, **sampling(ask)},
        }

    def check(self, body: dict[str, Any]) -> None:
        check_model_input(body, "Converse")

    def for_sdk(self, body: dict[str, Any]) -> dict[str, Any]:
        """JSON lines hold file bytes as base64; boto3 takes the bytes themselves and encodes them, so the
        text would be encoded twice and the model shown nothing. The argument is not changed."""
        messages = [
            message | {"content": [_with_bytes(block) for block in message["content"]]}
            for message in body["messages"]
        ]
        return body | {"messages": messages}


def _with_bytes(block: dict[str, Any]) -> dict[str, Any]:
    for kind in ("image", "document"):
        if kind in block:
            data = base64.b64decode(block[kind]["source"]["bytes"], validate=True)
            return block | {kind: block[kind] | {"source": {"bytes": data}}}
    return block


def _block(file: FileBlock, number: int) -> dict[str, Any]:
    block = {"format": file.media_type.rpartition("/")[2], "source": {"bytes": file.base64}}
    if file.is_image:
        return {"image": block}
    return {"document": {"name": f"{DOCUMENT_NAME} {number}"} | block}


CONVERSE: Final = Converse()
