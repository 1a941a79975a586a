"""Inline requests and results of the Gemini API's batches (contracts/providers.md section 2.3).

A result is `{metadata: {key}, response}` or `{metadata: {key}, error: {code, message}}`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from batch_pipeline.providers.google_errors import http_code
from batch_pipeline.providers.record_places import place
from batch_pipeline.providers.wire_lines import Request, answer_line, error_line
from batch_pipeline.surrogates import decoded

_UNSET: Final = (b"", b"null")


class _Metadata(msgspec.Struct):
    key: str | None = None


class _Item(msgspec.Struct):
    metadata: _Metadata | None = None
    response: msgspec.Raw = msgspec.Raw(b"")
    error: dict[str, Any] | None = None


class _Many(msgspec.Struct):
    inlinedResponses: list[msgspec.Raw] | None = None  # noqa: N815


class _Output(msgspec.Struct):
    inlinedResponses: _Many | None = None  # noqa: N815


class _Metadatum(msgspec.Struct):
    output: _Output | None = None


class _Operation(msgspec.Struct):
    metadata: _Metadatum | None = None
    response: _Output | None = None


_OPERATION: Final = msgspec.json.Decoder(_Operation)
_ITEM: Final = msgspec.json.Decoder(_Item)


def inline_requests(requests: Iterable[Request]) -> bytes:
    """The requests of one create call, in the order of the shard."""
    return b",".join(
        b'{"request":' + one.body + b',"metadata":{"key":' + msgspec.json.encode(one.record_id) + b"}}"
        for one in requests
    )


def batch_body(display_name: str, requests: bytes) -> bytes:
    """The body of one create call."""
    head = b'{"batch":{"displayName":' + msgspec.json.encode(display_name)
    return head + b',"inputConfig":{"requests":{"requests":[' + requests + b"]}}}}"


def results_in(operation: bytes) -> list[bytes] | None:
    """The inline results as they stand there; None where there are none at all.

    Raises:
        ValueError: this is no operation.
    """
    try:
        read = decoded(_OPERATION, operation)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("no operation") from error
    for output in (read.response, read.metadata and read.metadata.output):
        if output and output.inlinedResponses and output.inlinedResponses.inlinedResponses is not None:
            return [_on_one_line(bytes(item)) for item in output.inlinedResponses.inlinedResponses]
    return None


def _on_one_line(item: bytes) -> bytes:
    """Google prints JSON for people unless asked not to."""
    return msgspec.json.format(item, indent=-1) if b"\n" in item else item


def our_lines(items: Sequence[bytes]) -> Iterator[bytes]:
    """Results as our lines: by their keys, or by their places where not one has a key."""
    read = [_item(item) for item in items]
    keyed = any(one is not None and one.metadata and one.metadata.key for one in read)
    for at, (item, one) in enumerate(zip(items, read, strict=True), start=1):
        if one is None:
            yield item  # counted as corrupt by who counts lines
            continue
        key = (one.metadata.key if one.metadata else None) or ("" if keyed else place(at, len(items)))
        made = _line(key, one)
        if made is not None:
            yield made


def _item(item: bytes) -> _Item | None:
    try:
        return _ITEM.decode(item)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _line(key: str, item: _Item) -> bytes | None:
    if item.error:
        code = http_code(item.error)
        return None if code is None else error_line(key, code, str(item.error.get("message") or ""))
    if bytes(item.response) in _UNSET:
        return error_line(key, "no_response", "neither a response nor an error")
    return answer_line(key, bytes(item.response))
