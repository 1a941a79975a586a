"""Text of a document or image block, for engines that cannot see.

pypdfium2 must not be used by two threads at once: one lock holds it.
"""

import shutil
import subprocess
from html.parser import HTMLParser
from io import BytesIO
from threading import Lock
from typing import Final

import pypdfium2

from batch_pipeline.local.emulator.engines.contract import Attachment

_pdfium: Final = Lock()
_MAX_PAGES: Final = 60
_OCR_SECONDS: Final = 60
_OCR_DPI: Final = 200


class UnreadableDocument(Exception):
    """No text can be had from this block."""


def document_text(part: Attachment) -> str:
    """The text layer, the text itself, or what OCR reads when tesseract is on PATH."""
    if part.content is None:
        raise UnreadableDocument("The block is only named by an S3 URI.")
    if part.kind == "image":
        return _ocr(part.content)
    if part.format == "pdf":
        return _pdf_text(part.content)
    if part.format in ("txt", "md", "csv", "plain", "html"):
        text = part.content.decode("utf-8", errors="replace")
        return _html_text(text) if part.format == "html" else text
    raise UnreadableDocument(f"Documents of format {part.format} are not read.")


def _pdf_text(content: bytes) -> str:
    with _pdfium:
        try:
            document = pypdfium2.PdfDocument(content)
        except pypdfium2.PdfiumError as error:
            raise UnreadableDocument("The PDF cannot be opened.") from error
        try:
            pages = range(min(len(document), _MAX_PAGES))
            text = "\n".join(document[page].get_textpage().get_text_bounded() for page in pages)
            if text.strip() or shutil.which("tesseract") is None:
                scans: list[bytes] = []
            else:
                scans = [_page_image(document[page]) for page in pages]
        finally:
            document.close()
    text = text if not scans else "\n".join(_ocr(scan) for scan in scans)
    if not text.strip():
        raise UnreadableDocument("The PDF has no text layer.")
    return text


def _page_image(page: pypdfium2.PdfPage) -> bytes:
    image = BytesIO()
    page.render(scale=_OCR_DPI / 72).to_pil().save(image, format="PNG")
    return image.getvalue()


def _ocr(image: bytes) -> str:
    program = shutil.which("tesseract")
    if program is None:
        raise UnreadableDocument("There is no tesseract on PATH to read an image with.")
    try:
        done = subprocess.run(
            [program, "stdin", "stdout"], input=image, capture_output=True, timeout=_OCR_SECONDS, check=True
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise UnreadableDocument("tesseract could not read the image.") from error
    text = done.stdout.decode("utf-8", errors="replace")
    if not text.strip():
        raise UnreadableDocument("The image holds no text.")
    return text


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def _html_text(source: str) -> str:
    parser = _Text()
    parser.feed(source)
    return "\n".join(part.strip() for part in parser.parts if part.strip())
