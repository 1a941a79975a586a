"""Requests and results of Vercel's AI Gateway batch (contracts/providers.md section 2.5), both ways.

A result's shape is that of the AI SDK: `{content, finishReason, usage}`. It goes on in Claude's, which our
reader knows; what a model thought before it answered is left out.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from batch_pipeline.providers.sdk_errors import refusal_in
from batch_pipeline.providers.wire_lines import Request, answer_line, error_line
from batch_pipeline.surrogates import decoded

# Records that were never begun: they are owed again, so they have no line.
_NEVER_BEGUN: Final = frozenset({"cancelled", "expired"})
_STATUS_OF: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "forbidden": 403,
    "not_found": 404,
    "model_not_found": 404,
    "failed_dependency": 424,
    "rate_limit_exceeded": 429,
    "internal_server_error": 500,
}


class _Part(msgspec.Struct):
    type: str
    text: str | None = None


class _Answer(msgspec.Struct):
    content: list[_Part]
    finishReason: Any = None  # noqa: N815 - the gateway's own names
    usage: Any = None


class _Line(msgspec.Struct):
    id: str
    status: str
    result: _Answer | None = None
    error: Any = None


_LINE: Final = msgspec.json.Decoder(_Line)


def start_body(requests: Iterable[Request], model: str) -> Iterator[bytes]:
    """The body of `start`, piece by piece: the same bytes for the same requests."""
    yield b'{"requests":['
    middle = b'","type":"text","modelId":' + msgspec.json.encode(model) + b',"options":'
    for number, request in enumerate(requests):
        comma = b"," if number else b""
        yield comma + b'{"id":"' + request.record_id.encode() + middle + request.body.strip() + b"}"
    yield b"]}"


def our_line(line: bytes) -> bytes | None:
    """A result line as ours; what is no result goes on as it is and is counted as corrupt."""
    try:
        return _made(decoded(_LINE, line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line


def _made(read: _Line) -> bytes | None:
    if read.status in _NEVER_BEGUN:
        return None
    if read.status == "succeeded" and read.result is not None:
        return answer_line(read.id, msgspec.json.encode(_output(read.result)))
    error = read.error if isinstance(read.error, dict) else {}
    status = error.get("statusCode")
    refusal = refusal_in(status if isinstance(status, int) else 0, error)
    if refusal.is_about_credit:
        return error_line(read.id, 402, refusal.words)
    code: int | str = refusal.status or _STATUS_OF.get(str(error.get("type")), refusal.code or read.status)
    return error_line(read.id, code, f"{refusal.code} {refusal.message}".strip() or read.status[:40])


def _output(answer: _Answer) -> dict[str, Any]:
    reason = answer.finishReason
    if isinstance(reason, dict):
        reason = reason.get("unified")
    return {
        "content": [{"type": "text", "text": part.text} for part in answer.content if part.type == "text"],
        "stop_reason": str(reason).replace("-", "_"),
        "usage": _usage(answer.usage),
    }


def _usage(usage: Any) -> dict[str, int]:
    """A count that is not given is left out: unknown is not zero."""
    used_in, used_out = _counts(usage, "inputTokens"), _counts(usage, "outputTokens")
    read, written = used_in.get("cacheRead", 0), used_in.get("cacheWrite", 0)
    counted = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    if "total" in used_in:
        counted["input_tokens"] = used_in["total"] - read - written
    if "total" in used_out:
        counted["output_tokens"] = used_out["total"]
    return counted


def _counts(usage: Any, side: str) -> dict[str, int]:
    given = usage.get(side) if isinstance(usage, dict) else None
    if isinstance(given, dict):
        return {name: count for name, count in given.items() if isinstance(count, int)}
    return {"total": given} if isinstance(given, int) else {}
