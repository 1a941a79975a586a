"""Plain text of unknown encoding; which one was chosen is part of the answer."""

import codecs
import re

from charset_normalizer import from_bytes

from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DETECT_BYTES = 1 << 16
# letters and signs that Western European texts hold; anything else read as cp1252 is another page
_WESTERN = re.compile(
    "[\x09\x0a\x0c\x0d\x20-\x7e\u00a0\u00a3\u00a7\u00a9\u00ab\u00ae\u00b0\u00b1\u00b2\u00b4\u00b7\u00ba\u00aa"
    "\u00bb\u00bf\u00a1\u00c0-\u00cf\u00d1-\u00d6\u00d8-\u00dc\u00df-\u00ef\u00f1-\u00f6\u00f8-\u00fc\u00ff"
    "\u20ac\u201a\u201e\u2026\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u2122\u0152\u0153\u0160\u0161\u017d\u017e]*"
)


def read(data: bytes, limits: ReadLimits) -> RawText:
    """Raises Refused: damaged for bytes no encoding fits, too_large."""
    text, encoding = decode(data, None)
    if len(text) > limits.text_chars:
        raise Refused(Reason.TOO_LARGE)
    return RawText(text, encoding=encoding)


def decode(data: bytes, declared: str | None) -> tuple[str, str]:
    """Text and the encoding it was read in: byte order mark, UTF-8, declared, cp1252, best guess."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding
    for encoding in ("utf-8", *_half_empty(data), *([declared] if declared else [])):
        try:
            return data.decode(encoding), encoding
        except (UnicodeDecodeError, LookupError):
            continue
    if (western := _as_western(data)) is not None:
        return western, "cp1252"
    best = from_bytes(data[:_DETECT_BYTES]).best()
    if best is None:
        raise Refused(Reason.DAMAGED)
    return data.decode(best.encoding, "replace"), best.encoding


def _half_empty(data: bytes) -> tuple[str, ...]:
    """UTF-16 without a mark: every other byte of Latin text is zero."""
    sample = data[:4096]
    if sample.count(0) < len(sample) * 0.35:
        return ()
    return ("utf-16-le",) if sample[1::2].count(0) > sample[0::2].count(0) else ("utf-16-be",)


def _as_western(data: bytes) -> str | None:
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    if not _WESTERN.fullmatch(text):
        return None
    words = re.findall(r"[^\W\d_]{3,}", text)
    foreign = sum(1 for word in words if word.lower() != word.upper() and not re.search("[A-Za-z]", word))
    return None if foreign * 20 > len(words) else text
