"""An image or PDF as it goes into a message, and what one message may hold of them."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from batch_pipeline.errors import TerminalError

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]

# Converse limits of one message (contracts/bedrock.md section 2); no other provider's are lower.
MAX_IMAGES: Final = 20
MAX_IMAGE_BYTES: Final = 3_750_000
MAX_DOCUMENTS: Final = 5
MAX_DOCUMENT_BYTES: Final = 4_500_000


@dataclass(frozen=True)
class FileBlock:
    """One image or PDF as it goes into a message."""

    media_type: MediaType
    data: bytes

    @property
    def is_image(self) -> bool:
        return self.media_type != "application/pdf"

    @property
    def base64(self) -> str:
        return base64.b64encode(self.data).decode("ascii")

    @property
    def data_url(self) -> str:
        return f"data:{self.media_type};base64,{self.base64}"


def check_limits(files: Sequence[FileBlock]) -> None:
    """Raises TerminalError, with counts only, where a limit of one message is passed."""
    images = [len(file.data) for file in files if file.is_image]
    documents = [len(file.data) for file in files if not file.is_image]
    if not files or not all(images) or not all(documents):
        raise TerminalError("a vision request needs at least one file, and no empty one")
    for kind, sizes, count, size in (
        ("images", images, MAX_IMAGES, MAX_IMAGE_BYTES),
        ("documents", documents, MAX_DOCUMENTS, MAX_DOCUMENT_BYTES),
    ):
        if len(sizes) > count:
            raise TerminalError(f"{len(sizes)} {kind} in one request; at most {count}")
        if sizes and max(sizes) > size:
            raise TerminalError(f"one of the {kind} has {max(sizes)} bytes; at most {size}")
