"""Text as every later stage may rely on it, and whether it is good enough to be sent.

Cleaned text is NFC, spells ligatures and Arabic shapes by their letters, has no bidirectional or
zero-width controls, no NUL and no lone surrogate, and breaks lines with `\n` alone: U+2028, U+2029,
U+0085, VT and FF have cut JSON lines elsewhere.
"""

import re
import unicodedata
from dataclasses import dataclass

_LINE_BREAKS = re.compile("\r\n|[\r\u2028\u2029\u0085\x0b\x0c\x1c-\x1e]")
_SPLIT_WORD = re.compile("[\ufffe\x02\u00ad]\n[ \t]*")  # the hyphen a PDF reader saw at a line's end
_DROPPED = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
_BULLETS = re.compile("[\uf076\uf0a7\uf0a8\uf0b7\uf0d8\uf0fc]")  # Symbol and Wingdings list marks
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")  # icons of a font that only the file has
# ligatures and shapes of a font, and radicals in place of the characters that they are part of
_SHAPES = re.compile(
    "[\u2e9f\u2ef3\u2f00-\u2fd5\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufb4f\ufb50-\ufdff\ufe70-\ufefc]"
)
_SPACES = re.compile("[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_LINE_EDGES = re.compile(" *\n *")
_BLANK_LINES = re.compile("\n{3,}")
_JOINERS = re.compile("[\u200c\u200d]")


def clean(text: str) -> str:
    """Idempotent: cleaning twice changes nothing."""
    text = _LINE_BREAKS.sub("\n", text)
    text = _SPLIT_WORD.sub("", text)
    text = _PRIVATE.sub(" ", _BULLETS.sub("\u2022", _DROPPED.sub("", text)))
    text = _SHAPES.sub(lambda shape: unicodedata.normalize("NFKC", shape.group()), text)
    # zero-width joiners spell words in Persian and Indic scripts; between Latin letters they are noise
    if _JOINERS.search(text) and not re.search("[\u0600-\u06ff\u0900-\u0dff]", text):
        text = _JOINERS.sub("", text)
    text = unicodedata.normalize("NFC", text)
    text = _LINE_EDGES.sub("\n", _SPACES.sub(" ", text)).strip()
    return _BLANK_LINES.sub("\n\n", text).strip("\n")


@dataclass(frozen=True)
class Quality:
    """How much of a text, as it was read, reads like text.

    `letters` excludes digits; shares are of visible characters. Private characters are a few icons
    in a good text and everything in one whose font map is missing.
    """

    visible: int
    letters: int
    broken_share: float
    private_share: float
    readable_share: float
    single_share: float

    @property
    def is_bad(self) -> bool:
        """A broken font map or a bad recognition layer: a person could not read this."""
        if self.visible < 20:
            return self.visible > 0 and self.letters == 0
        return (
            self.broken_share > 0.05
            or self.private_share > 0.3
            or self.readable_share + self.private_share < 0.55
            or self.single_share > 0.75
        )


_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 40_000
_SPELLED_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af]")


def quality(text: str) -> Quality:
    """Judge the first 40,000 characters of a text."""
    sample = text[:_SAMPLE]
    visible = "".join(sample.split())
    letters = sum(map(str.isalpha, visible))
    digits = sum(map(str.isdigit, visible))
    broken = visible.count("\ufffd")
    private = len(_PRIVATE.findall(visible))
    words = _WORD.findall(sample)
    latin_like = [word for word in words if not _SPELLED_WITHOUT_SPACES.search(word)]
    singles = sum(1 for word in latin_like if len(word) == 1)
    total = max(len(visible), 1)
    return Quality(
        len(visible),
        letters,
        broken / total,
        private / total,
        (letters + digits) / total,
        singles / len(latin_like) if len(latin_like) >= 20 else 0.0,
    )
