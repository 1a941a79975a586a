"""Lines of Vertex AI's batch files, both ways (contracts/providers.md section 2.4).

Claude's carry a `custom_id`. Gemini's carry none that comes back, and come in any order, but each repeats its
request: it is known by what it asks. Both have a `status`, empty where there is an answer.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any, Final

import msgspec

from batch_pipeline.providers.google_errors import http_code
from batch_pipeline.providers.sdk_errors import refusal_in
from batch_pipeline.providers.wire_lines import Request, error_line
from batch_pipeline.surrogates import decoded

_UNSET: Final = (b"", b"null", b"{}")
_PHRASES: Final = {status.phrase.lower(): int(status) for status in HTTPStatus}
_CLAUDES: Final = {
    "invalid_request_error": 400,
    "permission_error": 403,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class _Inline(msgspec.Struct):
    data: str | None = None


class _Part(msgspec.Struct):
    text: str | None = None
    inlineData: _Inline | None = None  # noqa: N815
    inline_data: _Inline | None = None


class _Turn(msgspec.Struct):
    parts: list[_Part]


class _Asked(msgspec.Struct):
    contents: list[_Turn]


class _Line(msgspec.Struct):
    custom_id: str | None = None
    request: msgspec.Raw = msgspec.Raw(b"")
    response: msgspec.Raw = msgspec.Raw(b"")
    status: Any = None


_ASKED: Final = msgspec.json.Decoder(_Asked)
_LINE: Final = msgspec.json.Decoder(_Line)


def question(request: bytes) -> str:
    """What a Gemini request shows the model, as a hash: whatever else of it was rewritten, this is the same.

    Raises:
        msgspec.DecodeError: it is no such request.
    """
    running = hashlib.sha256()
    for part in (part for turn in _ASKED.decode(request).contents for part in turn.parts):
        shown = part.inlineData or part.inline_data
        for kind, said in (("t", part.text), ("f", shown.data if shown else None)):
            if said is not None:
                running.update(f"{kind}{len(said)}\x00{said}".encode())
    return running.hexdigest()


def claude_lines(requests: Iterable[Request]) -> Iterator[bytes]:
    """A record id is of letters, digits, `_` and `-` alone."""
    for one in requests:
        yield b'{"custom_id":"' + one.record_id.encode() + b'","request":' + one.body + b"}\n"


def gemini_lines(requests: Iterable[Request], asked: list[tuple[str, str]]) -> Iterator[bytes]:
    """`asked` is filled with the question and the record id of each line."""
    for one in requests:
        asked.append((question(one.body), one.record_id))
        yield b'{"request":' + one.body + b"}\n"


class Reader:
    """Output lines as ours. `asked` are the questions of a Gemini job and whose each is.

    Records that ask the very same are answered in turn: their answers are to one question, and each of them
    is as good for either.
    """

    def __init__(self, asked: Iterable[tuple[str, str]] = ()) -> None:
        self._records: defaultdict[str, list[str]] = defaultdict(list)
        for hashed, record_id in asked:
            self._records[hashed].append(record_id)
        self._met: Counter[str] = Counter()

    def our_line(self, line: bytes) -> bytes | None:
        """What is no result goes on as it is and is counted as corrupt."""
        try:
            return self._made(decoded(_LINE, line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return line

    def _made(self, read: _Line) -> bytes | None:
        record_id = read.custom_id if read.custom_id is not None else self._asked_by(bytes(read.request))
        response = bytes(read.response)
        failed = _failure(read.status, response)
        if failed is not None:
            code, words = failed
            return None if code is None else error_line(record_id, code, words)
        line = {"recordId": record_id, "modelOutput": msgspec.Raw(response)}
        return msgspec.json.encode(line | ({"modelInput": read.request} if bytes(read.request) else {}))

    def _asked_by(self, request: bytes) -> str:
        hashed = question(request)
        records = self._records.get(hashed)
        if not records:
            return f"unasked-{hashed[:12]}"
        at = self._met[hashed]
        self._met[hashed] += 1
        return records[min(at, len(records) - 1)]


def _failure(status: Any, response: bytes) -> tuple[int | str | None, str] | None:
    """Code and words of a record's error; a code of None: it was never begun. None: there is an answer."""
    if status:
        return _said(status)
    if response in _UNSET:
        return "no_response", "neither a response nor an error"
    if b'"error"' not in response:
        return None
    body = msgspec.json.decode(response)
    if not isinstance(body, dict) or not isinstance(body.get("error"), dict):
        return None
    refusal = refusal_in(0, body)  # as Claude says it: {"type": "error", "error": {"type", "message"}}
    if refusal.code not in _CLAUDES and not refusal.is_about_credit:
        return http_code(body["error"]), refusal.message
    return 402 if refusal.is_about_credit else _CLAUDES[refusal.code], f"{refusal.code} {refusal.message}"


def _said(status: Any) -> tuple[int | str | None, str]:
    """A google.rpc.Status, or words with one inside (`Bad Request: {"error": {"code": 400, ...}}`)."""
    found = status if isinstance(status, dict) else _inside(str(status))
    if found is not None:
        inner = found.get("error", found)
        if isinstance(inner, dict) and ("code" in inner or "status" in inner):
            return http_code(inner), str(inner.get("message") or "")
    words = str(status)
    known = _PHRASES.get(re.split(r"[:.{(]", words, maxsplit=1)[0].strip().lower())
    code: int | str = http_code({"code": known, "message": words}) or known if known else "status"
    return code, words


def _inside(words: str) -> dict[str, Any] | None:
    start = words.find("{")
    try:
        found = msgspec.json.decode(words[start:]) if start >= 0 else None
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None
