"""An image attachment: a photographed or scanned page, or a picture of somebody.

Told by size and brightness alone, on a thumbnail; no face is ever looked for.
"""

import io
import warnings

from PIL import Image, UnidentifiedImageError

from batch_pipeline.documents.reasons import Reason, Refused

_PAGE_PIXELS = 1000
_PAGE_LIGHT = 0.5
_MAX_PIXELS = 200_000_000


def looks_like_page(data: bytes) -> bool:
    """Whether the image is large and mostly as light as paper. Raises Refused: damaged, too_large."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                width, height = image.size
                if width * height > _MAX_PIXELS:
                    raise Refused(Reason.TOO_LARGE)
                if max(width, height) < _PAGE_PIXELS:
                    return False
                image.draft("L", (200, 200))  # lets JPEG decode at an eighth of its size
                small = image.convert("L").resize((64, 64))
    except Image.DecompressionBombError:
        raise Refused(Reason.TOO_LARGE) from None
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        raise Refused(Reason.DAMAGED) from None
    light = sum(small.histogram()[170:])
    return light > 64 * 64 * _PAGE_LIGHT
