"""The OLE2 compound file (Word 97, encrypted Office): its streams, read with bounds.

After [MS-CFB] 2.2-2.6: a header, a file allocation table (FAT) reached through a list of its own,
a directory of 128-byte entries, and a smaller FAT for streams under 4096 bytes.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_END = 0xFFFFFFFA  # this and above are marks, not sectors
_MINI_CUTOFF = 4096


@dataclass(frozen=True)
class _Entry:
    start: int
    size: int


class CompoundFile:
    """Streams by name. Raises ValueError for anything that is no whole compound file."""

    def __init__(self, data: bytes) -> None:
        if data[:8] != MAGIC or len(data) < 512:
            raise ValueError("no compound file header")
        self._data = data
        shift, mini_shift = struct.unpack_from("<HH", data, 30)
        if shift not in (9, 12) or mini_shift != 6:
            raise ValueError("unknown sector size")
        self._sector = 1 << shift
        self._mini_sector = 1 << mini_shift
        self._fat = self._read_fat()
        (directory,) = struct.unpack_from("<I", data, 48)
        self._entries, root = self._read_directory(directory)
        (mini_fat,) = struct.unpack_from("<I", data, 60)
        table = self._chain(mini_fat) if mini_fat < _END else b""
        self._mini_fat = struct.unpack(f"<{len(table) // 4}I", table[: len(table) // 4 * 4])
        self._mini = self._chain(root.start)[: root.size] if root.start < _END else b""

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._entries)

    def stream(self, name: str) -> bytes:
        """Raises KeyError for a stream that is not there."""
        entry = self._entries[name]
        if entry.size >= _MINI_CUTOFF:
            return self._chain(entry.start)[: entry.size]
        parts: list[bytes] = []
        sector, left = entry.start, len(self._mini_fat)
        while sector < _END and left >= 0:
            parts.append(self._mini[sector * self._mini_sector : (sector + 1) * self._mini_sector])
            if sector >= len(self._mini_fat):
                raise ValueError("a chain leaves the small table")
            sector, left = self._mini_fat[sector], left - 1
        return b"".join(parts)[: entry.size]

    def _block(self, sector: int) -> bytes:
        start = (sector + 1) * self._sector
        block = self._data[start : start + self._sector]
        if not block:
            raise ValueError("a sector lies beyond the file")
        return block

    def _read_fat(self) -> tuple[int, ...]:
        listed = list(struct.unpack_from("<109I", self._data, 76))
        next_list, lists = struct.unpack_from("<II", self._data, 68)
        while next_list < _END and lists > 0:
            block = self._block(next_list)
            numbers = struct.unpack(f"<{len(block) // 4}I", block)
            listed += numbers[:-1]
            next_list, lists = numbers[-1], lists - 1
        table = b"".join(self._block(sector) for sector in listed if sector < _END)
        return struct.unpack(f"<{len(table) // 4}I", table)

    def _chain(self, sector: int) -> bytes:
        parts: list[bytes] = []
        left = len(self._fat)
        while sector < _END:
            if sector >= len(self._fat) or left < 0:
                raise ValueError("a chain leaves the table or bites its tail")
            parts.append(self._block(sector))
            sector, left = self._fat[sector], left - 1
        return b"".join(parts)

    def _read_directory(self, start: int) -> tuple[Mapping[str, _Entry], _Entry]:
        raw = self._chain(start)
        found: dict[str, _Entry] = {}
        root: _Entry | None = None
        for offset in range(0, len(raw) - 127, 128):
            (length,) = struct.unpack_from("<H", raw, offset + 64)
            kind = raw[offset + 66]
            first, size = struct.unpack_from("<II", raw, offset + 116)
            name = raw[offset : offset + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
            if kind == 5:
                root = _Entry(first, size)
            elif kind == 2:
                found.setdefault(name, _Entry(first, size))
        if root is None:
            raise ValueError("no root entry")
        return found, root
