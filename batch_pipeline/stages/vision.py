"""What a model is shown of a document that has no usable text: the PDF itself, or its page images."""

import io
from pathlib import Path
from typing import Final

from batch_pipeline.errors import TerminalError
from batch_pipeline.requests.bodies import (
    MAX_DOCUMENT_BYTES,
    MAX_IMAGE_BYTES,
    MAX_IMAGES,
    FileBlock,
    MediaType,
)

# Models scale larger images down to about this edge themselves; sending more only costs tokens.
_LONGEST_EDGE: Final = 1568
_AS_IS: Final[dict[str, MediaType]] = {"image/jpeg": "image/jpeg", "image/png": "image/png"}


def vision_blocks(path: str, mime: str) -> list[FileBlock]:
    """Blocks for one message.

    Raises:
        TerminalError: the file cannot be shown within the limits of one message.
    """
    data = Path(path).read_bytes()
    if mime == "application/pdf":
        if len(data) <= MAX_DOCUMENT_BYTES:
            return [FileBlock("application/pdf", data)]
        return _pages(data)
    if mime in _AS_IS and len(data) <= MAX_IMAGE_BYTES:
        return [FileBlock(_AS_IS[mime], data)]
    if mime.startswith("image/"):
        return [_scaled(data)]
    raise TerminalError(f"a document of type {mime} cannot be shown to a model")


def _pages(data: bytes) -> list[FileBlock]:
    import pypdfium2  # noqa: PLC0415 - loads a native library

    blocks = []
    with pypdfium2.PdfDocument(data) as document:
        for number in range(min(len(document), MAX_IMAGES)):
            page = document[number]
            scale = _LONGEST_EDGE / max(page.get_width(), page.get_height())
            buffer = io.BytesIO()
            page.render(scale=scale).to_pil().convert("L").save(buffer, "JPEG", quality=80)
            blocks.append(FileBlock("image/jpeg", buffer.getvalue()))
    return blocks


def _scaled(data: bytes) -> FileBlock:
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - only for images

    try:
        with Image.open(io.BytesIO(data)) as image:
            image.thumbnail((_LONGEST_EDGE, _LONGEST_EDGE))
            buffer = io.BytesIO()
            image.convert("L").save(buffer, "JPEG", quality=85)
    except (UnidentifiedImageError, OSError):
        raise TerminalError("an image that cannot be decoded cannot be shown to a model") from None
    return FileBlock("image/jpeg", buffer.getvalue())
