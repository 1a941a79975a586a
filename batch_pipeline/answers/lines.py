"""A binary stream -> its lines, split on the line feed and on nothing else.

Text splitting breaks on U+0085 and U+2028, which CVs hold and providers do not escape: one answer
became three that way (contracts/bedrock.md section 3, F7).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

MAX_LINE_BYTES: Final = 64_000_000  # a request of 20 images and its answer
_CHUNK: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"


class Readable(Protocol):
    """All that is read from a file or from an object's body."""

    def read(self, size: int, /) -> bytes: ...


class Line(NamedTuple):
    """One line without its line feed.

    `ended` is False for a last line without one: its writer may have been stopped. `cut` is True
    where the line passed the size cap and the rest of it was skipped.
    """

    data: bytes
    ended: bool = True
    cut: bool = False


def iter_lines(stream: Readable, max_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Every line that is not blank. A byte-order mark and carriage returns at line ends are dropped.

    Memory holds one chunk and one line, at most `max_bytes` of it.
    """
    pending: list[bytes] = []
    held = 0
    first = True
    while chunk := stream.read(_CHUNK):
        head, *rest = chunk.split(b"\n")
        pending.append(head[: max(0, max_bytes - held)])
        held += len(head)
        if not rest:
            continue
        yield from _line(b"".join(pending), held, max_bytes, first=first, ended=True)
        first = False
        *whole, tail = rest
        for data in whole:
            yield from _line(data[:max_bytes], len(data), max_bytes, first=False, ended=True)
        pending, held = [tail[:max_bytes]], len(tail)
    yield from _line(b"".join(pending), held, max_bytes, first=first, ended=False)


def _line(data: bytes, size: int, max_bytes: int, *, first: bool, ended: bool) -> Iterator[Line]:
    cut = size > max_bytes
    if first:
        data = data.removeprefix(_BOM)
    if not cut:
        data = data.removesuffix(b"\r")
    if data and not data.isspace():
        yield Line(data, ended, cut)
