"""PDF text through PDFium, without what no reader could see.

Hidden text (trap 37) is told by page objects, which costs a few microseconds each: text drawn
outside the page, at 1 pt or less, fully transparent, in white on nothing darker, or invisible where
no image lies behind it (an invisible layer over an image is a scan's recognised text, and stays).
Text inside form objects is not looked into. Lines that hold right-to-left letters are put in
reading order by `right_to_left`, pages drawn across two columns by `pdf_columns`. PDFium must never
be used from threads: callers run this in a process of its own.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import pypdfium2 as pdfium
from pypdfium2 import raw

from batch_pipeline.documents.pdf_attachments import embedded_cv
from batch_pipeline.documents.pdf_columns import in_columns
from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused
from batch_pipeline.documents.right_to_left import (
    Glyph,
    has_right_to_left,
    is_mostly_right_to_left,
    read_line,
)

_WHITE = 250
_SMALLEST_POINTS = 1.0
_INVISIBLE_MODE = 3
_IMAGE_SHARE = 0.5
_FEW_CHARS = 100
_MAX_OBJECTS = 50_000

Box = tuple[float, float, float, float]  # left, bottom, right, top


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
        scanned, drawn, chars = 0, False, 0
        for number in range(count):
            text, image, shows = _page(document, number)
            chars += len(text)
            if chars > limits.text_chars:
                raise Refused(Reason.TOO_LARGE)
            texts.append(text)
            scanned += image and len(text.strip()) < _FEW_CHARS
            drawn = drawn or shows
        text = "\n\n".join(texts)
        return RawText(
            embedded_cv(document, text, limits) or text, pages=count, scanned_pages=scanned, drawn=drawn
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
    try:
        page = document[number]
    except pdfium.PdfiumError:
        raise Refused(Reason.DAMAGED) from None
    try:
        objects = min(raw.FPDFPage_CountObjects(page), _MAX_OBJECTS)
        image = _drop_hidden(page, objects)
        text_page = page.get_textpage()
        try:
            text = text_page.get_text_range()
            text = _placed(text_page) if has_right_to_left(text) else in_columns(page, text_page) or text
            return text, image, objects > 0
        finally:
            text_page.close()
    finally:
        page.close()


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


def _drop_hidden(page: pdfium.PdfPage, objects: int) -> bool:
    """Take unseen text objects off the page; return whether an image covers most of it."""
    handles = [raw.FPDFPage_GetObject(page, index) for index in range(objects)]
    kinds = [raw.FPDFPageObj_GetType(handle) for handle in handles]
    left, bottom, right, top = _page_box(page)
    area = max((right - left) * (top - bottom), 1.0)
    image = any(
        kind == raw.FPDF_PAGEOBJ_IMAGE and _area(_box(handle)) > area * _IMAGE_SHARE
        for handle, kind in zip(handles, kinds, strict=True)
    )
    hidden: list[object] = []  # taken off after the loop: a destroyed object must not be asked again
    for index, (handle, kind) in enumerate(zip(handles, kinds, strict=True)):
        if kind != raw.FPDF_PAGEOBJ_TEXT:
            continue
        box = _box(handle)
        outside = box is not None and (box[2] < left or box[0] > right or box[3] < bottom or box[1] > top)
        if (
            outside
            or _is_unseen(handle, image)
            or (_is_white(handle) and not _darkened(handles[:index], box))
        ):
            hidden.append(handle)
    for handle in hidden:
        if raw.FPDFPage_RemoveObject(page, handle):
            raw.FPDFPageObj_Destroy(handle)
    return image


def _is_unseen(handle: object, over_image: bool) -> bool:
    if raw.FPDFTextObj_GetTextRenderMode(handle) == _INVISIBLE_MODE and not over_image:
        return True
    size = ctypes.c_float()
    matrix = raw.FS_MATRIX()
    if not raw.FPDFTextObj_GetFontSize(handle, size) or not raw.FPDFPageObj_GetMatrix(handle, matrix):
        return False
    scale = max(abs(matrix.a), abs(matrix.b), abs(matrix.c), abs(matrix.d))
    return bool(size.value * scale <= _SMALLEST_POINTS)


def _fill(handle: object) -> tuple[int, int, int, int] | None:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not raw.FPDFPageObj_GetFillColor(handle, red, green, blue, alpha):
        return None
    return red.value, green.value, blue.value, alpha.value


def _is_white(handle: object) -> bool:
    fill = _fill(handle)
    return fill is not None and (fill[3] == 0 or min(fill[:3]) >= _WHITE)


def _is_filled(path: object) -> bool:
    mode, stroke = ctypes.c_int(), ctypes.c_int()
    return bool(raw.FPDFPath_GetDrawMode(path, mode, stroke)) and mode.value != raw.FPDF_FILLMODE_NONE


def _darkened(before: list[object], box: Box | None) -> bool:
    """Whether something that is not white was drawn below the middle of the box."""
    if box is None:
        return True
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    for handle in before:
        kind = raw.FPDFPageObj_GetType(handle)
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            continue
        below = _box(handle)
        if below is None or not (below[0] <= x <= below[2] and below[1] <= y <= below[3]):
            continue
        if kind != raw.FPDF_PAGEOBJ_PATH or (_is_filled(handle) and not _is_white(handle)):
            return True
    return False


def _box(handle: object) -> Box | None:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not raw.FPDFPageObj_GetBounds(handle, left, bottom, right, top):
        return None
    return left.value, bottom.value, right.value, top.value


def _area(box: Box | None) -> float:
    return 0.0 if box is None else (box[2] - box[0]) * (box[3] - box[1])


def _page_box(page: pdfium.PdfPage) -> Box:
    rectangle = raw.FS_RECTF()
    if raw.FPDF_GetPageBoundingBox(page, rectangle):
        return rectangle.left, rectangle.bottom, rectangle.right, rectangle.top
    return (0.0, 0.0, *page.get_size())
