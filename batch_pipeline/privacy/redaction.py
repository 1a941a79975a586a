"""A text -> the same text without what names a person, and a table to undo it.

Deterministic: the same text, kinds and known people give the same bytes, so that a lost workspace is made
again with the digests of what was sent.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from batch_pipeline.privacy.contacts import emails, links
from batch_pipeline.privacy.known import Known
from batch_pipeline.privacy.names import names
from batch_pipeline.privacy.numbers import ibans, national_ids
from batch_pipeline.privacy.phones import phones
from batch_pipeline.privacy.placeholders import LOOKALIKE, LOOKS_LIKE_ONE, Kind, placeholder


@dataclass(frozen=True)
class Redacted:
    """`originals` has an entry per placeholder of `text`, and nothing else."""

    text: str
    originals: dict[str, str]


Span = tuple[int, int]
_Piece = tuple[int, int, str]

_FINDERS: Final[dict[Kind, Callable[[str, Known], Iterable[Span]]]] = {
    "email": lambda text, _: emails(text),
    "url": lambda text, _: links(text),
    "iban": lambda text, _: ibans(text),
    "national_id": lambda text, _: national_ids(text),
    "phone": lambda text, known: phones(text, known.phones),
    "name": lambda text, known: names(text, known.names),
}


def redact(text: str, kinds: Collection[Kind], known: Known) -> Redacted:
    """Take out every finding of `kinds`; equal findings of one kind get one placeholder.

    Numbers count from 1 in the order of the text.
    """
    found = [(*span, kind) for kind, find in _FINDERS.items() if kind in kinds for span in find(text, known)]
    originals: dict[str, str] = {}
    given: dict[tuple[str, str], str] = {}
    counts: dict[str, int] = {}
    pieces: list[str] = []
    at = 0
    for start, end, kind in _with_lookalikes(text, _apart(found)):
        original = text[start:end]
        word = given.get((kind, original))
        if word is None:
            counts[kind] = counts.get(kind, 0) + 1
            word = given[kind, original] = placeholder(kind, counts[kind])
            originals[word] = original
        pieces += [text[at:start], word]
        at = end
    return Redacted("".join([*pieces, text[at:]]), originals)


def _apart(found: Iterable[_Piece]) -> Iterator[_Piece]:
    """Findings that overlap are taken out as one, of the kind of the longest: nothing found may stay."""
    ordered = sorted(found, key=lambda piece: (piece[0], -piece[1]))
    held: _Piece | None = None
    longest = 0
    for piece in ordered:
        start, end, kind = piece
        if held is None or start >= held[1]:
            if held is not None:
                yield held
            held, longest = piece, end - start
            continue
        if end - start > longest:
            longest = end - start
        else:
            kind = held[2]
        held = (held[0], max(held[1], end), kind)
    if held is not None:
        yield held


def _with_lookalikes(text: str, found: Iterable[_Piece]) -> Iterator[_Piece]:
    at = 0
    for piece in found:
        yield from _lookalikes(text, at, piece[0])
        yield piece
        at = piece[1]
    yield from _lookalikes(text, at, len(text))


def _lookalikes(text: str, start: int, end: int) -> Iterator[_Piece]:
    for match in LOOKS_LIKE_ONE.finditer(text, start, end):
        yield (*match.span(), LOOKALIKE)
