"""The Europass XML that a PDF from the Europass editor carries, where it says what the pages say.

An attachment is not seen by who reads the pages, so it is believed only as far as they agree: else
anybody could show one CV to people and another to the model. Its order is better than that of pages
in columns, and it has no page headers.
"""

import re
from typing import Final

import pypdfium2 as pdfium

from batch_pipeline.documents import europass
from batch_pipeline.documents.cleaning import clean
from batch_pipeline.documents.raw_text import ReadLimits
from batch_pipeline.documents.reasons import Refused

_MOST_ATTACHMENTS = 20
_HEAD = 4096
_MARKS: Final = (b"SkillsPassport", b"<Candidate")
_SEEN_SHARE = 0.9  # of its words stand on the pages
_SAID_SHARE = 0.6  # of the pages' words stand in it; the rest are the pages' own labels
_WORDS = re.compile(r"\w{3,}")


def embedded_cv(document: pdfium.PdfDocument, pages: str, limits: ReadLimits) -> str | None:
    """Text of an attached Europass CV that agrees with the text of the pages, or None."""
    shown = _words(pages)
    for index in range(min(document.count_attachments(), _MOST_ATTACHMENTS)):
        try:
            data = bytes(document.get_attachment(index).get_data())
        except pdfium.PdfiumError:
            continue  # an attachment that is damaged takes nothing from the pages
        if len(data) > limits.unpacked_bytes or not any(mark in data[:_HEAD] for mark in _MARKS):
            continue
        try:
            text = europass.read(data, limits).text
        except Refused:
            continue
        said = _words(text)
        both = len(said & shown)
        if both >= _SEEN_SHARE * len(said) and both >= _SAID_SHARE * len(shown) and both:
            return text
    return None


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(clean(text).casefold()))
