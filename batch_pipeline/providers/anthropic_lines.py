"""Lines of Anthropic's message batches, both ways (contracts/providers.md section 2.1).

A batch takes no name, no stamp and no idempotency key, so its records say whose they are: a `custom_id` is
`<8 hex of the job's token>-<8 hex of the migration's key>-<record id>`, within the 64 characters allowed.

A result's type is compared as a string: the SDK makes a success of a type it does not know.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from batch_pipeline.providers.sdk_errors import refusal_in
from batch_pipeline.providers.wire_lines import Request, answer_line, error_line, split_lines, with_first
from batch_pipeline.surrogates import decoded

_DIGITS: Final = 8
# Records the provider never began: they are owed again, so they have no line.
_NEVER_BEGUN: Final = frozenset({"canceled", "expired"})
# The one error that is about the request itself; every other one may pass, whatever its name.
_STATUS_OF: Final = {
    "invalid_request_error": 400,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class _Result(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


class _Line(msgspec.Struct):
    custom_id: str
    result: _Result


_LINE: Final = msgspec.json.Decoder(_Line)


def migration_mark(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:_DIGITS]


def job_mark(token: str, key: str) -> str:
    """What every custom id of a job begins with."""
    return f"{token[:_DIGITS]}-{migration_mark(key)}-"


def is_of_migration(custom_id: str, key: str) -> bool:
    return re.match(rf"[0-9a-f]{{{_DIGITS}}}-{migration_mark(key)}-", custom_id) is not None


def batch_body(requests: Iterable[Request], mark: str, model: str) -> Iterator[bytes]:
    """The body of the create call, piece by piece; a record id is of letters, digits, `_` and `-` alone."""
    yield b'{"requests":['
    head = b'{"custom_id":"' + mark.encode()
    for number, request in enumerate(requests):
        params = with_first(request.body, "model", model)
        yield (b"," if number else b"") + head + request.record_id.encode() + b'","params":' + params + b"}"
    yield b"]}"


def first_custom_id(chunks: Iterable[bytes]) -> str | None:
    """Of the first result line that can be read."""
    for line in split_lines(chunks):
        try:
            return decoded(_LINE, line).custom_id
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return None


def our_line(line: bytes, key: str) -> bytes | None:
    """A result line as ours; what is no result goes on as it is and is counted as corrupt.

    An id of another migration keeps its marks, so that it is counted as unknown.
    """
    try:
        read = decoded(_LINE, line)
        ours = is_of_migration(read.custom_id, key)
        record_id = read.custom_id[2 * _DIGITS + 2 :] if ours else read.custom_id
        return _made(record_id, read.result)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line


def _made(record_id: str, result: _Result) -> bytes | None:
    if result.type in _NEVER_BEGUN:
        return None
    if result.type == "succeeded":
        return answer_line(record_id, bytes(result.message))
    if result.type != "errored":
        return error_line(record_id, "unknown_result", f"a result of the unknown type {result.type[:40]!r}")
    # an error in an error: {"type": "error", "error": {"type", "message"}, "request_id"}
    refusal = refusal_in(0, result.error)
    known: int | str = (
        402 if refusal.is_about_credit else _STATUS_OF.get(refusal.code, refusal.code or "error")
    )
    return error_line(record_id, known, f"{refusal.code} {refusal.message}".strip())
