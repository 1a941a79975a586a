"""Where the names that are known of people stand in a text."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+")
_CJK: Final = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_LETTERS: Final = 3  # shorter parts count only within a whole name
_GAP: Final = 3  # signs between two words of one name: a blank, a comma and a blank, an initial's dot


def _words(*lists: str) -> frozenset[str]:
    return frozenset(word for words in lists for word in words.split())


# Never a name by themselves: they stand in every text of their languages.
_PARTICLES: Final = _words(
    "aan abu auf ben bin bint dal dalla das degli dei del della den der des di dos el ibn las los",
    "mac san santa ten ter und van vom von zum zur and the",
)
# In small letters the word, with a capital the name.
_ALSO_WORDS: Final = _words(
    "amber angel art august autumn baker bill black brown carpenter chase clark cook cruz dean",
    "dolores drew earl faith fisher ford frank franco gene grace grant gray green hope hunter iris",
    "jack jade joy june king klein lance long luz major marina mark mason may miles miller nick page",
    "paris parker pat pearl penny pierre pilar porter price ray reis rich rob rocha rosa rose ruby",
    "sage santos schneider sierra silva sky small smith stark stern stone strong summer swift victor",
    "viola violet ward west white will wolf wood young",
)
_NO_MARK: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "’": "'"})
_SPELLED_OUT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


def names(text: str, known: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Each word of a whole name by itself, so that a model can tell given and family name; then parts of
    three letters and more, wherever they stand. Capitals and accents make no difference."""
    wanted = _wanted(tuple(known))
    for pattern in wanted.unspaced:
        for found in pattern.finditer(text):
            yield found.span()
    if not wanted.parts and not wanted.wholes:
        return
    words = [(*found.span(), _folded(found[0])) for found in _WORD.finditer(text)]
    for at, (start, end, word) in enumerate(words):
        for whole in wanted.wholes.get(word, ()):
            here = words[at : at + len(whole)]
            if tuple(one[2] for one in here) == whole and _close(here):
                for first, last, _ in here:
                    yield first, last
        if word in wanted.parts and not (word in _ALSO_WORDS and text[start].islower()):
            yield start, end


@dataclass(frozen=True)
class _Wanted:
    wholes: dict[str, list[tuple[str, ...]]]  # by their first word
    parts: frozenset[str]
    unspaced: tuple[re.Pattern[str], ...]  # of scripts without blanks between words


@lru_cache(maxsize=1024)
def _wanted(known: tuple[str, ...]) -> _Wanted:
    wholes: set[tuple[str, ...]] = set()
    parts: set[str] = set()
    unspaced: set[str] = set()
    for name in known:
        if _CJK.search(name):
            letters = [letter for letter in name if not letter.isspace()]
            if len(letters) > 1:
                unspaced.add(" ?".join(map(re.escape, letters)))
            continue
        for spelled in {name, unicodedata.normalize("NFC", name).lower().translate(_SPELLED_OUT)}:
            words = tuple(_folded(word) for word in _WORD.findall(spelled))
            if len(words) > 1:
                wholes |= {words, (words[-1], *words[:-1])}
            parts |= {word for word in words if len(word) >= _LETTERS and word not in _PARTICLES}
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for whole in sorted(wholes):
        by_first.setdefault(whole[0], []).append(whole)
    return _Wanted(by_first, frozenset(parts), tuple(map(re.compile, sorted(unspaced))))


@lru_cache(maxsize=65_536)
def _folded(word: str) -> str:
    word = word.casefold()
    if word.isascii():
        return word
    plain = unicodedata.normalize("NFKD", word.translate(_NO_MARK))
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def _close(words: Sequence[tuple[int, int, str]]) -> bool:
    return all(after[0] - before[1] <= _GAP for before, after in pairwise(words))
