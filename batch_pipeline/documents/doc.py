"""Word 97-2003 text through its piece table ([MS-DOC] 2.4.1), text boxes and headers included."""

import re
import struct

from batch_pipeline.documents.ole2 import CompoundFile
from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused

_MAGIC = 0xA5EC
_CODES = str.maketrans({"\r": "\n", "\x07": "\t", "\x0b": "\n", "\x0c": "\n", "\x1e": "-", "\x1f": "", "\x01": "", "\x08": ""})  # fmt: skip
_FIELD = re.compile("\x13[^\x13\x14\x15]*(?:\x14([^\x13\x14\x15]*))?\x15")


def read(data: bytes, limits: ReadLimits) -> RawText:
    """Raises Refused: damaged, truncated, password_protected, too_large."""
    try:
        text = _pieces(CompoundFile(data))
    except (ValueError, KeyError, IndexError, struct.error):
        raise Refused(Reason.DAMAGED) from None
    if len(text) > limits.text_chars:
        raise Refused(Reason.TOO_LARGE)
    for _ in range(10):  # fields lie inside fields
        text, replaced = _FIELD.subn(lambda field: field.group(1) or "", text)
        if not replaced:
            break
    return RawText(text.replace("\x07\x07", "\n").translate(_CODES), encoding="utf-16-le")


def _pieces(file: CompoundFile) -> str:
    main = file.stream("WordDocument")
    magic, version = struct.unpack_from("<HH", main, 0)
    (flags,) = struct.unpack_from("<H", main, 10)
    if magic != _MAGIC or version < 0xC1:
        raise Refused(Reason.UNSUPPORTED_TYPE)  # Word 6 and before
    if flags & 0x0100:
        raise Refused(Reason.PASSWORD_PROTECTED)
    table = file.stream("1Table" if flags & 0x0200 else "0Table")
    start, length = struct.unpack_from("<II", main, 0x01A2)
    pieces = _piece_table(table[start : start + length])
    count = (len(pieces) - 4) // 12
    ends = struct.unpack_from(f"<{count + 1}I", pieces, 0)
    parts: list[str] = []
    for index in range(count):
        (place,) = struct.unpack_from("<I", pieces, (count + 1) * 4 + index * 8 + 2)
        chars = ends[index + 1] - ends[index]
        if place & 0x40000000:
            offset = (place & 0x3FFFFFFF) // 2
            parts.append(main[offset : offset + chars].decode("cp1252", "replace"))
        else:
            parts.append(main[place : place + chars * 2].decode("utf-16-le", "replace"))
    return "".join(parts)


def _piece_table(clx: bytes) -> bytes:
    position = 0
    while position < len(clx):
        if clx[position] == 2:
            (length,) = struct.unpack_from("<I", clx, position + 1)
            return clx[position + 5 : position + 5 + length]
        (length,) = struct.unpack_from("<H", clx, position + 1)
        position += 3 + length
    raise ValueError("no piece table")
