"""PDF text through PDFium, without what no reader could see and with what was typed into its forms.

Lines that hold right-to-left letters are put in reading order by `right_to_left`, pages drawn across
two columns by `pdf_columns`; `pdf_hidden` takes unseen text away. PDFium must never be used from
threads: callers run this in a process of its own.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import pypdfium2 as pdfium
from pypdfium2 import raw

from batch_pipeline.documents.pdf_attachments import embedded_cv
from batch_pipeline.documents.pdf_columns import in_columns
from batch_pipeline.documents.pdf_hidden import drop_hidden
from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused
from batch_pipeline.documents.right_to_left import (
    Glyph,
    has_right_to_left,
    is_mostly_right_to_left,
    read_line,
)

_FEW_CHARS = 100
_TYPED = (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT)
_MOST_ANNOTATIONS = 2_000


def read(data: bytes, limits: ReadLimits) -> RawText:
    """Text of all pages. Raises Refused: password_protected, truncated, damaged or too_large.

    An owner password alone does not stop reading: such a file opens with the empty password.
    """
    if b"%%EOF" not in data:
        # PDFium rebuilds a cut file and shows its first pages: half a CV must not pass for a CV
        raise Refused(Reason.TRUNCATED)
    with opened(data) as document:
        count = len(document)
        if count == 0:
            raise Refused(Reason.DAMAGED)
        if count > limits.pages:
            raise Refused(Reason.TOO_LARGE)
        texts: list[str] = []
        scanned, pictured, drawn, chars = 0, 0, False, 0
        for number in range(count):
            text, image, shows = _page(document, number)
            chars += len(text)
            if chars > limits.text_chars:
                raise Refused(Reason.TOO_LARGE)
            texts.append(text)
            pictured += image
            scanned += image and len(text.strip()) < _FEW_CHARS
            drawn = drawn or shows
        text = "\n\n".join(texts)
        return RawText(
            embedded_cv(document, text, limits) or text,
            pages=count,
            scanned_pages=scanned,
            pictured_pages=pictured,
            drawn=drawn,
        )


@contextmanager
def opened(data: bytes) -> Iterator[pdfium.PdfDocument]:
    """Raises Refused: password_protected, damaged."""
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        locked = getattr(error, "err_code", None) in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
        raise Refused(Reason.PASSWORD_PROTECTED if locked else Reason.DAMAGED) from None
    try:
        yield document
    finally:
        document.close()


def _page(document: pdfium.PdfDocument, number: int) -> tuple[str, bool, bool]:
    """Visible text, whether one image covers most of the page, whether anything is drawn."""
    page = _loaded(document, number)
    try:
        if _has_typed(page) and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_SUCCESS:
            page.close()
            page = _loaded(document, number)
        image, drawn = drop_hidden(page)
        text_page = page.get_textpage()
        try:
            text = text_page.get_text_range()
            text = _placed(text_page) if has_right_to_left(text) else in_columns(page, text_page) or text
            return text, image, drawn
        finally:
            text_page.close()
    finally:
        page.close()


def _loaded(document: pdfium.PdfDocument, number: int) -> pdfium.PdfPage:
    try:
        return document[number]
    except pdfium.PdfiumError:
        raise Refused(Reason.DAMAGED) from None


def _has_typed(page: pdfium.PdfPage) -> bool:
    """Whether the page has form fields or typewriter notes: drawn beside its content, not in it."""
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)):
        note = raw.FPDFPage_GetAnnot(page, index)
        kind = raw.FPDFAnnot_GetSubtype(note)
        raw.FPDFPage_CloseAnnot(note)
        if kind in _TYPED:
            return True
    return False


def _placed(text_page: pdfium.PdfTextPage) -> str:
    """The page's lines with the order inside each told by where its signs stand."""
    lines: list[list[Glyph]] = [[]]
    places: dict[tuple[int, float, float], int] = {}  # of the line's glyphs
    x, y = ctypes.c_double(), ctypes.c_double()
    box = raw.FS_RECTF()
    for index in range(raw.FPDFText_CountChars(text_page)):
        sign = chr(raw.FPDFText_GetUnicode(text_page, index))
        owner = ctypes.cast(raw.FPDFText_GetTextObject(text_page, index), ctypes.c_void_p).value
        if owner is None or raw.FPDFText_IsGenerated(text_page, index):
            if sign == "\n":
                lines.append([])
                places = {}
            continue
        raw.FPDFText_GetCharOrigin(text_page, index, x, y)
        raw.FPDFText_GetLooseCharBox(text_page, index, box)
        line, place = lines[-1], (owner, x.value, y.value)
        if sign.isspace() and (place in places or box.right <= box.left):
            continue  # not drawn: PDFium saw a gap in the order of drawing
        if place in places:
            one = line[places[place]]  # a glyph may say several letters
            line[places[place]] = Glyph(one.text + sign, min(one.left, box.left), max(one.right, box.right))
        else:
            places[place] = len(line)
            line.append(Glyph(sign, box.left, box.right))
    drawn = "".join(glyph.text for line in lines for glyph in line)
    from_right = is_mostly_right_to_left(drawn)
    return "\n".join(read_line(line, from_right=from_right) for line in lines)
