"""A document and a prompt -> the body a model takes, on either route.

Bodies hold no model id, no tools and no cache points: each of them fails every record of a batch
job while the job itself ends as Completed (contracts/bedrock.md sections 2 and 4, F21, F25).
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from batch_pipeline.errors import ConfigurationError, TerminalError
from batch_pipeline.requests.digests import prompt_hash
from batch_pipeline.requests.families import cap_of, check_caps, family_of, invocation_type
from batch_pipeline.requests.forbidden import check_model_input
from batch_pipeline.requests.record_ids import check_record_id

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]

OPEN: Final = "<document>\n"
CLOSE: Final = "\n</document>"
# Where a text could end the document early and speak as us. The same pattern runs in Python and in
# polars, so it names its blanks instead of using \s, which the two engines read differently.
TAG: Final = r"<([ \t\r\n\x0c]*/?[ \t\r\n\x0c]*[dD][oO][cC][uU][mM][eE][nN][tT])"
NEUTRAL: Final = "&lt;"
_TAG: Final = re.compile(TAG)

VISION_TEXT: Final = "The document follows as a file."

# Converse limits of one message (contracts/bedrock.md section 2); Claude's own are not lower.
MAX_IMAGES: Final = 20
MAX_IMAGE_BYTES: Final = 3_750_000
MAX_DOCUMENTS: Final = 5
MAX_DOCUMENT_BYTES: Final = 4_500_000
# Letters, digits, blanks, hyphens, parentheses and brackets only, and never the file's own name:
# that would be personal data in a place nobody looks.
DOCUMENT_NAME: Final = "document"


@dataclass(frozen=True)
class FileBlock:
    """One image or PDF as it goes into a message."""

    media_type: MediaType
    data: bytes

    @property
    def is_image(self) -> bool:
        return self.media_type != "application/pdf"


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

    def __post_init__(self) -> None:
        family = family_of(self.model)
        if self.temperature not in (None, 0):
            raise ConfigurationError("provider.temperature", self.temperature, "give 0 or leave it out")
        if not self.prompt.strip():
            raise ConfigurationError("task.prompt", "", "a request needs a prompt")
        check_caps(self.model, self.max_tokens, self.temperature)
        check_model_input(self.text(""), invocation_type(family))

    @classmethod
    def for_model(cls, model: str, prompt: str, max_tokens: int) -> "RequestBuilder":
        """Temperature 0 wherever the model takes one at all."""
        cap = cap_of(model)
        return cls(model, prompt, max_tokens, None if cap and not cap.takes_temperature else 0)

    @property
    def native(self) -> bool:
        """Whether the body is the model's own (InvokeModel), not Converse."""
        return invocation_type(family_of(self.model)) == "InvokeModel"

    @property
    def prompt_version(self) -> str:
        return prompt_hash(self.prompt)

    def text(self, text: str) -> dict[str, Any]:
        """`modelInput` for a document that has text."""
        return self.around(framed(text))

    def around(self, user_text: Any) -> dict[str, Any]:
        """`modelInput` with `user_text` at the place of the one text block, as it is.

        `jsonl.py` passes a placeholder here to learn the shape it then fills by columns.
        """
        block = {"type": "text", "text": user_text} if self.native else {"text": user_text}
        return self._body([block])

    def vision(self, files: Sequence[FileBlock]) -> dict[str, Any]:
        """`modelInput` for a document that is shown: page images, or the PDF itself.

        Raises TerminalError, with counts only, where a limit of one message is passed.
        """
        _check_limits(files)
        if self.native:
            blocks = [_claude_block(file) for file in files]
            return self._body([*blocks, {"type": "text", "text": VISION_TEXT}])
        documents = 0
        content: list[dict[str, Any]] = []
        for file in files:
            documents += not file.is_image
            content.append(_converse_block(file, documents))
        return self._body([*content, {"text": VISION_TEXT}])

    def line(self, record_id: str, model_input: dict[str, Any]) -> dict[str, Any]:
        """One request as a JSON line holds it."""
        return {"recordId": check_record_id(record_id), "modelInput": model_input}

    def _body(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        messages = [{"role": "user", "content": content}]
        if self.native:
            body: dict[str, Any] = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": self.max_tokens}
            if self.temperature is not None:
                body["temperature"] = self.temperature
            return body | {"system": self.prompt, "messages": messages}
        config: dict[str, Any] = {"maxTokens": self.max_tokens}
        if self.temperature is not None:
            config["temperature"] = self.temperature
        return {"system": [{"text": self.prompt}], "messages": messages, "inferenceConfig": config}


def converse_call(model_input: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of an on-demand Converse call through an SDK for this body.

    JSON lines hold file bytes as base64; an SDK takes the bytes themselves and encodes them, so the
    text would be encoded twice and the model shown nothing. The argument is not changed.
    """
    messages = [
        message | {"content": [_with_bytes(block) for block in message["content"]]}
        for message in model_input["messages"]
    ]
    return model_input | {"messages": messages}


def _with_bytes(block: dict[str, Any]) -> dict[str, Any]:
    for kind in ("image", "document"):
        if kind in block:
            data = base64.b64decode(block[kind]["source"]["bytes"], validate=True)
            return block | {kind: block[kind] | {"source": {"bytes": data}}}
    return block


def _claude_block(file: FileBlock) -> dict[str, Any]:
    source = {
        "type": "base64",
        "media_type": file.media_type,
        "data": base64.b64encode(file.data).decode("ascii"),
    }
    return {"type": "image" if file.is_image else "document", "source": source}


def _converse_block(file: FileBlock, number: int) -> dict[str, Any]:
    kind = file.media_type.rpartition("/")[2]
    block = {"format": kind, "source": {"bytes": base64.b64encode(file.data).decode("ascii")}}
    if file.is_image:
        return {"image": block}
    return {"document": {"name": f"{DOCUMENT_NAME} {number}"} | block}


def _check_limits(files: Sequence[FileBlock]) -> None:
    images = [len(file.data) for file in files if file.is_image]
    documents = [len(file.data) for file in files if not file.is_image]
    if not files or not all(images) or not all(documents):
        raise TerminalError("a vision request needs at least one file, and no empty one")
    for kind, sizes, count, size in (
        ("images", images, MAX_IMAGES, MAX_IMAGE_BYTES),
        ("documents", documents, MAX_DOCUMENTS, MAX_DOCUMENT_BYTES),
    ):
        if len(sizes) > count:
            raise TerminalError(f"{len(sizes)} {kind} in one request; at most {count}")
        if sizes and max(sizes) > size:
            raise TerminalError(f"one of the {kind} has {max(sizes)} bytes; at most {size}")
