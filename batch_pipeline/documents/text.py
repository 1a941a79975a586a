"""One document's bytes to cleaned text, or the reason there is none.

Empty text never leaves here as text: a parser once invented a person from an empty extraction.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from batch_pipeline.documents import mime
from batch_pipeline.documents.cleaning import clean, quality
from batch_pipeline.documents.common_words import holds_no_common_word
from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused

Reader = Callable[[bytes, ReadLimits], RawText]

_READERS: Final = {
    mime.PDF: "pdf",
    mime.DOCX: "docx",
    mime.DOC: "doc",
    mime.RTF: "rtf",
    mime.ODT: "odt",
    mime.HTML: "html",
    mime.TEXT: "txt",
    mime.XML: "europass",
    mime.JSON: "europass",
}
_WITHOUT_READER: Final = {
    mime.EMPTY: Reason.EMPTY,
    mime.ENCRYPTED_OFFICE: Reason.PASSWORD_PROTECTED,
    mime.ZIP: Reason.ARCHIVE,
}
_FEW_CHARS_A_PAGE = 100


@dataclass(frozen=True)
class Extracted:
    """`text` is cleaned and never empty, or None; then `needs_vision` or `reason` says why.

    `encoding` is the one a text format was read in. `text_sha` is SHA-256 of the text's UTF-8.
    """

    text: str | None
    pages: int | None = None
    needs_vision: bool = False
    reason: Reason | None = None
    encoding: str | None = None

    @property
    def text_sha(self) -> str | None:
        return None if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()


def extract_text(path: Path, kind: str, limits: ReadLimits | None = None) -> Extracted:
    """Read one file of the type `kind` (`sniffing` told it). Raises OSError, MemoryError."""
    limits = limits or ReadLimits()
    if kind not in mime.WITH_TEXT and kind not in mime.IMAGES:
        return Extracted(None, reason=_WITHOUT_READER.get(kind, Reason.UNSUPPORTED_TYPE))
    if path.stat().st_size > limits.file_bytes:
        return Extracted(None, reason=Reason.TOO_LARGE)
    data = path.read_bytes()
    try:
        if kind in mime.IMAGES:
            return _image(data, kind)
        return _judged(_reader(kind)(data, limits))
    except Refused as refused:
        return Extracted(None, reason=refused.reason)


def _reader(kind: str) -> Reader:
    reader: Reader = import_module(f"batch_pipeline.documents.{_READERS[kind]}").read
    return reader


def _image(data: bytes, kind: str) -> Extracted:
    if kind == mime.HEIC:
        return Extracted(None, reason=Reason.UNSUPPORTED_TYPE)
    module = import_module("batch_pipeline.documents.image")
    if module.looks_like_page(data):
        return Extracted(None, pages=1, needs_vision=True)
    return Extracted(None, pages=1, reason=Reason.PHOTO)


def _judged(raw: RawText) -> Extracted:
    text = clean(raw.text)
    found = quality(raw.text)
    if not text:
        if raw.drawn or raw.scanned_pages:
            return Extracted(None, raw.pages, needs_vision=True, encoding=raw.encoding)
        return Extracted(None, raw.pages, reason=Reason.BLANK, encoding=raw.encoding)
    pages = raw.pages or 1
    mostly_scanned = raw.scanned_pages * 2 >= pages and found.visible < _FEW_CHARS_A_PAGE * pages
    # a scanner's own recognition can be worse than none: a page fed upside down gives words of no language
    nonsense = raw.pictured_pages * 2 >= pages and holds_no_common_word(text)
    # only what has a picture of its text can be read by looking at it
    if mostly_scanned or nonsense or (found.is_bad and raw.pages is not None):
        return Extracted(None, raw.pages, needs_vision=True, encoding=raw.encoding)
    return Extracted(text, raw.pages, encoding=raw.encoding)
