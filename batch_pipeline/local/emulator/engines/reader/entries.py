"""Jobs and studies of a section: which lines belong to which entry, and what each part of them is."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from batch_pipeline.local.emulator.engines.reader.contacts import place_of
from batch_pipeline.local.emulator.engines.reader.dates import Period, find_period, find_single
from batch_pipeline.local.emulator.engines.reader.headings import folded
from batch_pipeline.local.emulator.engines.reader.lines import Line

_POSITION: Final = re.compile(
    r"engineer|developer|manager|analyst|architect|consultant|director|designer|administrator|\bintern\b|internship|"
    r"assistant|officer|specialist|coordinator|supervisor|technician|scientist|teacher|nurse|accountant|founder|"
    r"programmer|researcher|lead\b|head of|chief|clerk|representative|recruiter|planner|\bcto\b|\bceo\b|trainee|"
    r"leiter|fuhrer|entwickler|ingenieur|berater|sachbearbeiter|kaufmann|kauffrau|mitarbeiter|praktikant|techniker|"
    r"mechaniker|pfleger|lehrer|referent|buchhalter|arzt|infirmier|developpeu|charge de|charge d'|responsable|"
    r"directeur|directrice|gestionnaire|comptable|assistante|stagiaire|chef de|conseiller|enseignant|technicien|"
    r"coordinador|analista|ingenier|desarrollador|gerente|jefe|jefa|director|asistente|auxiliar|contador|"
    r"enfermer|profesor|becari|tecnic|engenheir|desenvolvedor|coordenador|assistente|estagiari|professor|"
    r"ingegnere|sviluppatore|impiegat|responsabile|tirocinante|infermier|consulente|ontwikkelaar|medewerker|"
    r"adviseur|verpleegkundige|stagiair|muhendis|gelistirici|uzman|yonetici|mudur|sorumlusu|stajyer|denetci|"
    r"ogretmen|hemsire|muhasebe|مهندس|مطور|مدير|محلل|محاسب|مسؤول|مشرف|اخصاءي|منسق|معلم|ممرض|مساعد|"
    r"经理|专员|工程师|主管|总监|助理|顾问|分析师|会计|设计师|教师|护士|实习|开发|代表"
)
_COMPANY: Final = re.compile(
    r"\b(?:gmbh|ag|kg|se|inc|llc|ltd|limited|plc|corp|corporation|company|co|group|holding|bank|council|university|"
    r"hospital|institute|agency|foundation|ministry|laborator|labs?|partners|solutions|technologies|systems|"
    r"s\.a\.|s\.l\.|s\.r\.l|srl|sarl|sas|ltda|bv|b\.v\.|nv|a\.s\.|sti|klinik|clinique|hopital|universitat|universite|"
    r"universidad|manufacturas|hoteleria|grupo|banco|empresa|gida|denetim|retail|stadt)\b|& sohne|"
    r"公司|集团|银行|医院|大学|工厂|شركة|مصرف|بنك|موسسة|مستشفى|مجموعة|جامعة"
)
_SUFFIX: Final = re.compile(
    r"^(?:inc|llc|ltd|limited|plc|gmbh|ag|corp|co|s\.?a|s\.?l|s\.?r\.?l|bv|nv)\.?$", re.I
)
_INSTITUTION: Final = re.compile(
    r"universi|college|school|institut|academy|akademi|hochschule|schul|lycee|ecole|faculte|facult|fakultat|"
    r"escuela|politecni|polytech|instituto|colegio|conservat|liceo|scuola|ateneo|gymnasium|\bihk\b|\bmit\b|\beth\b|"
    r"hogeschool|lisesi|fachschule|seminar|大学|学院|学校|中学|جامعة|معهد|كلية|مدرسة|اكاديمية"
)
_DEGREE: Final = re.compile(
    r"\b(?:b\.?sc|m\.?sc|b\.?a|m\.?a|b\.?eng|m\.?eng|bs|ms|mba|ph\.?d|dr|diplom|bachelor|master|doctorate|licence|"
    r"licenciatura|diplome|meister|ausbildung|abitur|magister|laurea|grado|bacharelado|mestrado|doutorado|"
    r"lisans|yuksek lisans|doktora|degree|associate|baccalaureat|ingenieria|certificate)\b|本科|硕士|博士|学士|大专|"
    r"بكالوريوس|ماجستير|دكتوراه|دبلوم"
)
_SPLIT: Final = re.compile(r"\s*[|·•\t]\s*|\s{3,}|\s+[–—-]\s+|,\s+|\s+(?:at|@|bei|chez)\s+")
_EDGES: Final = " \t|,;:–—-·•()（）/."
_DURATION: Final = re.compile(r"^\d+ (?:years?|months?|yrs?|mos?)\b[\w ]{0,20}$")
_LONGEST_HEAD: Final = 140


@dataclass
class Entry:
    """One job or study: header groups in order of appearance, period, place, the lines below."""

    period: Period
    groups: list[list[str]]
    place: str | None = None
    wanted: int = 0  # header lines still expected below the date
    below: list[str] = field(default_factory=list)


def read_entries(lines: list[Line], kind: Literal["work", "education"]) -> tuple[list[Entry], list[str]]:
    """`(entries, lines that belong to none)`; every line ends up in one of them."""
    entries: list[Entry] = []
    pending: list[Line] = []
    loose: list[str] = []
    for line in lines:
        period = _period(line, kind)
        if period is None:
            pending.append(line)
            continue
        entry, before = _open(period, pending, kind, first=not entries)
        if entries:
            _fill(entries[-1], before)
        else:
            loose += [one.text for one in before]
        entries.append(entry)
        pending = []
    if entries:
        _fill(entries[-1], pending)
    else:
        loose += [one.text for one in pending]
    return entries, loose


def _period(line: Line, kind: str) -> Period | None:
    if line.bullet and len(line.text) > 100:
        return None
    if (period := find_period(line.text)) is not None:
        return None if line.bullet and len(period.rest.split()) > 9 else period
    if line.bullet:
        return None
    single = find_single(line.text)
    if single is None:
        return None
    if single.start is not None:
        return single
    known = folded(single.rest)
    return single if kind == "education" and (_DEGREE.search(known) or _INSTITUTION.search(known)) else None


def _open(  # noqa: PLR0911 -- one return a layout
    period: Period, pending: list[Line], kind: str, *, first: bool
) -> tuple[Entry, list[Line]]:
    """The entry a dated line opens, and the pending lines that are not its header."""
    rest = split_parts(period.rest)
    cut = next((i + 1 for i in range(len(pending) - 1, -1, -1) if pending[i].bullet), 0)
    leading, trailing = pending[:cut], pending[cut:]
    if trailing and len(trailing[-1].text) > _LONGEST_HEAD:
        leading, trailing = pending, []
    if not rest and trailing and leading and _is_place(trailing[-1].text):
        start = next(
            (i for i, one in enumerate(leading) if not one.bullet and not _DURATION.match(one.text)), None
        )
        if start is not None:  # header, bullets, place, date: the date comes last
            entry = Entry(period, [split_parts(leading[start].text)], place=trailing[-1].text)
            entry.below += [one.text for one in [*leading[start + 1 :], *trailing[:-1]]]
            return entry, leading[:start]
    if len(rest) >= 2:
        pattern = _POSITION if kind == "work" else _INSTITUTION
        own = pattern.search(folded(" ".join(rest))) is not None
        if trailing and (not own or (first and len(trailing) == 1)):
            return Entry(period, [split_parts(trailing[-1].text), rest]), pending[:-1]
        return Entry(period, [rest]), pending
    if len(rest) == 1:
        if not trailing:
            return Entry(period, [rest], wanted=1), pending
        head = split_parts(trailing[-1].text)
        if len(head) >= 2 and _is_place(rest[0]) and not _org(rest[0], kind):
            return Entry(period, [head], place=rest[0]), pending[:-1]
        return Entry(period, [head, rest]), pending[:-1]
    if not trailing:
        return Entry(period, [], wanted=2), pending
    taken = 1 if len(split_parts(trailing[-1].text)) >= 2 else 2
    heads = trailing[-taken:]
    return Entry(period, [split_parts(one.text) for one in heads]), pending[: len(pending) - len(heads)]


def _fill(entry: Entry, lines: Iterable[Line]) -> None:
    """Lines below an entry's date: missing header lines first, then its place, then what it says."""
    untouched = True
    for line in lines:
        if not line.bullet and untouched and entry.wanted and len(line.text) <= _LONGEST_HEAD:
            entry.groups.append(split_parts(line.text))
            entry.wanted -= 1
            continue
        if not line.bullet and untouched and entry.place is None and _is_place(line.text):
            entry.place = line.text
            continue
        untouched = False
        if not _DURATION.match(line.text):
            entry.below.append(line.text)


def split_parts(text: str) -> list[str]:
    """A header line at its separators; legal forms and bracketed places stay with their name."""
    parts: list[str] = []
    for piece in _SPLIT.split(text):
        part = piece.strip(_EDGES if piece.count("(") == piece.count(")") == 0 else " \t|,;:–—-·•")
        if piece.strip().endswith(".") and part and not part.endswith("."):
            part = f"{part}."
        if not part:
            continue
        if parts and _SUFFIX.match(part):
            parts[-1] = f"{parts[-1]}, {part}"
        else:
            parts.append(part)
    return parts


def _is_place(text: str) -> bool:
    return len(text) <= 50 and place_of(text) is not None


def _org(text: str, kind: str) -> bool:
    return (_COMPANY if kind == "work" else _INSTITUTION).search(folded(text)) is not None


def as_work(entry: Entry) -> dict[str, Any]:
    """A JSON Resume `work` item."""
    parts = [part for group in entry.groups for part in group]
    known = [folded(part) for part in parts]
    position = next(
        (i for i, name in enumerate(known) if _POSITION.search(name) and not _COMPANY.search(name)), None
    )
    if position is None:
        position = next((i for i, name in enumerate(known) if _POSITION.search(name)), None)
    if position is None and len(parts) > 1:
        position = 1 if _COMPANY.search(known[0]) else 0
    others = [i for i in range(len(parts)) if i != position]
    company = next((i for i in others if _COMPANY.search(known[i])), others[0] if others else None)
    item: dict[str, Any] = {}
    if company is not None:
        item["name"] = parts[company]
    if position is not None:
        item["position"] = parts[position]
    places = [parts[i] for i in others if i != company]
    if place := ", ".join([*places, *([entry.place] if entry.place else [])]):
        item["location"] = place
    return _dated(item, entry) | ({"highlights": entry.below} if entry.below else {})


def as_education(entry: Entry) -> dict[str, Any]:
    """A JSON Resume `education` item."""
    parts = [part for group in entry.groups for part in group]
    known = [folded(part) for part in parts]
    item: dict[str, Any] = {}
    institution = next((i for i, name in enumerate(known) if _INSTITUTION.search(name)), None)
    if institution is None and parts:
        last_group = len(parts) - len(entry.groups[-1]) if entry.groups[-1] else len(parts) - 1
        institution = last_group if len(entry.groups) > 1 else len(parts) - 1
    others = [i for i in range(len(parts)) if i != institution]
    degree = next((i for i in others if _DEGREE.search(known[i])), others[0] if others else None)
    if institution is not None:
        item["institution"] = parts[institution]
    if degree is not None:
        study, middle, area = parts[degree].partition(" in ")
        item["studyType"] = study
        if middle:
            item["area"] = area
    after = [parts[i] for i in others if i != degree]
    if after and "area" not in item:
        item["area"] = after.pop(0)
    courses = [*after, *([entry.place] if entry.place else []), *entry.below]
    return _dated(item, entry) | ({"courses": courses} if courses else {})


def _dated(item: dict[str, Any], entry: Entry) -> dict[str, Any]:
    if entry.period.start:
        item["startDate"] = entry.period.start
    if entry.period.end:
        item["endDate"] = entry.period.end
    return item
