"""A line of glyphs as it is drawn, back into the order it is read.

PDFium guesses the order of lines that hold Arabic or Hebrew from the order of drawing; it turned an
address into `com.example@haddad.layla` and `C1` into `1C`. Here places decide: glyphs by x, then the
Unicode bidirectional rules backwards (UAX #9), as far as they can be undone without the embeddings
that the drawing no longer has. Words and numbers are never split; the two years of a span are put in
their order in time.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Final

_RIGHT: Final = frozenset({"R", "AL"})
_NUMBER: Final = frozenset({"EN", "AN"})
_WORD_GAP = 0.35  # of a median glyph's width: what is further apart is two words
_CELL_GAP = 6.0  # further apart than this are two cells of a row
_NUMBERS = re.compile(r"\+?[\d\u0660-\u0669\u06f0-\u06f9]+(?:[-./:,+ %][\d\u0660-\u0669\u06f0-\u06f9]+)*%?")
# the drawing does not tell which end of such a span comes first, but a span begins with its beginning
_RANGE = re.compile(
    r"(?<!\d)(\d{4})(?:[-./]\d\d?)*\s*[-\u2013\u2014]\s*(?:\d\d?[-./])*(\d{4})(?:[-./]\d\d?)*(?!\d)"
)
_BRACKETS: Final = ("()", "[]", "{}", "<>", "\u00ab\u00bb")


@dataclass(frozen=True)
class Glyph:
    """What one drawn sign says, and from where to where it stands on its line, in points."""

    text: str
    left: float
    right: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def has_right_to_left(text: str) -> bool:
    """Whether any letter of the text is written from right to left."""
    return any(unicodedata.bidirectional(sign) in _RIGHT for sign in text if sign > "\u0590")


def is_mostly_right_to_left(text: str) -> bool:
    right = sum(1 for sign in text if unicodedata.bidirectional(sign) in _RIGHT)
    return right * 2 > sum(map(str.isalpha, text))


def read_line(glyphs: Sequence[Glyph], *, from_right: bool) -> str:
    """The text of one line; `from_right` is the direction of the page it stands on."""
    placed = sorted(_with_marks(_once(glyphs)), key=lambda glyph: glyph.middle)
    if not placed:
        return ""
    wide = median(glyph.right - glyph.left for glyph in placed)
    cells: list[list[Glyph]] = [[]]
    for glyph in placed:
        previous = cells[-1][-1] if cells[-1] else None
        gap = 0.0 if previous is None else glyph.left - previous.right
        if gap > _CELL_GAP * wide and glyph.text.strip():
            cells.append([])
        elif previous and gap > _WORD_GAP * wide and glyph.text.strip() and previous.text.strip():
            cells[-1].append(Glyph(" ", previous.right, glyph.left))
        cells[-1].append(glyph)
    texts = [_read_cell(cell, from_right) for cell in cells]
    return "\t".join(reversed(texts) if from_right else texts)


def _once(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Without the second of two glyphs in one place that both say the same syllable.

    Letter and vowel sign are two glyphs, and some writers let each of them say both.
    """
    kept: list[Glyph] = []
    for glyph in glyphs:
        twin = len(glyph.text) > 1 and any(
            sorted(other.text) == sorted(glyph.text)
            and min(other.right, glyph.right) - max(other.left, glyph.left) > 0
            for other in kept[-4:]
        )
        if not twin:
            kept.append(glyph)
    return kept


def _with_marks(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Vowel signs behind the letter they stand over."""
    letters = [glyph for glyph in glyphs if unicodedata.category(glyph.text[0]) != "Mn"]
    texts = [_marks_last(glyph.text) for glyph in letters]
    for mark in glyphs:
        if unicodedata.category(mark.text[0]) != "Mn":
            continue
        if len(mark.text) > 1:
            letters.append(mark)
            texts.append(_marks_last(mark.text))
            continue
        bases = [index for index, letter in enumerate(letters) if letter.text.strip()]
        if bases:
            nearest = min(bases, key=lambda index: _distance(letters[index], mark.middle))
            texts[nearest] += mark.text
    return [Glyph(text, letter.left, letter.right) for text, letter in zip(texts, letters, strict=True)]


def _distance(letter: Glyph, place: float) -> tuple[float, float]:
    """How far a place is from a letter's edges, then from its middle."""
    return max(letter.left - place, place - letter.right, 0.0), abs(letter.middle - place)


def _marks_last(text: str) -> str:
    return "".join(sorted(text, key=lambda sign: unicodedata.category(sign) == "Mn"))


def _read_cell(glyphs: Sequence[Glyph], from_right: bool) -> str:
    """Runs of one direction, each in its own, put in the order of the page."""
    runs: list[str] = []
    for right, run in groupby(_sided(glyphs, from_right), key=lambda pair: pair[1]):
        held = [glyph for glyph, _ in run]
        if right:
            # a letter that lies under its neighbour is the one that ends further to the right
            held.sort(key=lambda glyph: -glyph.right)
        runs.append("".join(glyph.text for glyph in held))
    if from_right:
        runs.reverse()
    return _paired("".join(runs))


def _is_right(glyph: Glyph) -> bool:
    return unicodedata.bidirectional(glyph.text[0]) in _RIGHT


def _sided(glyphs: Sequence[Glyph], from_right: bool) -> list[tuple[Glyph, bool]]:
    """Each glyph and whether it is read from the right, as neighbours and numbers decide."""
    sides: list[tuple[Glyph, bool]] = []
    for right, run in groupby(glyphs, key=_is_right):
        held = list(run)
        sides += [(glyph, True) for glyph in held] if right else _between(held, from_right)
    return sides


def _between(glyphs: list[Glyph], from_right: bool) -> list[tuple[Glyph, bool]]:
    """Of glyphs without a right-to-left letter: words and numbers are read from the left."""
    kinds = [unicodedata.bidirectional(glyph.text[0]) for glyph in glyphs]
    strong = [index for index, kind in enumerate(kinds) if kind == "L" or kind in _NUMBER]
    if "L" in kinds:
        spans = [(strong[0], strong[-1] + 1)]
    else:
        # numbers alone: each is one, and their order is the page's unless they rise to the right
        text = "".join(glyph.text[0] for glyph in glyphs)
        spans = [
            found.span() for found in (*_NUMBERS.finditer(text), *_RANGE.finditer(text)) if _rises(found)
        ]
    held = [from_right] * len(glyphs)
    for start, end in spans:
        held[start:end] = [False] * (end - start)
    return list(zip(glyphs, held, strict=True))


def _rises(found: re.Match[str]) -> bool:
    """Whether a span of years begins with the earlier one; true of anything else."""
    years = found.groups()
    return not years or int(years[0]) <= int(years[1])


def _paired(text: str) -> str:
    """Brackets in turn opening and closing.

    A mirrored bracket says what it looks like with one writer and what it means with another, and
    PDFium turns some of them once more. One that stands alone, as behind a list's number, stays.
    """
    for opening, closing in _BRACKETS:
        signs = [sign for sign in text if sign in (opening, closing)]
        if len(signs) % 2 == 0 and signs != [opening, closing] * (len(signs) // 2):
            parts = re.split(f"[{re.escape(opening + closing)}]", text)
            turns = [*(opening, closing) * (len(signs) // 2), ""]
            text = "".join(part + turn for part, turn in zip(parts, turns, strict=True))
    return text
