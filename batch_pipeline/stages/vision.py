"""What a model is shown of a document that has no usable text: the PDF itself, or its page images.

No file is opened in this process: decoders run in the documents room's killable one.
"""

import atexit
from pathlib import Path
from typing import Final, cast

from batch_pipeline.documents import mime as types
from batch_pipeline.documents.page_images import ShowLimits
from batch_pipeline.documents.page_renderer import PageRenderer
from batch_pipeline.documents.reasons import Refused
from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.requests.file_blocks import (
    MAX_DOCUMENT_BYTES,
    MAX_IMAGE_BYTES,
    MAX_IMAGES,
    FileBlock,
    MediaType,
)

# Models scale larger images down to about this edge themselves; sending more only costs tokens.
SHOWN: Final = ShowLimits(edge=1568, images=MAX_IMAGES, image_bytes=MAX_IMAGE_BYTES)
RENDERER: Final = PageRenderer()
"""One process for all documents of this one; it ends with this one, or by `close()`."""
atexit.register(RENDERER.close)


def vision_blocks(path: str, mime: str) -> list[FileBlock]:
    """Blocks for one message, with all pages of the document.

    A PDF within the limits goes as it is, unless it is encrypted, which providers refuse. May be
    called from any thread; documents are drawn one at a time.

    Raises:
        TerminalError: the file cannot be shown within the limits of one message.
        TransientError: the file is not there, or the drawing process does not start: no document's end.
    """
    if mime == types.PDF:
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise TransientError(
                f"the file of a document can no longer be read ({type(error).__name__}): run the fetch again"
            ) from None
        if len(data) <= MAX_DOCUMENT_BYTES and b"/Encrypt" not in data:
            return [FileBlock("application/pdf", data)]
    try:
        images = RENDERER.show(Path(path), mime, SHOWN)
    except Refused as refused:
        raise TerminalError(f"the document cannot be shown to a model: {refused.reason.value}") from None
    return [FileBlock(cast(MediaType, image.media_type), image.data) for image in images]
