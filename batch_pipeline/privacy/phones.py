"""Where phone numbers stand in a text."""

import re
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

import phonenumbers

# Whose numbers without a country code are known.
_REGIONS: Final = (
    *("BR", "US", "GB", "DE", "FR", "ES", "IT", "PT", "NL", "BE", "AT", "CH", "IE", "PL", "TR", "MX"),
    *("AR", "CL", "CO", "IN", "AU", "SE", "DK", "NO"),
)
_RUN: Final = re.compile(r"(?<![\w+€$£])(?:\+ ?|\(\+?|\d)[\d()./\- –\u2011]{5,44}\d(?!\w)")
_PARTS: Final = re.compile(r" ?/ ?| {2,}| [-–] ")
# as a right-to-left layout turns a number round
_TURNED: Final = re.compile(r"(?<!\w)\d[\d ]{5,20} \+\d{1,3}(?! ?\w)|(?<!\w)\d[\d ]{5,20}\d\+(?!\w)")
_LABEL: Final = re.compile(
    r"(?:tel|phone|mob|cell?|fone|fono|handy|fax|whatsapp|kontakt|contact|móvil|telemóvel|celular|電話|电话|手机|هاتف)"
    r"[\w.]* ?[:：.)]? ?$|[☎☏✆📞📱] ?$",
    re.IGNORECASE,
)
_BLANKS: Final = re.compile(r" (?:[/–-] )?")
_GROUPS: Final = re.compile(r"\d+")
_AMOUNTS: Final = re.compile(r"\d{1,3}(?:[.,]\d{3})+(?:,\d\d)?(?: ?[-–/] ?\d{1,3}(?:[.,]\d{3})+)*")
_INTERNET_ADDRESS: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_DAY: Final = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_LEAST, _MOST = 8, 15  # digits
_MOST_GROUPS = 7


def phones(text: str, known: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """Numbers with a country code by their shape, others where they are valid in a region; and, in whatever
    spelling, those in `known`."""
    tails = {digits[-8:] for digits in map(_digits, known) if len(digits) >= 7}
    for run in _RUN.finditer(text):
        for part in _parts(text, *run.span()):
            yield from islice((span for span in _within(text, *part) if _counts(text, *span, tails)), 1)
    if "+" in text:
        for found in _TURNED.finditer(text):
            yield found.span()


def _digits(written: str) -> str:
    return "".join(_GROUPS.findall(written))


def _parts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Two numbers side by side are two, unless only together they are one."""
    parts, at = [], start
    for gap in _PARTS.finditer(text, start, end):
        parts.append((at, gap.start()))
        at = gap.end()
    parts.append((at, end))
    one = len(_digits(text[start:end])) <= _MOST
    if one and any(len(_digits(text[first:last])) < _LEAST - 1 for first, last in parts):
        return [(start, end)]
    return parts


def _within(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The whole, then without what may stand behind a number or before it, such as a year."""
    yield start, end
    gaps = [found.span() for found in _BLANKS.finditer(text, start, end)]
    for first, _ in reversed(gaps):
        yield start, first
    for _, last in gaps:
        yield last, end


def _counts(text: str, start: int, end: int, tails: Container[str]) -> bool:
    written = text[start:end]
    digits = _digits(written)
    if not _LEAST - 1 <= len(digits) <= _MOST or len(_GROUPS.findall(written)) > _MOST_GROUPS:
        return False
    return digits[-8:] in tails or _is_phone(written, digits, text[max(0, start - 24) : start])


def _is_phone(written: str, digits: str, before: str) -> bool:
    if len(digits) < _LEAST or _is_something_else(written):
        return False
    if written.lstrip("(").startswith(("+", "00")):
        return True
    labelled = _LABEL.search(before) is not None
    shaped = written.startswith(("0", "(")) or len(digits) >= 10
    return labelled or (shaped and _is_valid_somewhere(written))


def _is_something_else(written: str) -> bool:
    groups = _GROUPS.findall(written)
    years = [group for group in groups if _YEAR.fullmatch(group)]
    if years and all(len(group) <= 2 or _YEAR.fullmatch(group) for group in groups):
        return True
    other = _AMOUNTS.fullmatch(written) or _INTERNET_ADDRESS.fullmatch(written)
    return all(_DAY.fullmatch(group) for group in groups) or other is not None


@lru_cache(maxsize=4096)
def _is_valid_somewhere(written: str) -> bool:
    for region in _REGIONS:
        try:
            number = phonenumbers.parse(written, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            return True
    return False
