"""Dates and periods of CV entries as partial ISO dates."""

import re
from dataclasses import dataclass
from typing import Final

from batch_pipeline.local.emulator.engines.reader.headings import folded

_MONTHS: Final = {
    1: "january januar janvier enero janeiro gennaio januari ocak يناير jan ene gen oca janv jaen",
    2: "february februar fevrier febrero fevereiro febbraio februari subat فبراير feb fev fevr sub",
    3: "march marz mars marzo marco maart mart مارس mar mrt maer mrz",
    4: "april avril abril aprile nisan أبريل ابريل apr avr abr nis",
    5: "may mai mayo maio maggio mei mayis مايو mag",
    6: "june juni juin junio junho giugno haziran يونيو jun giu haz",
    7: "july juli juillet julio julho luglio temmuz يوليو jul juil lug tem",
    8: "august aout agosto augustus agustos أغسطس اغسطس aug ago agu",
    9: "september septembre septiembre setembro settembre eylul سبتمبر sep sept set eyl",
    10: "october oktober octobre octubre outubro ottobre ekim أكتوبر اكتوبر oct okt out ott eki",
    11: "november novembre noviembre novembro kasim نوفمبر nov kas",
    12: "december dezember decembre diciembre dezembro dicembre aralik ديسمبر dec dez dic ara",
}
_MONTH_NUMBER: Final = {folded(name): number for number, names in _MONTHS.items() for name in names.split()}
_MONTH_NAMES: Final = "|".join(
    sorted(
        {
            *_MONTH_NUMBER,
            *[
                "février",
                "août",
                "décembre",
                "märz",
                "jänner",
                "şubat",
                "ağustos",
                "eylül",
                "kasım",
                "aralık",
                "fév",
                "déc",
            ],
        },
        key=len,
        reverse=True,
    )
)
_PRESENT: Final = (
    r"present|current|now|ongoing|to date|today|heute|jetzt|aktuell|laufend|aujourd['’]hui|actuellement|"
    r"actualité|actuel|ce jour|en cours|actualidad|actual|presente|la fecha|hoy|atual|atualmente|o momento|"
    r"hoje|oggi|attuale|in corso|heden|nu|halen|devam ediyor|günümüz|bugün|حتى الآن|الآن|الى الآن|الحاضر|"
    r"至今|现在|目前"
)
_YEAR: Final = r"(?:19|20)\d\d"
_DATE: Final = (
    rf"(?:{_YEAR}[-/.](?:0[1-9]|1[0-2]|[1-9])(?:[-/.](?:[0-2]\d|3[01]))?(?!\d)|{_YEAR}\s?年(?:\s?\d{{1,2}}\s?月)?|"
    rf"(?:[0-3]?\d[./])?(?:0?[1-9]|1[0-2])[./]{_YEAR}|(?:0[1-9]|1[0-2])\s{_YEAR}|"
    rf"(?:{_MONTH_NAMES})\.?,?\s(?:de\s|del\s)?{_YEAR}|{_YEAR})"
)
_SEPARATOR: Final = r"\s*(?:–|—|-|−|~|→|\bto\b|\buntil\b|\bbis\b|\bà\b|\bau\b|\bhasta\b|\ba\b|\baté\b|\bal\b|\btot\b|إلى|至|حتى)\s*"
_PERIOD: Final = re.compile(
    rf"(?<![\w@/])(?P<start>{_DATE}){_SEPARATOR}(?:(?P<end>{_DATE})|(?P<open>{_PRESENT}))(?!\w)",
    re.IGNORECASE,
)
_ONGOING: Final = re.compile(
    rf"(?<!\w)(?P<open>{_PRESENT})\s*[–—-]\s*(?P<start>{_DATE})|"
    rf"(?<!\w)(?:since|seit|depuis|desde|dal|sinds|منذ)\s(?P<since>{_DATE})",
    re.IGNORECASE,
)
_SINGLE: Final = re.compile(rf"(?<![\w@/.-]){_DATE}(?![\w@])", re.IGNORECASE)
_ANY_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_PARTS: Final = re.compile(r"\d+|[^\W\d_]+")
_RTL: Final = re.compile(r"[\u0600-\u06ff]")


@dataclass(frozen=True)
class Period:
    """When something was; `rest` is the line without it. No end and `current`: it goes on."""

    start: str | None
    end: str | None
    current: bool
    rest: str


def iso(text: str) -> str | None:
    """`2020-03`, `March 2020`, `03/2020`, `2020年3月`, `2020` -> `YYYY-MM` or `YYYY`; None if no date."""
    year = month = None
    for part in _PARTS.findall(text):
        if len(part) == 4 and part.isdigit():
            year = part
        elif part.isdigit() and len(part) <= 2:
            if year is None or month is None:
                month = month if year is not None and month else int(part)
        elif (number := _MONTH_NUMBER.get(folded(part))) is not None:
            month = number
    if year is None:
        return None
    return f"{year}-{month:02d}" if month and 1 <= month <= 12 else year


def find_period(line: str) -> Period | None:
    """The period of a line, read from either side where the text runs right to left."""
    if _ANY_YEAR.search(line) is None:
        return None
    if (found := _PERIOD.search(line)) is not None:
        start, end = iso(found["start"]), iso(found["end"]) if found["end"] else None
        if start and end and start > end and _RTL.search(line) is None and start[:4] != end[:4]:
            return None  # numbers, not a period
        if start and end and start[:4] > end[:4]:
            start, end = end, start
        return Period(start, end, found["open"] is not None, _without(line, found))
    if (found := _ONGOING.search(line)) is not None:
        return Period(iso(found["start"] or found["since"]), None, True, _without(line, found))
    return None


def find_single(line: str) -> Period | None:
    """A lone date at the end or the start of a line, or two beside each other without a dash."""
    if _ANY_YEAR.search(line) is None:
        return None
    found = list(_SINGLE.finditer(line))
    if len(found) == 1:
        one = found[0]
        if one.start() > 2 and one.end() < len(line.rstrip(" )）")) - 1:
            return None
        return Period(None, iso(one[0]), False, _without(line, one))
    if len(found) == 2:
        first, second = sorted((iso(found[0][0]) or "", iso(found[1][0]) or ""))
        rest = line[: found[0].start()] + line[found[0].end() : found[1].start()] + line[found[1].end() :]
        return Period(first, second, False, rest)
    return None


def find_date(line: str) -> str | None:
    """The first date of a line."""
    found = _SINGLE.search(line)
    return iso(found[0]) if found else None


def _without(line: str, found: re.Match[str]) -> str:
    return f"{line[: found.start()]} \t{line[found.end() :]}"
