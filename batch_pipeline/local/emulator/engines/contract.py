"""What an engine is asked and what it answers, free of any model family's wire format."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from batch_pipeline.local.emulator.aws_errors import RETRYABLE

StopReason = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal", "content_filtered"]


@dataclass(frozen=True)
class Attachment:
    """An image or document of a prompt. `content` is None where it was only named by an S3 URI."""

    kind: Literal["image", "document"]
    format: str  # "pdf", "png", "txt", ...
    content: bytes | None


@dataclass(frozen=True)
class PromptRequest:
    """One request, whatever envelope it came in. `text` holds the user's text blocks, newline-joined."""

    model_id: str
    system: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    schema: dict[str, Any] | None = None
    forced_tool: str | None = None


@dataclass(frozen=True)
class EngineAnswer:
    """What a model would have said. Token counts are what the meter charges."""

    text: str
    stop_reason: StopReason
    input_tokens: int
    output_tokens: int


class EngineError(Exception):
    """The engine cannot answer this request: becomes the record's error, or the call's on demand."""

    def __init__(self, code: Literal[400, 408, 424, 429, 500, 503], message: str) -> None:
        self.code = code
        self.message = message
        self.retryable = code in RETRYABLE
        super().__init__(f"{code}: {message}")


class Engine(Protocol):
    """Answers requests; called from several threads when `concurrency` is above 1."""

    concurrency: int

    def answer(self, request: PromptRequest) -> EngineAnswer:
        """Answer, or raise EngineError."""
        ...


def estimate_tokens(text: str) -> int:
    """About four bytes of UTF-8 a token, which is fair for mixed languages."""
    return len(text.encode()) // 4 + 1


IMAGE_TOKENS = 1_600
"""What an image or a page without text layer counts, near the vendors' rule for a full-size image."""


def prompt_tokens(request: PromptRequest) -> int:
    """Input tokens of a request; documents count by size, images by the piece."""
    tokens = estimate_tokens(request.system) + estimate_tokens(request.text)
    for attachment in request.attachments:
        if attachment.kind == "image" or attachment.content is None:
            tokens += IMAGE_TOKENS
        else:
            tokens += max(IMAGE_TOKENS, len(attachment.content) // 40)
    return tokens
