"""Lines -> the bytes of a file. The same lines give the same bytes."""

import io
import zipfile
from functools import cache
from typing import Final
from xml.sax.saxutils import escape

from batch_pipeline.local.sample.cv_text import Line
from batch_pipeline.local.sample.languages import PdfFont

_PAGE: Final = (595, 842)  # A4 in points
_SCAN_DPI: Final = 110
_ZIP_TIME: Final = (2026, 1, 1, 0, 0, 0)

_DOCX_PARTS: Final = {
    "[Content_Types].xml": (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Override PartName="/word/document.xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    ),
    "_rels/.rels": (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="rId1" Target="word/document.xml" Type='
        '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>'
    ),
}


def pdf(lines: list[Line], font: PdfFont, password: str | None = None) -> bytes:
    """A one-page PDF with a text layer; with a password nobody opens it without."""
    from reportlab.lib.pdfencrypt import StandardEncryption  # noqa: PLC0415 - only the sample needs it
    from reportlab.pdfgen.canvas import Canvas  # noqa: PLC0415

    buffer = io.BytesIO()
    locked = StandardEncryption(password, ownerPassword=password, strength=128) if password else None
    canvas = Canvas(buffer, pagesize=_PAGE, invariant=1, pageCompression=0, encrypt=locked)
    text = canvas.beginText(56, 780)
    regular, bold = _fonts(font)
    for line in lines:
        if line.style == "heading":
            text.moveCursor(0, 6)
        text.setFont(bold if line.style == "heading" else regular, 13 if line.style == "heading" else 10)
        text.setXPos(14 if line.style == "bullet" else 0)
        text.textLine(line.text)
        text.setXPos(-14 if line.style == "bullet" else 0)
    canvas.drawText(text)
    canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def scan(lines: list[Line], font: PdfFont) -> bytes:
    """The same page as a picture: a PDF without a text layer."""
    import pypdfium2  # noqa: PLC0415
    from reportlab.lib.utils import ImageReader  # noqa: PLC0415
    from reportlab.pdfgen.canvas import Canvas  # noqa: PLC0415

    document = pypdfium2.PdfDocument(pdf(lines, font))
    try:
        picture = document[0].render(scale=_SCAN_DPI / 72, grayscale=True).to_pil()
    finally:
        document.close()
    jpeg = io.BytesIO()
    picture.save(jpeg, "JPEG", quality=55)
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=_PAGE, invariant=1, pageCompression=0)
    canvas.drawImage(ImageReader(io.BytesIO(jpeg.getvalue())), 0, 0, *_PAGE)
    canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def docx(lines: list[Line]) -> bytes:
    """A Word document with one paragraph a line."""
    paragraphs = "".join(
        f"<w:p><w:r>{'<w:rPr><w:b/></w:rPr>' if line.style == 'heading' else ''}"
        f'<w:t xml:space="preserve">{escape(line.text)}</w:t></w:r></w:p>'
        for line in lines
    )
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f"<w:body>{paragraphs}</w:body></w:document>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in {**_DOCX_PARTS, "word/document.xml": body}.items():
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), part, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def error_page(number: int) -> bytes:
    """What a dead signed link answers, saved under the CV's name."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code>'
        f"<Message>Request has expired</Message><RequestId>{number:016X}</RequestId></Error>"
    ).encode()


@cache
def _fonts(font: PdfFont) -> tuple[str, str]:
    from reportlab.pdfbase import pdfmetrics  # noqa: PLC0415
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # noqa: PLC0415
    from reportlab.pdfbase.ttfonts import TTFont  # noqa: PLC0415

    if font == "latin":
        return "Helvetica", "Helvetica-Bold"
    if font == "vera":
        pdfmetrics.registerFont(TTFont("Vera", "Vera.ttf"))
        return "Vera", "Vera"
    if font == "chinese":
        pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
        return "STSong-Light", "STSong-Light"
    raise ValueError(f"no built-in font draws {font!r}: make it a DOCX")
