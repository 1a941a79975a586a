"""Pages as images for a model that has to look: upright, small enough, all of them or none.

Runs in the killable process only: image and PDF decoders meet hostile files here. Transparent
images are laid on white, 16-bit scans are brought to 8 bits, a phone's turned photo is set upright
by its EXIF orientation, a page far longer than wide (a screenshot of a profile) is cut in pieces
that overlap, so that it is not scaled down until nobody can read it.
"""

import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from batch_pipeline.documents import mime
from batch_pipeline.documents.office_xml import opened as opened_office
from batch_pipeline.documents.page_images import PageImage, ShowLimits
from batch_pipeline.documents.raw_text import ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused

_MOST_PIXELS = 150_000_000
_MOST_DRAWN = 40_000_000
_LONG = 2.2  # times as high as wide: A4 is 1.4, two screens of a phone 4
_PIECE = 1.5
_OVERLAP = 0.05
_QUALITY = 85
_AS_IS: Final = {"JPEG": "image/jpeg", "PNG": "image/png"}
_PICTURES: Final = {mime.DOCX: "word/media/", mime.ODT: "Pictures/"}
_ENDINGS = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".gif")
_UPRIGHT: Final = (None, 0, 1)
_ORIENTATION = 0x0112


def draw_pages(path: Path, kind: str, limits: ShowLimits) -> list[PageImage]:
    """Every page of a PDF or image file; the pictures of a DOCX or ODT that holds nothing else.

    Raises OSError, MemoryError, and Refused: damaged, too_large (more pages or pixels than can be
    shown: half a CV must not pass for a CV), password_protected, unsupported_type.
    """
    data = path.read_bytes()
    if kind == mime.PDF:
        pages = _of_pdf(data, limits)
    elif kind in mime.IMAGES:
        pages = _of_image(data, limits)
    elif kind in _PICTURES:
        pages = _of_office(data, _PICTURES[kind], limits)
    else:
        raise Refused(Reason.UNSUPPORTED_TYPE)
    images: list[PageImage] = []
    for page in pages:
        images.append(page)
        if len(images) > limits.images:
            raise Refused(Reason.TOO_LARGE)
    if not images:
        raise Refused(Reason.BLANK)
    return images


def _of_pdf(data: bytes, limits: ShowLimits) -> Iterator[PageImage]:
    from batch_pipeline.documents.pdf import opened  # noqa: PLC0415 - PDFium is not for images

    with opened(data) as document:
        document.init_forms()  # what was typed into a form is drawn as well
        if len(document) > limits.images:
            raise Refused(Reason.TOO_LARGE)
        for number in range(len(document)):
            page = document[number]
            try:
                width, height = page.get_size()
                scale = limits.edge / (width if height > _LONG * width else max(width, height))
                scale = min(scale, (_MOST_DRAWN / max(width * height, 1.0)) ** 0.5)
                yield from _pieces(page.render(scale=scale, grayscale=True).to_pil(), limits)
            finally:
                page.close()


def _of_office(data: bytes, folder: str, limits: ShowLimits) -> Iterator[PageImage]:
    """Scans that were put into a text document, in the order they were put in."""
    with opened_office(data, ReadLimits()) as office:
        names = [name for name in office.names if name.startswith(folder) and name.lower().endswith(_ENDINGS)]
        for name in sorted(names, key=lambda name: [int(digits) for digits in re.findall(r"\d+", name)]):
            yield from _of_image(office.data(name), limits)


def _of_image(data: bytes, limits: ShowLimits) -> Iterator[PageImage]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                if image.width * image.height > _MOST_PIXELS:
                    raise Refused(Reason.TOO_LARGE)
                if _fits(image, len(data), limits):
                    yield PageImage(_AS_IS[str(image.format)], data)
                    return
                yield from _frames(image, limits)
    except Image.DecompressionBombError:
        raise Refused(Reason.TOO_LARGE) from None
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError):
        raise Refused(Reason.DAMAGED) from None


def _fits(image: Image.Image, size: int, limits: ShowLimits) -> bool:
    upright = image.getexif().get(_ORIENTATION) in _UPRIGHT
    plain = image.mode in ("L", "RGB", "1") and image.format in _AS_IS and "transparency" not in image.info
    small = max(image.size) <= limits.edge and size <= limits.image_bytes
    if not (upright and plain and small):
        return False
    image.load()  # a cut file is not passed on
    return True


def _frames(image: Image.Image, limits: ShowLimits) -> Iterator[PageImage]:
    """Pages of a TIFF; of anything that moves, the first picture."""
    if image.format != "TIFF":
        yield from _pieces(image, limits)
        return
    for number, frame in enumerate(ImageSequence.Iterator(image), start=1):
        if number > limits.images or frame.width * frame.height > _MOST_PIXELS:
            raise Refused(Reason.TOO_LARGE)
        yield from _pieces(frame, limits)


def _pieces(image: Image.Image, limits: ShowLimits) -> Iterator[PageImage]:
    turned = image.getexif().get(_ORIENTATION) not in _UPRIGHT
    if max(image.size) <= _LONG * min(image.size):
        # as early as can be: a JPEG then decodes at a fraction of its size
        image.thumbnail((limits.edge, limits.edge))
        yield _encoded(_grey(ImageOps.exif_transpose(image) if turned else image), limits)
        return
    grey = _grey(ImageOps.exif_transpose(image) if turned else image)
    if grey.width > limits.edge:
        grey = grey.resize((limits.edge, max(1, round(grey.height * limits.edge / grey.width))))
    step = max(1, round(grey.width * _PIECE))
    for top in range(0, grey.height, step):
        piece = grey.crop((0, max(0, top - round(step * _OVERLAP)), grey.width, min(grey.height, top + step)))
        yield _encoded(piece, limits)


def _grey(image: Image.Image) -> Image.Image:
    """8-bit grey, on white."""
    if image.mode.startswith("I"):
        return image.convert("I").point(lambda value: value / 256).convert("L")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        shown = image.convert("RGBA")
        paper = Image.new("RGBA", shown.size, "white")
        return Image.alpha_composite(paper, shown).convert("L")
    return image.convert("L")


def _encoded(image: Image.Image, limits: ShowLimits) -> PageImage:
    image.thumbnail((limits.edge, limits.edge))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_QUALITY)
    if buffer.tell() > limits.image_bytes:
        raise Refused(Reason.TOO_LARGE)
    return PageImage("image/jpeg", buffer.getvalue())
