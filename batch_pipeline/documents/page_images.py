"""What goes between the two ends that show pages: bounds in, images out. See `page_drawing`."""

import msgspec


class ShowLimits(msgspec.Struct, frozen=True, array_like=True):
    """Of one message: pixels of an image's longer edge, images, bytes of one image."""

    edge: int
    images: int
    image_bytes: int


class PageImage(msgspec.Struct, frozen=True, array_like=True):
    """One image as a model takes it: `image/jpeg` or `image/png`."""

    media_type: str
    data: bytes
