"""What the reader of one format gives back, before cleaning, and the bounds it keeps."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadLimits:
    """Bounds inside a reader. The process around it has its own for memory and time."""

    file_bytes: int = 64 << 20
    unpacked_bytes: int = 48 << 20  # XML of one office file
    pages: int = 500
    text_chars: int = 4_000_000


@dataclass(frozen=True)
class RawText:
    """`scanned_pages`: pages that show an image and no text of their own.

    `drawn`: something is visible although there may be no text.
    """

    text: str
    pages: int | None = None
    scanned_pages: int = 0
    pictured_pages: int = 0  # pages that one image covers, with a text layer or without
    drawn: bool = False
    encoding: str | None = None
