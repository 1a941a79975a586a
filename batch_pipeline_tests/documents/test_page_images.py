"""Pages shown to a model: upright, small enough, whole; hostile files lose only themselves."""

import io
import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image, ImageDraw
from reportlab.pdfgen.canvas import Canvas

from batch_pipeline.documents import mime
from batch_pipeline.documents.page_images import PageImage, ShowLimits
from batch_pipeline.documents.page_renderer import PageRenderer
from batch_pipeline.documents.reasons import Reason, Refused
from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.stages.vision import RENDERER, vision_blocks
from batch_pipeline_tests.documents import made_files as made

LIMITS = ShowLimits(edge=800, images=4, image_bytes=2_000_000)


@pytest.fixture(scope="module")
def renderer() -> Iterator[PageRenderer]:
    with_limits = PageRenderer(cpu_seconds=1, memory_bytes=700 << 20)
    yield with_limits
    with_limits.close()


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    yield
    RENDERER.close()


def written(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def page(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """White, with a black block in its upper left corner."""
    image = Image.new(mode, (width, height), "white")
    ImageDraw.Draw(image).rectangle((0, 0, width // 4, height // 4), fill="black")
    return image


def pdf_of(pages: int, size: tuple[float, float] = (595, 842)) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=size, invariant=1)
    for number in range(pages):
        canvas.drawString(20, size[1] - 40, f"page {number + 1}")
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def show(renderer: PageRenderer, folder: Path, data: bytes, kind: str) -> list[Image.Image]:
    shown = renderer.show(made.put(folder, "document", data), kind, LIMITS)
    assert all(isinstance(one, PageImage) and len(one.data) <= LIMITS.image_bytes for one in shown)
    return [Image.open(io.BytesIO(one.data)) for one in shown]


def is_black(image: Image.Image, x: float, y: float) -> bool:
    grey = image.convert("L").getpixel((int(image.width * x), int(image.height * y)))
    assert isinstance(grey, int)
    return grey < 90


def test_a_large_photo_is_made_small_and_stays_upright(renderer: PageRenderer, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: the picture is to be turned to the right
    data = written(page(3000, 2000), "JPEG", exif=exif)
    (image,) = show(renderer, tmp_path, data, mime.JPEG)
    assert image.size == (533, 800)
    assert is_black(image, 0.9, 0.1)
    assert not is_black(image, 0.1, 0.1)


def test_a_small_image_goes_as_it_is(renderer: PageRenderer, tmp_path: Path) -> None:
    data = written(page(400, 500), "PNG")
    shown = renderer.show(made.put(tmp_path, "page", data), mime.PNG, LIMITS)
    assert shown == [PageImage("image/png", data)]


def test_transparent_and_deep_images_show_black_on_white(renderer: PageRenderer, tmp_path: Path) -> None:
    clear = Image.new("RGBA", (600, 700), (0, 0, 0, 0))
    ImageDraw.Draw(clear).rectangle((0, 0, 150, 150), fill=(0, 0, 0, 255))
    (image,) = show(renderer, tmp_path, written(clear, "PNG"), mime.PNG)
    assert is_black(image, 0.1, 0.1)
    assert not is_black(image, 0.9, 0.9)
    deep = Image.new("I;16", (600, 700), 65535)
    deep.paste(0, (0, 0, 150, 150))
    (image,) = show(renderer, tmp_path, written(deep, "TIFF"), mime.TIFF)
    assert is_black(image, 0.1, 0.1)
    assert not is_black(image, 0.9, 0.9)


def test_every_page_of_a_tiff_and_of_a_pdf_is_shown(renderer: PageRenderer, tmp_path: Path) -> None:
    fax = [page(1728, 2200, "1") for _ in range(3)]
    data = written(fax[0], "TIFF", save_all=True, append_images=fax[1:], compression="group4")
    assert [image.size for image in show(renderer, tmp_path, data, mime.TIFF)] == [(628, 800)] * 3
    assert [image.height for image in show(renderer, tmp_path, pdf_of(4), mime.PDF)] == [800] * 4


def test_scans_put_into_a_text_document_are_shown_in_order(renderer: PageRenderer, tmp_path: Path) -> None:
    sizes = {"word/media/image10.png": (500, 600), "word/media/image2.jpeg": (400, 600)}
    scans = {name: written(page(*size), "JPEG" if "jpeg" in name else "PNG") for name, size in sizes.items()}
    data = made.zipped({"word/document.xml": b"<x/>", "word/media/logo.emf": b"?", **scans})
    assert [image.size for image in show(renderer, tmp_path, data, mime.DOCX)] == [(400, 600), (500, 600)]


def test_a_turned_pdf_page_is_drawn_as_a_reader_sees_it(renderer: PageRenderer, tmp_path: Path) -> None:
    document = pypdfium2.PdfDocument(pdf_of(1))
    document[0].set_rotation(90)
    buffer = io.BytesIO()
    document.save(buffer)
    (image,) = show(renderer, tmp_path, buffer.getvalue(), mime.PDF)
    assert image.size[0] > image.size[1]


@pytest.mark.parametrize("kind", [mime.PNG, mime.PDF])
def test_a_page_without_end_is_cut_and_not_squeezed(
    renderer: PageRenderer, tmp_path: Path, kind: str
) -> None:
    data = written(page(700, 3000), "PNG") if kind == mime.PNG else pdf_of(1, (300, 1300))
    images = show(renderer, tmp_path, data, kind)
    assert len(images) == 3
    assert all(image.width > 450 for image in images)


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (pdf_of(5), mime.PDF, Reason.TOO_LARGE),
        (written(page(300, 9000), "PNG"), mime.PNG, Reason.TOO_LARGE),
        (written(page(900, 900), "JPEG")[:2000], mime.JPEG, Reason.DAMAGED),
        (written(page(300, 300), "PNG")[:200], mime.PNG, Reason.DAMAGED),
        (b"no image at all", mime.TIFF, Reason.DAMAGED),
        (b"%PDF-1.4\nnothing of a PDF\n%%EOF", mime.PDF, Reason.DAMAGED),
        (b"text", mime.TEXT, Reason.UNSUPPORTED_TYPE),
        (made.docx(made.paragraph("")), mime.DOCX, Reason.BLANK),
    ],
)
def test_what_cannot_be_shown_says_why(
    renderer: PageRenderer, tmp_path: Path, data: bytes, kind: str, reason: Reason
) -> None:
    with pytest.raises(Refused) as refused:
        show(renderer, tmp_path, data, kind)
    assert refused.value.reason is reason


def png_bomb(width: int, height: int) -> bytes:
    """A few kilobytes that say they are gigabytes of pixels."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(bytes(1 << 20)))
        + chunk(b"IEND", b"")
    )


def test_bombs_and_files_that_never_end_lose_only_themselves(renderer: PageRenderer, tmp_path: Path) -> None:
    for data, kind, reasons in (
        (png_bomb(60_000, 60_000), mime.PNG, {Reason.TOO_LARGE}),
        (png_bomb(12_000, 12_000), mime.PNG, {Reason.PARSE_MEMORY, Reason.DAMAGED}),
        (made.pdf_that_takes_for_ever(), mime.PDF, {Reason.PARSE_TIMEOUT}),
        (
            made.pdf_that_eats_memory(),
            mime.PDF,
            {Reason.PARSE_MEMORY, Reason.PARSE_CRASHED, Reason.PARSE_TIMEOUT},
        ),
    ):
        with pytest.raises(Refused) as refused:
            show(renderer, tmp_path, data, kind)
        assert refused.value.reason in reasons
        assert len(show(renderer, tmp_path, pdf_of(1), mime.PDF)) == 1


def test_a_file_that_is_gone_is_no_fault_of_the_document(renderer: PageRenderer, tmp_path: Path) -> None:
    with pytest.raises(TransientError, match="run the fetch again"):
        renderer.show(tmp_path / "gone", mime.PNG, LIMITS)
    with pytest.raises(TransientError, match="run the fetch again"):
        vision_blocks(str(tmp_path / "gone"), mime.PDF)


def test_a_process_that_does_not_start_is_no_fault_of_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    path = made.put(tmp_path, "page", written(page(900, 900), "PNG"))
    broken = PageRenderer()
    with pytest.raises(TransientError, match="does not start"):
        broken.show(path, mime.PNG, LIMITS)
    broken.close()


def test_a_message_holds_the_pdf_itself_where_it_may(tmp_path: Path) -> None:
    path = made.put(tmp_path, "cv", pdf_of(2))
    assert [(block.media_type, block.data) for block in vision_blocks(str(path), mime.PDF)] == [
        ("application/pdf", path.read_bytes())
    ]


def test_an_encrypted_pdf_is_sent_as_images(tmp_path: Path) -> None:
    from reportlab.lib.pdfencrypt import StandardEncryption  # noqa: PLC0415

    path = made.put(tmp_path, "cv", made.pdf(encrypt=StandardEncryption("", "owner", canCopy=0)))
    assert [block.media_type for block in vision_blocks(str(path), mime.PDF)] == ["image/jpeg"]


def test_what_cannot_be_shown_is_the_documents_end_and_says_nothing_of_it(tmp_path: Path) -> None:
    path = made.put(tmp_path, "Ada Example.png", png_bomb(60_000, 60_000))
    with pytest.raises(TerminalError, match=r"cannot be shown to a model: too_large$"):
        vision_blocks(str(path), mime.PNG)
