"""Whether a text holds the small words of any language: a recognition layer of nonsense holds none.

Only for texts in Latin letters, and only where a picture can be looked at instead: a list of skills
has few small words too.
"""

import re
from typing import Final

_LISTS: Final = (
    # English, German, French, Spanish, Portuguese, Italian, Dutch
    "and the of in to for with on at from by as an",
    "und der die das den dem des mit von zu im am bei als für ein eine auf nach bis zur zum",
    "et de la le les des du un une en au aux dans pour avec sur par",
    "el los las del con para por una en desde hasta como",
    "da do dos das em no na nos nas ao com uma os desde até",
    "di il lo gli della dei delle per con nel nella presso al alla dal",
    "van het een en voor bij met op aan te uit",
    # Turkish, Polish, Czech, Hungarian, Romanian, Swedish, Danish and Norwegian, Finnish
    "ve ile için bir olarak den dan",
    "oraz na do od ze przy dla po jako",
    "ve se od pro při jako",
    "és az egy hogy meg",
    "și la cu din pentru în pe",
    "och att av till på som vid för med från",
    "og af til ved som fra på med",
    "ja on sekä",
)
_WORDS: Final = frozenset(word for words in _LISTS for word in words.split())
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_LATIN: Final = re.compile(r"[a-z\u00df-\u024f]+", re.IGNORECASE)
_ENOUGH: Final = 60
_LEAST: Final = 0.02


def holds_no_common_word(text: str) -> bool:
    """Of at least sixty words in Latin letters hardly any is a small word of a language."""
    words = [word.casefold() for word in _WORD.findall(text[:40_000])]
    latin = [word for word in words if _LATIN.fullmatch(word)]
    if len(latin) < _ENOUGH or len(latin) * 2 < len(words):
        return False
    return sum(word in _WORDS for word in latin) < _LEAST * len(latin)
