"""EngineAnswer -> the output body of a model family (contract section 5)."""

import hashlib
import json
import random
from typing import Any, Final

from batch_pipeline.local.emulator.body_rules import Context
from batch_pipeline.local.emulator.converse_checks import CONVERSE_BLOCKS
from batch_pipeline.local.emulator.engines.contract import EngineAnswer, PromptRequest

_CONVERSE_STOP: Final = {"refusal": "end_turn"}
_CLAUDE_STOP: Final = {"content_filtered": "refusal"}
_LLAMA_STOP: Final = {"max_tokens": "length"}
_CHAT_STOP: Final = {"max_tokens": "length", "tool_use": "tool_calls", "content_filtered": "content_filter"}


def wrap(  # noqa: PLR0911 -- one return a family
    answer: EngineAnswer, request: PromptRequest, body: dict[str, Any], context: Context, *, nulls: bool
) -> dict[str, Any]:
    """The body a model of this family answers. `nulls` writes Converse's unset union members out."""
    if context.invocation_type == "Converse":
        return _converse(answer, request, nulls=nulls)
    match context.model.family:
        case "claude":
            return _claude(answer, request, context)
        case "nova":
            return _nova(answer, request)
        case "llama":
            return {
                "generation": answer.text,
                "prompt_token_count": answer.input_tokens,
                "generation_token_count": answer.output_tokens,
                "stop_reason": _LLAMA_STOP.get(answer.stop_reason, "stop"),
            }
        case "mistral" if "prompt" in body:
            return {"outputs": [{"text": answer.text, "stop_reason": _chat_stop(answer)}]}
        case "deepseek_r1":
            return {"choices": [{"text": answer.text, "stop_reason": _chat_stop(answer)}]}
        case "titan_embed":
            return _titan(request, body)
        case _:
            return _chat(answer, request, context)


def _content_id(prefix: str, answer: EngineAnswer) -> str:
    return prefix + hashlib.sha256(answer.text.encode()).hexdigest()[:24]


def _tool_input(answer: EngineAnswer) -> Any:
    try:
        return json.loads(answer.text)
    except ValueError:
        return {"text": answer.text}


def _claude(answer: EngineAnswer, request: PromptRequest, context: Context) -> dict[str, Any]:
    stop = _CLAUDE_STOP.get(answer.stop_reason, answer.stop_reason)
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    if request.forced_tool and stop == "end_turn":
        stop = "tool_use"
        call = {"type": "tool_use", "id": _content_id("toolu_bdrk_", answer), "name": request.forced_tool}
        content = [call | {"input": _tool_input(answer)}]
    return {
        "id": _content_id("msg_bdrk_", answer),
        "type": "message",
        "role": "assistant",
        "model": context.model.base.removeprefix("anthropic."),
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": answer.output_tokens,
        },
    }


def _union_content(answer: EngineAnswer, request: PromptRequest) -> tuple[list[dict[str, Any]], str]:
    stop = _CONVERSE_STOP.get(answer.stop_reason, answer.stop_reason)
    if request.forced_tool and stop == "end_turn":
        use = {"toolUseId": _content_id("tooluse_", answer), "name": request.forced_tool}
        return [{"toolUse": use | {"input": _tool_input(answer)}}], "tool_use"
    return ([{"text": answer.text}] if answer.text else []), stop


def _nova(answer: EngineAnswer, request: PromptRequest) -> dict[str, Any]:
    content, stop = _union_content(answer, request)
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop,
        "usage": {
            "inputTokens": answer.input_tokens,
            "outputTokens": answer.output_tokens,
            "totalTokens": answer.input_tokens + answer.output_tokens,
        },
    }


def _converse(answer: EngineAnswer, request: PromptRequest, *, nulls: bool) -> dict[str, Any]:
    content, stop = _union_content(answer, request)
    if nulls:
        content = [{member: block.get(member) for member in CONVERSE_BLOCKS} for block in content]
    body: dict[str, Any] = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop,
        "usage": {
            "inputTokens": answer.input_tokens,
            "outputTokens": answer.output_tokens,
            "totalTokens": answer.input_tokens + answer.output_tokens,
            "cacheReadInputTokens": 0,
            "cacheWriteInputTokens": 0,
        },
        "metrics": {"latencyMs": 200 + answer.output_tokens},
    }
    if nulls:
        body |= {"additionalModelResponseFields": None, "trace": None, "performanceConfig": None}
    return body


def _chat_stop(answer: EngineAnswer) -> str:
    return _CHAT_STOP.get(answer.stop_reason, "stop")


def _chat(answer: EngineAnswer, request: PromptRequest, context: Context) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    finish = _chat_stop(answer)
    if request.forced_tool and finish == "stop":
        finish = "tool_calls"
        call = {"name": request.forced_tool, "arguments": answer.text}
        message |= {
            "content": None,
            "tool_calls": [{"id": _content_id("call_", answer), "type": "function", "function": call}],
        }
    return {
        "id": _content_id("chatcmpl-", answer),
        "object": "chat.completion",
        "model": context.model.base,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
        },
    }


def _titan(request: PromptRequest, body: dict[str, Any]) -> dict[str, Any]:
    """A unit-length vector that depends on the text alone."""
    draw = random.Random(hashlib.sha256(request.text.encode()).digest())  # noqa: S311 -- not a secret
    vector = [draw.gauss(0, 1) for _ in range(body.get("dimensions", 1024))]
    length = sum(value * value for value in vector) ** 0.5
    return {
        "embedding": [value / length for value in vector],
        "inputTextTokenCount": len(request.text.encode()) // 4 + 1,
    }
