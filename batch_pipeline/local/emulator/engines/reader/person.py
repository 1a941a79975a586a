"""Who a CV is about: name, label, summary and place, from the head of the page or its side column."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from batch_pipeline.local.emulator.engines.reader import contacts as contact_patterns
from batch_pipeline.local.emulator.engines.reader.contacts import Contacts
from batch_pipeline.local.emulator.engines.reader.dates import find_period
from batch_pipeline.local.emulator.engines.reader.headings import folded
from batch_pipeline.local.emulator.engines.reader.lines import Block

_TITLES: Final = re.compile(
    r"\s*[-–—|:]*\s*(?:\(?fictional\)?\s*[-–—]\s*)?\b(?:curriculum vitae|curriculum|lebenslauf|resume|résumé|cv|"
    r"europass|bewerbung|özgeçmiş|السيرة الذاتية|سيرة ذاتية|个人简历|简历)\b\s*[-–—:|]*\s*",
    re.IGNORECASE,
)
_NAME_LABEL: Final = re.compile(
    r"^(?:full name|name|vor- und nachname|nom(?: et prénom)?|nombre(?: completo)?|nome(?: completo)?|naam|"
    r"ad soyad|adı soyadı|الاسم|姓名)\s*[:：\t]\s*(.+)$",
    re.IGNORECASE,
)
_HEAD_WORDS: Final = re.compile(r"^\s*(?:personal (?:information|details|data)|persönliche angaben)\s+", re.I)
_PARTICLES: Final = frozenset(
    [
        "de",
        "da",
        "do",
        "dos",
        "das",
        "di",
        "del",
        "della",
        "van",
        "von",
        "der",
        "den",
        "la",
        "le",
        "al",
        "el",
        "bin",
        "ben",
        "y",
        "e",
        "zu",
    ]
)
_CJK: Final = re.compile(r"^[\u4e00-\u9fff·]{2,5}$")
_ARABIC: Final = re.compile(r"[\u0600-\u06ff]")
_NO_NAME: Final = re.compile(r"[\d@:;/|<>%!?\"“”_=+*#{}\[\]]|\.\s*$|\s[–—-]\s")
# A word in brackets stands for a part of a name that was taken out before the text was sent.
_TAKEN_OUT: Final = re.compile(r"\[NAME_\d+\]")
_LOCAL: Final = re.compile(r"[^a-z]+")
_CONTACT_LABEL: Final = re.compile(
    r"^(?:e-?mail|tel(?:efon|éfono|ephone)?|phone|mobile?|handy|fax|web)\b\.?\s*:?", re.I
)
_LAST_UPDATED: Final = re.compile(r"^last updated\b", re.IGNORECASE)


@dataclass
class Person:
    """What the head says. `loose` are lines of it that fit nowhere."""

    name: str | None = None
    label: str | None = None
    summary: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    contacts: Contacts = field(default_factory=Contacts)

    def as_basics(self, summary: list[str]) -> dict[str, Any]:
        basics: dict[str, Any] = {}
        if self.name:
            basics["name"] = self.name
        if self.label:
            basics["label"] = self.label
        if text := "\n".join([*summary, *self.summary, *self.loose]):
            basics["summary"] = text
        return basics | contact_patterns.as_resume(self.contacts)


def read_person(text: str, blocks: list[Block]) -> Person:
    """Read the person; lines used leave their blocks, so that no section reads them again."""
    person = Person()
    person.contacts.email = contact_patterns.find_email(text)
    head = _head(blocks)
    at = _find_name(head, person.contacts.email)
    if at is not None:
        block, index, person.name = at
        if block.section is None:
            before, after = block.lines[:index], block.lines[index + 1 :]
        else:
            before, after = [], block.lines[index + 1 :]
        block.lines = [] if block.section is None else block.lines[:index]
        _read_head([line.text for line in before], person, labelled=False)
        _read_head([line.text for line in after], person, labelled=True)
    for block in blocks:
        if block.section == "contact" or (block.section is None and block.lines):
            cities = block.section == "contact"
            _read_head([line.text for line in block.lines], person, labelled=False, cities=cities)
            block.lines = []
    return person


def _head(blocks: list[Block]) -> list[Block]:
    """The blocks before the first job or study: there the name stands, in whatever column."""
    head: list[Block] = []
    for block in blocks:
        if block.section in ("work", "education"):
            break
        head.append(block)
    return head or blocks[:1]


def _find_name(head: list[Block], email: str | None) -> tuple[Block, int, str] | None:
    local = folded(email.partition("@")[0]) if email else ""
    tokens = [token for token in _LOCAL.split(local) if len(token) > 2]
    best: tuple[int, Block, int, str] | None = None
    fallback: tuple[Block, int, str] | None = None
    for block in head:
        for index, line in enumerate(block.lines[:60]):
            if (labelled := _NAME_LABEL.match(line.text)) is not None:
                return block, index, labelled[1].strip()
            name = name_in(line.text) if not line.bullet else None
            if name is None:
                continue
            plain = folded(name).replace(" ", "").replace("-", "")
            score = sum(token in plain for token in tokens)
            if score and (best is None or score > best[0]):
                best = (score, block, index, name)
            in_head = block.section is None or (block is head[-1] and head[0].lines == [])
            if in_head and (fallback is None or (fallback[0].section is not None and block.section is None)):
                fallback = (block, index, name)
    if best is not None:
        return best[1:]
    return fallback


def name_in(line: str) -> str | None:  # noqa: PLR0911 -- one a script
    """The line as a person's name, without titles of the page; None if it cannot be one."""
    if len(line) > 80:
        return None
    text = _HEAD_WORDS.sub("", _TITLES.sub(" ", line))
    text = text.split(" | ")[0].split(", ")[0].replace("(fictional)", "").strip(" ,|–—-")
    plain = _TAKEN_OUT.sub("Name", text)
    if not text or _NO_NAME.search(plain) is not None:
        return None
    if _CJK.match(text) or _TAKEN_OUT.fullmatch(text):
        return text
    words = plain.split()
    if not 2 <= len(words) <= 6:
        return None
    if _ARABIC.search(text):
        return text if len(words) <= 5 and all(word.isalpha() for word in words) else None
    for word in words:
        if not (
            word[0].isupper() or word.lower() in _PARTICLES or (not word.isascii() and not word[0].islower())
        ):
            return None
    return text


def _read_head(lines: list[str], person: Person, *, labelled: bool, cities: bool = False) -> None:
    """Lines around the name: label right below it, contact lines, then prose.

    A bare word is a city only in a contact column (`cities`); elsewhere it could be anything.
    """
    for number, line in enumerate(lines):
        if _is_contact(line):
            _read_contact(line, person)
        elif labelled and person.label is None and number <= 1 and _is_label(line):
            person.label = line
        elif not labelled and (place := _place(line, person, cities=cities)) is not None:
            person.contacts.location = place
        elif _TITLES.fullmatch(line) or _LAST_UPDATED.match(line):
            continue
        elif labelled and (len(line) >= 30 or (not line.isascii() and len(line) >= 14)):
            person.summary.append(line)
        else:
            person.loose.append(line)


def _place(line: str, person: Person, *, cities: bool) -> dict[str, str] | None:
    place = None if person.contacts.location else contact_patterns.place_of(line)
    if place is None or (person.name and person.name in line):
        return None
    return place if cities or len(place) > 1 else None


def _is_contact(line: str) -> bool:
    return (
        "@" in line
        or contact_patterns.find_email(line) is not None
        or _CONTACT_LABEL.match(line) is not None
        or contact_patterns.find_phone(line) is not None
        or (len(line) < 90 and contact_patterns.has_link(line))
    )


def _is_label(line: str) -> bool:
    return (
        len(line) <= 90 and not line.endswith((".", "。")) and len(line.split()) <= 10
        and find_period(line) is None and not any(letter.isdigit() for letter in line)
    )  # fmt: skip


def _read_contact(line: str, person: Person) -> None:
    contacts = person.contacts
    contacts.phone = contacts.phone or contact_patterns.find_phone(line)
    contact_patterns.read_links(line, contacts)
    if not contacts.location:
        for part in contact_patterns.parts_of(contact_patterns.bare(line)):
            if (place := contact_patterns.place_of(part)) is not None and not _CONTACT_LABEL.match(part):
                contacts.location = place
                break
