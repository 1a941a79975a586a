"""A CV's text as body lines: bullets marked, wrapped lines joined, grouped under their headings."""

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Final

from batch_pipeline.local.emulator.engines.reader.dates import find_period
from batch_pipeline.local.emulator.engines.reader.headings import Section, section_of

_BULLET: Final = re.compile(
    r"^\s*(?:[•◦▪‣·●○■□➢➤►▶✓✔*>\ue000-\uf8ff\x00-\x08\x0e-\x1f\x7f]\s*|[-–—]\s+|\(?\d{1,2}[.)]\s+)"
)
_ICONS: Final = re.compile(r"[\ue000-\uf8ff]")
_INVISIBLE: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\ufeff]")
_JOINERS: Final = frozenset(
    [
        "and",
        "of",
        "the",
        "de",
        "del",
        "la",
        "y",
        "e",
        "et",
        "und",
        "von",
        "van",
        "der",
        "des",
        "for",
        "to",
        "in",
        "with",
        "&",
        "di",
        "da",
        "dos",
        "do",
        "en",
        "ve",
        "a",
    ]
)
_LEADING_LOWER: Final = re.compile(r"^[a-zà-ÿ(]")


@dataclass
class Line:
    """One body line without its bullet."""

    text: str
    bullet: bool


@dataclass
class Block:
    """The lines below one heading; `section` None before the first."""

    section: Section | None
    lines: list[Line] = field(default_factory=list)


def blocks_of(text: str) -> list[Block]:
    """Every line of the text in exactly one block, in order."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    blocks = [Block(None)]
    wrapped = False
    for raw in text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ").split("\n"):
        stripped = raw.strip()
        if not stripped:
            wrapped = False
            continue
        bullet = _BULLET.match(raw) is not None and len(stripped) > 2
        body = _BULLET.sub("", raw).strip() if bullet else stripped
        if not body.isprintable():
            body = _INVISIBLE.sub("", body)
        if not body.isascii():
            body = _ICONS.sub(" ", body).strip() if bullet else _ICONS.sub(" | ", body).strip(" |")
        if not body:
            continue
        section = None if bullet else section_of(body)
        if section is not None:
            blocks.append(Block(section))
            wrapped = False
            continue
        lines = blocks[-1].lines
        if lines and not bullet and _continues(lines[-1], body, wrapped):
            lines[-1].text = f"{lines[-1].text} {body}"
        else:
            lines.append(Line(body, bullet))
        wrapped = len(raw) >= 20 and raw.endswith(" ") and not raw.endswith("  ")
    return blocks


def _continues(last: Line, body: str, wrapped: bool) -> bool:
    """Whether a line goes on where the one before was broken."""
    end = last.text
    if "@" in body or "@" in end:
        return False
    if wrapped or (end.endswith((",", " -")) and len(end) > 15):
        return find_period(body) is None or end.endswith(",")
    if end.rsplit(" ", 1)[-1].lower() in _JOINERS and len(end) > 20:
        return True
    return last.bullet and len(end) > 40 and _LEADING_LOWER.match(body) is not None
