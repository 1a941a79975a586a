"""Our lines and a provider's, both ways: a line is made another one while it streams, never a whole file.

Memory holds one chunk and one line. A line nobody can read goes on as it is: who counts lines must see it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple, Self

import msgspec

_CHUNK: Final = 1 << 20
MAX_LINE_BYTES: Final = 64_000_000  # a request of 20 images and its answer


class Request(NamedTuple):
    """One of our request lines; `body` is its JSON as it stands there."""

    record_id: str
    body: bytes


class _Request(msgspec.Struct):
    recordId: str  # noqa: N815 - our own lines'
    modelInput: msgspec.Raw  # noqa: N815


_REQUEST: Final = msgspec.json.Decoder(_Request)


def requests_in(body: IO[bytes]) -> Iterator[Request]:
    """Every request of a shard."""
    for line in split_lines(iter(lambda: body.read(_CHUNK), b"")):
        read = _REQUEST.decode(line)
        yield Request(read.recordId, bytes(read.modelInput))


def with_first(body: bytes, name: str, value: object) -> bytes:
    """A JSON object with one more member at its head; the rest of it is copied, not read."""
    rest = body.lstrip()[1:]
    comma = b"" if rest.lstrip().startswith(b"}") else b","
    return b"{" + msgspec.json.encode(name) + b":" + msgspec.json.encode(value) + comma + rest


@contextmanager
def spooled(pieces: Iterable[bytes]) -> Iterator[tuple[IO[bytes], int]]:
    """The pieces as a file that can be read twice, and its size; it has no name and is gone afterwards.

    A body of unknown length would be sent in chunks, which not every server takes.
    """
    with TemporaryFile() as spool:
        for piece in pieces:
            spool.write(piece)
        size = spool.tell()
        spool.seek(0)
        yield spool, size


def answer_line(record_id: str, output: bytes) -> bytes:
    """An answer in our own format; `output` is the model's JSON as its provider wrote it."""
    return msgspec.json.encode({"recordId": record_id, "modelOutput": msgspec.Raw(output)})


def error_line(record_id: str, code: int | str, message: str) -> bytes:
    """A record's error in our own format; a code that is no HTTP status counts as one that may pass."""
    return msgspec.json.encode({"recordId": record_id, "error": {"errorCode": code, "errorMessage": message}})


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without their line feed, split on that byte alone; blank ones are left out.

    A line that is too long for any answer is given in part: its reader finds that it is none.
    """
    pending = bytearray()
    for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            pending += chunk[start:end]
            yield from _line(pending)
            pending.clear()
            start = end + 1
        if len(pending) <= MAX_LINE_BYTES:
            pending += chunk[start:]
    yield from _line(pending)


def _line(pending: bytearray) -> Iterator[bytes]:
    line = bytes(pending).strip(b"\r")
    if line and not line.isspace():
        yield line


class LineStream:
    """A provider's output as a stream of our own lines. `translate` gives None for a line to leave out."""

    def __init__(
        self, chunks: Iterable[bytes], translate: Callable[[bytes], bytes | None], close: Callable[[], Any]
    ) -> None:
        self._lines = (made for line in split_lines(chunks) if (made := translate(line)) is not None)
        self._close = close
        self._buffer = bytearray()

    def read(self, size: int, /) -> bytes:
        while len(self._buffer) < size:
            line = next(self._lines, None)
            if line is None:
                break
            self._buffer += line
            self._buffer += b"\n"
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()
