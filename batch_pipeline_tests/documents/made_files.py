"""Documents made on the fly: good ones, and such as a hostile or careless sender would upload."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

CV_LINES = (
    "Ada Example",
    "ada@example.com | +44 20 7946 0000",
    "Work experience",
    "2019-03 - present Engineer, Example Mills, Leeds",
    "2014-09 - 2019-02 Analyst, Sample Council, York",
    "Education",
    "2011 - 2014 BSc Mathematics, University of Nowhere",
    "Skills",
    "Python, SQL",
)
LETTER_LINES = (
    "Dear hiring team,",
    "I am writing to apply for the role of engineer.",
    "I look forward to hearing from you.",
    "Yours faithfully, Ada Example",
)
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(
    lines: tuple[str, ...] = CV_LINES, encrypt: StandardEncryption | None = None, note: str = ""
) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, encrypt=encrypt, invariant=1)
    canvas.setTitle(note)
    for number, line in enumerate(lines):
        canvas.drawString(72, 780 - number * 16, line)
    canvas.save()
    return buffer.getvalue()


def scan_with_layer(layer: tuple[str, ...]) -> bytes:
    """A page that is one image, under it the invisible text a scanner's recognition wrote."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1)
    canvas.drawImage(ImageReader(Image.new("L", (600, 850), 240)), 0, 0, *A4)
    text = canvas.beginText(72, 780)
    text.setTextRenderMode(3)
    for line in layer:
        text.textLine(line)
    canvas.drawText(text)
    canvas.save()
    return buffer.getvalue()


def zipped(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, data in members.items():
            bundle.writestr(name, data)
    return buffer.getvalue()


def docx(body: str, **parts: str) -> bytes:
    """A DOCX of the XML of its body and of parts such as header1="<w:p>...</w:p>"."""
    members = {
        "[Content_Types].xml": b"<Types/>",
        "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>".encode(),
    }
    for name, xml in parts.items():
        members[f"word/{name}.xml"] = f"<w:part {W}>{xml}</w:part>".encode()
    return zipped(members)


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def raw_pdf(content: bytes, *, compress: bool = True) -> bytes:
    """A one-page PDF of one content stream."""
    stream = zlib.compress(content, 9) if compress else content
    kind = b"/Filter /FlateDecode " if compress else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< " + kind + b"/Length %d >>\nstream\n" % len(stream) + stream + b"\nendstream",
    ]
    out = bytearray(b"%PDF-1.5\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start
    return bytes(out)


def pdf_that_takes_for_ever() -> bytes:
    """A fifth of a megabyte that unpacks to 120 million operators."""
    return raw_pdf(b"q Q " * 60_000_000)


def pdf_that_eats_memory() -> bytes:
    """A quarter of a megabyte that unpacks to eight million pieces of text."""
    return raw_pdf(b"BT /F1 9 Tf " + b"(ab) Tj 0 1 Td " * 8_000_000 + b"ET")


def docx_bomb(megabytes: int) -> bytes:
    """Small on disk, `megabytes` of XML inside."""
    return docx(paragraph("x" * (megabytes << 20)))


def put(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    return path
