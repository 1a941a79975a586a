"""What no reader of a PDF page could see, taken off it before its text is read (trap 37).

Told by page objects, which costs a few microseconds each: text drawn outside the page, at 1 pt or
less, fully transparent, in white on nothing darker, or invisible where no image lies behind it (an
invisible layer over an image is a scan's recognised text, and stays). Form objects, which some
programs put whole pages into, are looked into as well.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2 as pdfium
from pypdfium2 import raw

_WHITE = 250
_SMALLEST_POINTS = 1.0
_INVISIBLE_MODE = 3
_IMAGE_SHARE = 0.5
_MOST_OBJECTS = 50_000
_MOST_NESTED = 4

Box = tuple[float, float, float, float]  # left, bottom, right, top
Place = tuple[float, float, float, float, float, float]  # a matrix; of what lies in no form, none


@dataclass(frozen=True)
class _Object:
    """One thing that is drawn: where it stands on the page, and the form it is part of."""

    handle: object
    kind: int
    box: Box | None
    scale: float
    form: object | None


def drop_hidden(page: pdfium.PdfPage) -> tuple[bool, bool]:
    """Take unseen text off the page; whether an image covers most of it, whether anything is drawn."""
    objects = list(_objects(page))
    left, bottom, right, top = _page_box(page)
    area = max((right - left) * (top - bottom), 1.0)
    image = any(
        one.kind == raw.FPDF_PAGEOBJ_IMAGE and _area(one.box) > area * _IMAGE_SHARE for one in objects
    )
    hidden: list[_Object] = []  # taken off after the loop: a destroyed object must not be asked again
    for index, one in enumerate(objects):
        if one.kind != raw.FPDF_PAGEOBJ_TEXT:
            continue
        box = one.box
        outside = box is not None and (box[2] < left or box[0] > right or box[3] < bottom or box[1] > top)
        white = _is_white(one.handle) and not _darkened(objects[:index], box)
        if outside or white or _is_unseen(one, image):
            hidden.append(one)
    for one in hidden:
        gone = (
            raw.FPDFPage_RemoveObject(page, one.handle)
            if one.form is None
            else raw.FPDFFormObj_RemoveObject(one.form, one.handle)
        )
        if gone:
            raw.FPDFPageObj_Destroy(one.handle)
    return image, bool(objects)


def _objects(page: pdfium.PdfPage) -> Iterator[_Object]:
    """Objects in the order they are drawn, those of a form in its place."""
    left = _MOST_OBJECTS

    def walk(
        count: int, get: object, form: object | None, place: Place | None, depth: int
    ) -> Iterator[_Object]:
        nonlocal left
        for index in range(count):
            if left <= 0:
                return
            left -= 1
            handle = get(form if form is not None else page, index)  # type: ignore[operator]
            kind = raw.FPDFPageObj_GetType(handle)
            if kind == raw.FPDF_PAGEOBJ_FORM and depth < _MOST_NESTED:
                inner = raw.FPDFFormObj_CountObjects(handle)
                yield from walk(inner, raw.FPDFFormObj_GetObject, handle, _placed(handle, place), depth + 1)
            else:
                yield _Object(handle, kind, _on_page(_box(handle), place), _scale(place), form)

    yield from walk(raw.FPDFPage_CountObjects(page), raw.FPDFPage_GetObject, None, None, 0)


def _placed(form: object, outer: Place | None) -> Place | None:
    """The form's matrix times that of what it lies in."""
    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(form, matrix):
        return outer
    a, b, c, d, e, f = outer or (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    m = matrix
    return (
        *(m.a * a + m.b * c, m.a * b + m.b * d, m.c * a + m.d * c, m.c * b + m.d * d),
        *(m.e * a + m.f * c + e, m.e * b + m.f * d + f),
    )


def _scale(place: Place | None) -> float:
    return 1.0 if place is None else max(abs(value) for value in place[:4])


def _on_page(box: Box | None, place: Place | None) -> Box | None:
    if box is None or place is None:
        return box
    a, b, c, d, e, f = place
    corners = [(x * a + y * c + e, x * b + y * d + f) for x in (box[0], box[2]) for y in (box[1], box[3])]
    across, up = zip(*corners, strict=True)
    return min(across), min(up), max(across), max(up)


def _is_unseen(one: _Object, over_image: bool) -> bool:
    if raw.FPDFTextObj_GetTextRenderMode(one.handle) == _INVISIBLE_MODE and not over_image:
        return True
    size = ctypes.c_float()
    matrix = raw.FS_MATRIX()
    if not raw.FPDFTextObj_GetFontSize(one.handle, size) or not raw.FPDFPageObj_GetMatrix(one.handle, matrix):
        return False
    scale = max(abs(matrix.a), abs(matrix.b), abs(matrix.c), abs(matrix.d)) * one.scale
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


def _darkened(before: list[_Object], box: Box | None) -> bool:
    """Whether something that is not white was drawn below the middle of the box."""
    if box is None:
        return True
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    for one in before:
        if one.kind == raw.FPDF_PAGEOBJ_TEXT:
            continue
        below = one.box
        if below is None or not (below[0] <= x <= below[2] and below[1] <= y <= below[3]):
            continue
        if one.kind != raw.FPDF_PAGEOBJ_PATH or (_is_filled(one.handle) and not _is_white(one.handle)):
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
