"""A CV's text -> a JSON Resume 1.0.0 object in which every body line survives."""

import re
from typing import Any, Final

from batch_pipeline.local.emulator.engines.reader.contacts import find_phone
from batch_pipeline.local.emulator.engines.reader.dates import find_date
from batch_pipeline.local.emulator.engines.reader.entries import as_education, as_work, read_entries
from batch_pipeline.local.emulator.engines.reader.headings import Section
from batch_pipeline.local.emulator.engines.reader.kinds import NotACv, not_a_cv
from batch_pipeline.local.emulator.engines.reader.lines import Block, Line, blocks_of
from batch_pipeline.local.emulator.engines.reader.person import Person, read_person

_LANGUAGE: Final = re.compile(r"^([^\d(–—:-]{2,40}?)\s*(?:[(（]([^)）]+)[)）]?|\s[–—-]\s*(.+)|[:：]\s*(.+))$")
_NAMED_LIST: Final = re.compile(r"^([^:：]{2,40})[:：]\s*(.+)$")
_ITEMS: Final = re.compile(r"\s*[,;|•·，、；]\s*(?![^()]*\))")
_LANGUAGE_ITEMS: Final = re.compile(r"\s*[;|•·；]\s*|,\s+(?![^()]*\))")
_CERTIFICATE: Final = re.compile(r"^(.+?)(?:,\s*([^,()]+?))?\s*[(（]([^()（）]*\d{4}[^()（）]*)[)）]$")
_MARKER: Final = re.compile(r"\b[A-Z]+-[0-9A-F]{6,}\b|\bMARKER-[\w-]+")
_PUBLICATION: Final = re.compile(r"^\[\d+\]")

_ONE_LINE: Final = {
    "publications": "name",
    "awards": "title",
    "volunteer": "summary",
    "references": "reference",
}


def read_resume(text: str) -> dict[str, Any] | NotACv:
    """The CV as JSON Resume, or what the text is instead."""
    blocks = blocks_of(text)
    sections = {block.section for block in blocks if block.section is not None}
    kind = not_a_cv(text, len(sections))
    if kind is not None:
        return kind
    if "work" not in sections and len(sections) < 2:
        _split_headless(blocks)
    person = read_person(text, blocks)
    if person.contacts.phone is None:
        lines = text.split("\n")
        person.contacts.phone = next((p for p in map(find_phone, [*lines[:25], *lines[-6:]]) if p), None)
    return _Resume(person).build(blocks)


def _split_headless(blocks: list[Block]) -> None:
    """A CV without headings: whatever follows its first dated line is read as jobs."""
    head = blocks[0]
    publications = [line for line in head.lines if _PUBLICATION.match(line.text)]
    if publications:
        head.lines = [line for line in head.lines if not _PUBLICATION.match(line.text)]
        blocks.append(Block("publications", publications))
        return
    first = next((i for i, line in enumerate(head.lines) if find_date(line.text)), None)
    if first is not None and first > 1:
        blocks.insert(1, Block("work", head.lines[first - 1 :]))
        head.lines = head.lines[: first - 1]


class _Resume:
    """Sections as they are filled."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._summary: list[str] = []
        self._items: dict[str, list[dict[str, Any]]] = {}

    def build(self, blocks: list[Block]) -> dict[str, Any]:
        for block in blocks:
            if block.lines and block.section is not None:
                self._read(block.section, block.lines)
        resume: dict[str, Any] = {}
        if basics := self._person.as_basics(self._summary):
            resume["basics"] = basics
        return resume | self._items

    def _add(self, section: str, item: dict[str, Any]) -> None:
        self._items.setdefault(section, []).append(item)

    def _read(self, section: Section, lines: list[Line]) -> None:
        texts = [line.text for line in lines]
        match section:
            case "work" | "education":
                entries, loose = read_entries(lines, section)
                for entry in entries:
                    self._add(section, as_work(entry) if section == "work" else as_education(entry))
                self._person.loose += loose
            case "skills":
                for text in texts:
                    self._skill(text)
            case "languages":
                for text in texts:
                    self._languages(text)
            case "certificates":
                self._items.setdefault("certificates", []).extend(map(_certificate, texts))
            case "projects":
                self._projects(lines)
            case "publications" | "awards" | "volunteer" | "references":
                self._items.setdefault(section, []).extend({_ONE_LINE[section]: text} for text in texts)
            case "interests":
                names = [name for text in texts for name in _split(text)]
                self._items.setdefault("interests", []).extend({"name": name} for name in names)
            case "summary" | "contact":
                self._summary += texts

    def _skill(self, text: str) -> None:
        if (named := _NAMED_LIST.match(text)) is not None:
            self._add("skills", {"name": named[1].strip(), "keywords": _split(named[2])})
        elif len(text) > 120:
            self._add("skills", {"name": text})
        else:
            for name in _split(text):
                self._add("skills", {"name": name})

    def _languages(self, text: str) -> None:
        for item in _LANGUAGE_ITEMS.split(text):
            part = item.strip(" .")
            if not part:
                continue
            found = _LANGUAGE.match(part)
            if found is None:
                self._add("languages", {"language": part})
            else:
                fluency = found[2] or found[3] or found[4]
                self._add("languages", {"language": found[1].strip(), "fluency": fluency.strip()})

    def _projects(self, lines: list[Line]) -> None:
        for line in lines:
            projects = self._items.setdefault("projects", [])
            if line.bullet and projects:
                projects[-1].setdefault("highlights", []).append(line.text)
            else:
                projects.append({"name": line.text})


def _split(text: str) -> list[str]:
    return [item for item in (part.strip(" .") for part in _ITEMS.split(text)) if item]


def _certificate(text: str) -> dict[str, Any]:
    found = _CERTIFICATE.match(text)
    if found is None:
        return {"name": text}
    item = {"name": found[1].strip()}
    if found[2]:
        item["issuer"] = found[2].strip()
    if date := find_date(found[3]):
        item["date"] = date
    return item


def lost_lines(text: str, answer: str) -> list[str]:
    """Lines whose marker tokens did not make it into the answer."""
    if "-" not in text:
        return []
    lost = [found for found in _MARKER.finditer(text) if found[0] not in answer]
    return [text[text.rfind("\n", 0, f.start()) + 1 :].split("\n", 1)[0].strip() for f in lost]
