"""Lines of OpenAI's batch files, both ways (contracts/providers.md section 2.2).

A result is `{id, custom_id, response: {status_code, request_id, body} | null, error: {code, message} | null}`.
A status of 4xx with no error is a failure all the same; OGX writes the body as a JSON string, and an error with a type and no code.
"""

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any, Final

import msgspec

from batch_pipeline.providers.sdk_errors import refusal_in
from batch_pipeline.providers.wire_lines import Request, answer_line, error_line, with_first
from batch_pipeline.surrogates import decoded

ENDPOINT: Final = "/v1/chat/completions"
# Records the provider never began: they are owed again, so they have no line.
_NEVER_BEGUN: Final = frozenset({"batch_expired", "batch_cancelled"})
_STATUS_OF: Final = {"request_timeout": 408}


class _Response(msgspec.Struct):
    status_code: int = 200
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Error(msgspec.Struct):
    code: str | None = None
    type: str | None = None
    message: str | None = None


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


_LINE: Final = msgspec.json.Decoder(_Line)
_HEAD: Final = f'","method":"POST","url":"{ENDPOINT}","body":'.encode()


def request_lines(requests: Iterable[Request], model: str) -> Iterator[bytes]:
    """Our requests as OpenAI's; a record id is of letters, digits, `_` and `-` alone."""
    for request in requests:
        body = with_first(request.body, "model", model)
        yield b'{"custom_id":"' + request.record_id.encode() + _HEAD + body + b"}\n"


def our_line(line: bytes) -> bytes | None:
    """A result line as ours; what is no result goes on as it is and is counted as corrupt."""
    try:
        return _made(decoded(_LINE, line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line


def _made(read: _Line) -> bytes | None:
    if read.error is not None and read.error.code in _NEVER_BEGUN:
        return None
    response = read.response
    if response is not None and response.status_code < HTTPStatus.MULTIPLE_CHOICES and read.error is None:
        return answer_line(read.custom_id, _object(bytes(response.body)))
    if response is not None and response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
        return _refused(read.custom_id, response.status_code, msgspec.json.decode(response.body))
    if read.error is not None:
        code = read.error.code or read.error.type or ""
        refusal = refusal_in(0, {"code": code, "message": read.error.message})
        known: int | str = 402 if refusal.is_about_credit else _STATUS_OF.get(code, code)
        return error_line(read.custom_id, known, f"{code} {read.error.message or ''}".strip())
    return error_line(read.custom_id, "no_response", "neither a response nor an error")


def _refused(record_id: str, status: int, body: Any) -> bytes:
    refusal = refusal_in(status, msgspec.json.decode(body) if isinstance(body, str) else body)
    code = HTTPStatus.PAYMENT_REQUIRED if refusal.is_about_credit else status
    return error_line(record_id, int(code), f"{refusal.code} {refusal.message}".strip())


def _object(body: bytes) -> bytes:
    return msgspec.json.decode(body, type=str).encode() if body.startswith(b'"') else body
