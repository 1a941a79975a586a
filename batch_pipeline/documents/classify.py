"""Is this text a CV? Cheap scoring by headings, dates and contacts in many languages.

Text alone gives a Kind and a score; `verdict` then weighs how the export declared the file. A file
declared as a resume stays a CV unless it is clearly something else, for a CV that is lost cannot be
found again and a letter that is sent costs a cent. A file declared as a letter or as something else
becomes a CV only on evidence (trap 26).
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from batch_pipeline.documents.classify_words import (
    CERTIFICATE_PHRASES,
    CLOSING,
    HEADINGS,
    JOB_PHRASES,
    LETTER_PHRASES,
    PAYSLIP_PHRASES,
    SALUTATION,
    TITLES,
)
from batch_pipeline.documents.reasons import Reason

_SAMPLE = 12_000


class Kind(StrEnum):
    """What a text is by itself."""

    CV = "cv"
    COVER_LETTER = "cover_letter"
    PAYSLIP = "payslip"
    JOB_DESCRIPTION = "job_description"
    CERTIFICATE = "certificate"
    UNCLEAR = "unclear"


_MONTH = r"(?:[^\W\d_]{3,10}\.?\s+)?"
_NOW = (
    r"present|now|today|current|ongoing|heute|jetzt|aktuell|laufend|aujourd.hui|présent|en cours|actual(?:idad)?|"
    r"presente|hoy|atual|atualmente|oggi|attuale|heden|nu|halen|günümüz|devam|obecnie|teraz|idag|nå|nykyinen|"
    r"dosud|prezent|jelenleg|σήμερα|настоящее|по н\.?\s?в|тепер|حتى الآن|الآن|حالياً|اکنون|כיום|היום|至今|现在|現在|현재|"
    r"hiện (?:tại|nay)|sekarang"
)
_YEAR = r"(?:19[5-9]\d|20[0-4]\d)"
# begins at a year and not at the month before it: a scan for digits is four times as fast
_RANGE = re.compile(
    rf"{_YEAR}(?:[./-]\d{{1,2}}|[年.]\s?\d{{0,2}}月?)?\s*(?:[-–—~〜/－]|to|until|bis|à|au|a|al|tot|till|do|по)\s*"
    rf"(?:{_MONTH}(?:\d{{1,2}}[./-])?{_YEAR}|{_NOW})"
)
_SINCE = re.compile(rf"\b(?:since|seit|depuis|desde|dal|sinds|od|с)\s+{_MONTH}{_YEAR}")
_YEARS = re.compile(rf"(?<!\d){_YEAR}(?!\d)")
_TOKENS = re.compile(r"\w+(?:['’&-]\w+)*")
_EMAIL = re.compile(r"[^\s@<>|]{1,64}@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?<![\w/.-])(?:\+|00|\()?\d[\d\s().\u2011/-]{6,18}\d(?![\w/])")


def _entries(words: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in words.split("|"))


_HEADINGS: Final = _entries(HEADINGS)
_TITLES: Final = _entries(TITLES)
_TITLE_STARTS: Final = frozenset(title.split()[0] for title in _TITLES)
_TITLE_ENDS: Final = frozenset(title.split()[-1] for title in _TITLES)
_PHRASES: Final = {
    Kind.COVER_LETTER: _entries(LETTER_PHRASES),
    Kind.PAYSLIP: _entries(PAYSLIP_PHRASES),
    Kind.JOB_DESCRIPTION: _entries(JOB_PHRASES),
    Kind.CERTIFICATE: _entries(CERTIFICATE_PHRASES),
}
_EDGES = " \t:-\u2010\u2013\u2014|*#•.=_0123456789()[]>·▪■"


@dataclass(frozen=True)
class Judgement:
    """`score` is the evidence for a CV (3 and more is evidence); `kind` weighs it against the rest."""

    kind: Kind
    score: float


def judge(text: str) -> Judgement:
    """Judge the first 12,000 characters of a cleaned text."""
    sample = text[:_SAMPLE]
    lines = [line.casefold() for line in sample.split("\n")]
    headings, titled = _headings(lines)
    folded = "\n".join(lines)
    ranges = len(_RANGE.findall(folded)) + len(_SINCE.findall(folded))
    score = 1.0 * min(headings, 6) + 0.8 * min(ranges, 5)
    score += 0.15 * min(len(_YEARS.findall(sample)), 6)
    score += 1.0 * bool(_EMAIL.search(sample)) + 0.5 * bool(_PHONE.search(sample))
    score += 2.5 * titled
    said = _phrases(lines)
    letter = 2.0 * bool(SALUTATION.search(sample)) + 2.0 * bool(CLOSING.search(sample))
    others = {
        Kind.COVER_LETTER: letter + 1.5 * min(said[Kind.COVER_LETTER], 3),
        Kind.PAYSLIP: (2.0 if len(sample) < 4000 else 1.0) * min(said[Kind.PAYSLIP], 4),
        Kind.JOB_DESCRIPTION: 1.3 * min(said[Kind.JOB_DESCRIPTION], 6),
        Kind.CERTIFICATE: 2.5 * min(said[Kind.CERTIFICATE], 3),
    }
    rival = max(others, key=lambda kind: others[kind])
    # a letter and a CV in one file (a German Bewerbung) is a CV: it has dated stations, a letter has none
    history = headings >= 2 and (ranges >= 2 or titled)
    if others[rival] >= 4 and others[rival] > score and not (rival is Kind.COVER_LETTER and history):
        return Judgement(rival, score)
    return Judgement(Kind.CV if score >= 3 else Kind.UNCLEAR, score)


def _headings(lines: list[str]) -> tuple[int, bool]:
    """Distinct section headings (a line of its own, or before a colon), and whether a title is there."""
    found: set[str] = set()
    titled = False
    for line in lines:
        bare = line.strip(_EDGES)
        titled = titled or _is_title(bare)
        if len(bare) > 40:
            bare = bare[:40]
        head = bare if bare in _HEADINGS else bare.partition(":")[0].rstrip()
        if head in _HEADINGS and head not in _TITLES:
            found.add(head)
    return len(found), titled


def _is_title(line: str) -> bool:
    words = line.split()
    if not words or len(line) > 120 or not (words[0] in _TITLE_STARTS or words[-1] in _TITLE_ENDS):
        return False
    return any(
        line == title or line.startswith(f"{title} ") or line.endswith(f" {title}") for title in _TITLES
    )


def _phrases(lines: list[str]) -> dict[Kind, int]:
    """How many distinct phrases of each kind the text holds."""
    flat = " ".join(lines)
    spaced = f" {' '.join(_TOKENS.findall(flat))} "
    return {
        kind: sum(
            1 for phrase in phrases if (f" {phrase} " in spaced if phrase.isascii() else phrase in flat)
        )
        for kind, phrases in _PHRASES.items()
    }


_RESUME: Final = frozenset({"resume", "cv"})
_REASONS: Final = {
    Kind.COVER_LETTER: Reason.COVER_LETTER,
    Kind.PAYSLIP: Reason.PAYSLIP,
    Kind.JOB_DESCRIPTION: Reason.JOB_DESCRIPTION,
    Kind.CERTIFICATE: Reason.CERTIFICATE,
}


def not_a_cv(kind: Kind | None, declared: Collection[str | None]) -> Reason | None:
    """Why a document is not a CV, or None for a CV.

    `kind` is None where there is no text to judge (a scan). `declared` holds what each reference to
    the document was declared as; None is a reference without a type, such as a bundle's member.
    """
    if kind in _REASONS:
        return _REASONS[kind]
    if kind is Kind.CV or None in declared or _RESUME & set(declared):
        return None
    return Reason.COVER_LETTER if set(declared) == {"cover_letter"} else Reason.DECLARED_NOT_CV
