"""What the families answer with (contracts/bedrock.md section 5), as one typed structure.

Names are the providers' own. Converse writes every unset member as an explicit null, so everything
is optional.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from batch_pipeline.tasks.base import Stop

_STOPS: Final[Mapping[str, Stop]] = {
    "end_turn": "end",
    "stop": "end",
    "stop_sequence": "end",
    "eos": "end",
    "max_tokens": "truncated",
    "length": "truncated",
    "model_length": "truncated",
    "model_context_window_exceeded": "truncated",
    "pause_turn": "truncated",
    "tool_use": "tool_use",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "refusal": "refused",
    "content_filtered": "filtered",
    "content_filter": "filtered",
    "guardrail_intervened": "filtered",
    "malformed_model_output": "malformed",
    "malformed_tool_use": "malformed",
    # Gemini's
    "STOP": "end",
    "MAX_TOKENS": "truncated",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "LANGUAGE": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "IMAGE_SAFETY": "filtered",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "MALFORMED_RESPONSE": "malformed",
}
# What a model thought before it answered, where it stands in the text itself (gpt-oss, Qwen, DeepSeek).
_THOUGHT: Final = re.compile(r"\s*<(reasoning|think)>.*?</\1>", re.DOTALL)
_UNENDED_THOUGHT: Final = re.compile(r"\s*<(?:reasoning|think)>")

_INPUT: Final = ("input_tokens", "inputTokens", "prompt_tokens")
# Counted beside the input tokens (Claude, Converse); OpenAI counts what it read from a cache among them.
_READ: Final = ("cache_read_input_tokens", "cacheReadInputTokens")
_WRITTEN: Final = ("cache_creation_input_tokens", "cacheWriteInputTokens")
_DETAILS: Final = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT: Final = ("output_tokens", "outputTokens", "completion_tokens")


# msgspec keeps raw JSON only where nothing else is allowed, so an unset one is empty or the text null.
_UNSET: Final = (b"", b"null")


class ToolUse(msgspec.Struct):
    input: msgspec.Raw = msgspec.Raw()


class Block(msgspec.Struct):
    """A content block of Claude, Converse or an OpenAI message; thinking and reasoning have other
    keys and are passed over."""

    type: str | None = None
    text: str | None = None
    input: msgspec.Raw = msgspec.Raw()
    toolUse: ToolUse | None = None  # noqa: N815


class Function(msgspec.Struct):
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    function: Function | None = None


class Message(msgspec.Struct):
    content: str | list[Block] | None = None
    tool_calls: list[ToolCall] | None = None
    refusal: str | None = None


class Choice(msgspec.Struct):
    message: Message | None = None
    text: str | None = None
    finish_reason: str | None = None
    stop_reason: Any = None


class Said(msgspec.Struct):
    text: str | None = None
    stop_reason: str | None = None


class Turn(msgspec.Struct):
    message: Message | None = None


class Part(msgspec.Struct):
    """A part of a Gemini answer; `thought` marks a summary of what it thought before."""

    text: str | None = None
    thought: bool | None = None


class Content(msgspec.Struct):
    parts: list[Part] | None = None


class Candidate(msgspec.Struct):
    content: Content | None = None
    finishReason: str | None = None  # noqa: N815


class PromptFeedback(msgspec.Struct):
    blockReason: str | None = None  # noqa: N815


class Output(msgspec.Struct):
    """`modelOutput` of any family; exactly one of the first six is there, or a prompt that was blocked."""

    content: list[Block] | None = None  # Claude
    output: Turn | None = None  # Converse, Nova
    generation: str | None = None  # Llama
    choices: list[Choice] | None = None  # Mistral chat, DeepSeek R1, OpenAI chat
    outputs: list[Said] | None = None  # Mistral text
    candidates: list[Candidate] | None = None  # Gemini
    promptFeedback: PromptFeedback | None = None  # noqa: N815  Gemini, in place of candidates
    usageMetadata: dict[str, Any] | None = None  # noqa: N815  Gemini
    stop_reason: str | None = None
    stopReason: str | None = None  # noqa: N815
    usage: dict[str, Any] | None = None
    prompt_token_count: Any = None
    generation_token_count: Any = None
    errorCode: Any = None  # noqa: N815  an error put where the answer belongs
    errorMessage: Any = None  # noqa: N815
    expired: Any = None
    retryable: Any = None

    @property
    def is_error(self) -> bool:
        return self.errorCode is not None or self.errorMessage is not None

    def spoken(self) -> tuple[str, Stop] | None:
        """The text and why it stopped, or None where no family answers like this."""
        if not self.candidates and self.promptFeedback and self.promptFeedback.blockReason:
            return "", "filtered"
        shapes = (self.content, self.output, self.generation, self.choices, self.outputs, self.candidates)
        return self._only_shape() if shapes.count(None) == len(shapes) - 1 else None

    def _only_shape(self) -> tuple[str, Stop] | None:
        if self.content is not None:
            return _without_thought(_text(self.content), self.stop_reason)
        if self.output is not None:
            return _message(self.output.message, self.stopReason)
        if self.generation is not None:
            return _without_thought(self.generation, self.stop_reason)
        if self.choices is not None:
            return _choice(self.choices)
        return _candidate(self.candidates) if self.candidates is not None else _said(self.outputs)

    def tokens(self) -> tuple[int | None, int | None]:
        """Input (cached tokens included) and output tokens, each None where nothing was counted."""
        if self.usageMetadata is not None:
            return _gemini_tokens(self.usageMetadata)
        if self.usage is None:
            return _count(self.prompt_token_count), _count(self.generation_token_count)
        used_in = _first(self.usage, _INPUT)
        if used_in is not None:
            used_in += sum(_first(self.usage, names) or 0 for names in (_READ, _WRITTEN))
        return used_in, _first(self.usage, _OUTPUT)

    def cached(self) -> tuple[int, int]:
        """Of the input tokens: read from a prompt cache, and written to one."""
        if self.usageMetadata is not None:
            return _count(self.usageMetadata.get("cachedContentTokenCount")) or 0, 0
        usage = self.usage or {}
        read = _first(usage, _READ)
        if read is None:
            given: list[dict[str, Any]] = [d for d in map(usage.get, _DETAILS) if isinstance(d, dict)]
            read = _first(given[0], ("cached_tokens",)) if given else 0
        return read or 0, _first(usage, _WRITTEN) or 0


def stop_of(given: object) -> Stop:
    return _STOPS.get(given, "unknown") if isinstance(given, str) else "unknown"


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := _count(usage.get(name))) is not None), None)


def _message(message: Message | None, stop: object) -> tuple[str, Stop] | None:
    if message is None:
        return None
    if message.tool_calls:
        calls = [call.function.arguments for call in message.tool_calls if call.function]
        return "\n".join(call or "" for call in calls), stop_of(stop)
    if message.refusal and not message.content:
        return message.refusal, "refused"
    content = message.content if message.content is not None else ""
    return _without_thought(content if isinstance(content, str) else _text(content), stop)


def _choice(choices: list[Choice]) -> tuple[str, Stop] | None:
    if len(choices) != 1:
        return None
    choice = choices[0]
    stop = choice.finish_reason if choice.finish_reason is not None else choice.stop_reason
    if choice.message is not None:
        return _message(choice.message, stop)
    return None if choice.text is None else _without_thought(choice.text, stop)


def _candidate(candidates: list[Candidate]) -> tuple[str, Stop] | None:
    """An answer that was cut off or withheld may have no content at all."""
    if len(candidates) != 1:
        return None
    (one,) = candidates
    parts = (one.content.parts if one.content else None) or []
    return "".join(part.text or "" for part in parts if not part.thought), stop_of(one.finishReason)


def _gemini_tokens(usage: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Cached tokens are within the prompt's, thoughts are not within the candidates' and are paid as output.
    A counter of zero is left out: what the total leaves is none."""
    used_in = _count(usage.get("promptTokenCount"))
    said = [_count(usage.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    if any(one is not None for one in said):
        return used_in, sum(one or 0 for one in said)
    nothing_more = used_in is not None and used_in == _count(usage.get("totalTokenCount"))
    return used_in, 0 if nothing_more else None


def _said(outputs: list[Said] | None) -> tuple[str, Stop] | None:
    if not outputs or len(outputs) != 1 or outputs[0].text is None:
        return None
    return _without_thought(outputs[0].text, outputs[0].stop_reason)


def _text(content: list[Block]) -> str:
    """A tool's input where there is one (what is said beside it is talk), else all text blocks."""
    if len(content) == 1 and content[0].text is not None:
        return content[0].text
    tools = [raw.decode() for block in content if (raw := _tool_input(block)) not in _UNSET]
    if tools:
        return "\n".join(tools)
    return "".join(block.text or "" for block in content)


def _tool_input(block: Block) -> bytes:
    if block.toolUse is not None:
        return bytes(block.toolUse.input)
    return bytes(block.input) if block.type == "tool_use" else b""


def _without_thought(text: str, stop: object) -> tuple[str, Stop]:
    """An answer that ended inside its own thinking said nothing."""
    if "<" not in text[:64]:
        return text, stop_of(stop)
    rest = _THOUGHT.sub("", text, count=1) if _THOUGHT.match(text) else text
    return ("" if _UNENDED_THOUGHT.match(rest) else rest), stop_of(stop)
