"""Text of scans by a local engine, for models that cannot look. Off unless a migration asks for it.

Pages are drawn in the room's killable process, each is read by a child of its own. A text that does
not read like one, or of which the engine itself is unsure, is not taken: the document stays one that
has to be looked at. What was read lies beside the other texts, as `part-ocr-<n>.parquet` and
`outcomes-ocr-<n>.parquet`, and counts only where it is asked for.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from batch_pipeline.documents.classify import judge
from batch_pipeline.documents.cleaning import clean, quality
from batch_pipeline.documents.extraction import Parts, next_part, ocr_outcomes
from batch_pipeline.documents.extraction_run import ExtractionLimits
from batch_pipeline.documents.extraction_worker import Answer
from batch_pipeline.documents.page_images import ShowLimits
from batch_pipeline.documents.page_renderer import PageRenderer
from batch_pipeline.documents.reasons import Refused
from batch_pipeline.documents.tesseract import Tesseract

DRAWN: Final = ShowLimits(edge=3300, images=20, image_bytes=32 << 20)
"""About 280 dots an inch of an A4 page: what the engine was made for."""
LEAST_CONFIDENCE: Final = 70.0
_LEAST_VISIBLE: Final = 100  # characters a page: less is a stamp or a heading, no CV


def read_scans(
    scans: Iterable[tuple[str, str, str]],
    out: Path,
    engine: Tesseract,
    workers: int,
    on_progress: Callable[[int], None] | None = None,
) -> int:
    """Read every (md5, path, mime) that was not tried before; return how many have a text now.

    Raises TransientError where a file is gone or pages cannot be drawn at all.
    """
    tried = set(ocr_outcomes(out).select("md5").collect()["md5"])
    todo = (scan for scan in scans if scan[0] not in tried)
    parts = Parts(out, ExtractionLimits(part_documents=200), next_part(out), prefix="ocr-")
    renderer = PageRenderer()
    done = gained = 0
    try:
        with ThreadPoolExecutor(max(1, workers)) as pool:
            for some in _batches(todo, 4 * max(1, workers)):
                for (md5, _, _), answer in zip(
                    some, pool.map(partial(_read, renderer, engine), some), strict=True
                ):
                    parts.add(md5, answer)
                    done += 1
                    gained += answer.text is not None
                    if on_progress is not None:
                        on_progress(done)
    finally:
        renderer.close()
        parts.flush()
    return gained


def _read(renderer: PageRenderer, engine: Tesseract, scan: tuple[str, str, str]) -> Answer:
    _, path, kind = scan
    try:
        images = renderer.show(Path(path), kind, DRAWN)
    except Refused:
        return Answer(needs_vision=True)
    pages = [engine.read(image.data) for image in images]
    unread = Answer(needs_vision=True, pages=len(images))
    if any(page is None or page.confidence < LEAST_CONFIDENCE for page in pages if page is None or page.text):
        return unread  # half a CV must not pass for a CV
    text = "\n\n".join(page.text for page in pages if page is not None)
    found = quality(text)
    cleaned = clean(text)
    if found.is_bad or found.visible < _LEAST_VISIBLE * len(images):
        return unread
    judged = judge(cleaned)
    return Answer(
        text=cleaned,
        text_sha=hashlib.sha256(cleaned.encode()).hexdigest(),
        pages=len(images),
        kind=judged.kind.value,
        cv_score=judged.score,
    )


def _batches(scans: Iterator[tuple[str, str, str]], size: int) -> Iterator[list[tuple[str, str, str]]]:
    while some := list(islice(scans, size)):
        yield some
