"""A shard as an upload body: ranges of `requests.jsonl`, read in place, never copied."""

import hashlib
import io
import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from batch_pipeline.errors import TerminalError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK: Final = 1 << 20


class ShardBody(io.RawIOBase):
    """A seekable, read-only binary file over byte ranges of another file, in the order given.

    Raises TerminalError where the ranges do not lie within the file, or the file ends early.
    """

    def __init__(self, path: Path, offsets: Sequence[int], lengths: Sequence[int]) -> None:
        super().__init__()
        self._starts, sizes = _merged(offsets, lengths)
        self._bounds = list(accumulate(sizes, initial=0))
        self._position = 0
        self._file = path.open("rb", buffering=0)
        held = os.fstat(self._file.fileno()).st_size
        if any(start + size > held for start, size in zip(self._starts, sizes, strict=True)):
            self.close()
            raise TerminalError(f"{path.name} has {held} bytes; a range of the shard ends after it")

    @property
    def size(self) -> int:
        """Bytes of the whole body."""
        return self._bounds[-1]

    def digest(self) -> str:
        """SHA-256 of the content in hex; the position stays where it is."""
        running = hashlib.sha256()
        for start, size in zip(self._starts, self._sizes(), strict=True):
            end = start + size
            while start < end:
                chunk = self._pread(min(_CHUNK, end - start), start)
                running.update(chunk)
                start += len(chunk)  # noqa: PLW2901  the range shrinks from its start
        return running.hexdigest()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative position {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view) and self._position < self.size:
            part = bisect_right(self._bounds, self._position) - 1
            within = self._position - self._bounds[part]
            want = min(len(view) - filled, self._bounds[part + 1] - self._position)
            chunk = self._pread(want, self._starts[part] + within)
            view[filled : filled + len(chunk)] = chunk
            filled += len(chunk)
            self._position += len(chunk)
        return filled

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    def _sizes(self) -> list[int]:
        return [b - a for a, b in pairwise(self._bounds)]

    def _pread(self, size: int, start: int) -> bytes:
        chunk = os.pread(self._file.fileno(), size, start)
        if not chunk:
            raise TerminalError(f"the requests file ended at byte {start} while its shard was read")
        return chunk


def _merged(offsets: Sequence[int], lengths: Sequence[int]) -> tuple[list[int], list[int]]:
    """Neighbouring ranges as one: a contiguous shard is a single range whatever its records."""
    starts: list[int] = []
    sizes: list[int] = []
    for offset, length in zip(offsets, lengths, strict=True):
        if offset < 0 or length < 1:
            raise TerminalError(f"not a range of a file: offset {offset}, length {length}")
        if starts and starts[-1] + sizes[-1] == offset:
            sizes[-1] += length
        else:
            starts.append(offset)
            sizes.append(length)
    return starts, sizes
