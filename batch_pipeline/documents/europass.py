"""Europass CVs in XML or JSON: what a reader of the printed CV would see, as text.

Two formats: `SkillsPassport` (Cedefop, up to V3.4; XML keeps parts of dates in attributes such as
`month="--03"`, JSON in numbers) and `Candidate` (since 2020, HR-XML 3). Both are read as one tree of
names and values; codes, pictures, attachments and settings of the print are left out. Any other XML
or JSON is no document of a candidate.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from lxml import etree

from batch_pipeline.documents.html import shown_text
from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused

_ROOTS: Final = frozenset({"SkillsPassport", "Candidate"})
_UNSEEN: Final = frozenset(
    [
        "Attachment",
        "AttachmentList",
        "CandidateSupplier",
        "Code",
        "CoverLetter",
        "Data",
        "DocumentID",
        "DocumentInfo",
        "EmbeddedData",
        "ID",
        "PartyID",
        "Photo",
        "PrecedenceCode",
        "PrintingPreferences",
        "ReferenceTo",
        "RenderingInformation",
        "Signature",
        "TaxonomyID",
        "TempURI",
        "ProcessingInformation",
    ]
)
_SEEN_CODES: Final = frozenset(
    {"CountryCode", "PostalCode", "PrimaryLanguageCode", "CompetencyDimensionTypeCode"}
)
_LABELS: Final = {
    "MotherTongue": "Mother tongue",
    "PrimaryLanguageCode": "Mother tongue",
    "Birthdate": "Date of birth",
    "BirthDate": "Date of birth",
    "Nationality": "Nationality",
}
_SECTIONS_OF: Final = frozenset({"LearnerInfo", "CandidateProfile", "Skills"})
_HEADINGS: Final = {
    "EmploymentHistory": "Work experience",
    "EducationHistory": "Education",
    "Linguistic": "Languages",
    "PersonQualifications": "Skills",
}
_UNTITLED: Final = frozenset({"Identification", "Headline", "Skills", "ExecutiveSummary"})
_ONE_LINE: Final = frozenset({"Address", "ProficiencyLevel", "PersonCompetency"})
_STARTS, _ENDS = ("From", "StartDate"), ("To", "EndDate")
_NOW: Final = ("Current", "CurrentIndicator", "Ongoing")
_MAX_DEPTH = 60


@dataclass
class _Node:
    """A named value: of an element, of an attribute that holds a part of a date, or of a JSON key."""

    name: str
    text: str = ""
    parts: list["_Node"] = field(default_factory=list)

    def first(self, *names: str) -> "_Node | None":
        return next((part for part in self.parts if part.name in names), None)

    def said(self, *names: str) -> str:
        found = self.first(*names)
        return found.text if found else ""


def read(data: bytes, limits: ReadLimits) -> RawText:
    """Raises Refused: unsupported_type for what is no Europass CV, damaged, too_large."""
    if len(data) > limits.unpacked_bytes:
        raise Refused(Reason.TOO_LARGE)
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    root = _from_json(data) if start in (b"{", b"[") else _from_xml(data)
    text = "\n".join(_lines(root, 0))
    if len(text) > limits.text_chars:
        raise Refused(Reason.TOO_LARGE)
    return RawText(text, encoding="utf-8")


def _from_xml(data: bytes) -> _Node:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise Refused(Reason.DAMAGED) from None
    name = etree.QName(root)
    if name.localname not in _ROOTS or "europass" not in (name.namespace or "europass").lower():
        raise Refused(Reason.UNSUPPORTED_TYPE)
    return _element(root, 0)


def _element(element: etree._Element, depth: int) -> _Node:
    if depth > _MAX_DEPTH:
        raise Refused(Reason.DAMAGED)
    node = _Node(etree.QName(element).localname, (element.text or "").strip())
    for name in ("year", "month", "day"):
        if value := element.get(name):
            node.parts.append(_Node(name.title(), value.lstrip("-")))
    node.parts += [_element(child, depth + 1) for child in element if isinstance(child.tag, str)]
    return node


def _from_json(data: bytes) -> _Node:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise Refused(Reason.DAMAGED) from None
    for name in sorted(_ROOTS):
        if isinstance(value, dict) and isinstance(value.get(name), dict):
            return _value(name, value[name], 0)
    raise Refused(Reason.UNSUPPORTED_TYPE)


def _value(name: str, value: Any, depth: int) -> _Node:
    if depth > _MAX_DEPTH:
        raise Refused(Reason.DAMAGED)
    if not isinstance(value, dict):
        return _Node(name, "" if value is None else str(value).strip())
    node = _Node(name)
    for key, held in value.items():
        many = held if isinstance(held, list) else [held]
        node.parts += [_value(str(key), one, depth + 1) for one in many]
    return node


def _lines(node: _Node, depth: int) -> Iterator[str]:
    """What the node and its parts show, one statement a line."""
    label = _LABELS.get(node.name)
    shown = _shown(node, depth)
    if label is None:
        yield from shown
    elif said := ", ".join(filter(None, shown)):
        yield f"{label}: {said}"


def _shown(node: _Node, depth: int) -> Iterator[str]:
    name = node.name
    hidden_code = name.endswith("Code") and name not in _SEEN_CODES
    if name in _UNSEEN or name in _NOW or hidden_code or name.endswith("Indicator"):
        return
    if name == "PersonName":
        yield f"{node.said('FirstName', 'GivenName')} {node.said('Surname', 'FamilyName')}"
    elif _is_period(node):
        yield _period(node)
    elif _date(node):
        yield _date(node)
    elif node.first("DialNumber"):
        country = node.said("CountryDialing").lstrip("+")
        yield f"+{country} {node.said('DialNumber')}" if country else node.said("DialNumber")
    elif name in _ONE_LINE:
        yield ", ".join(
            " ".join(_lines(part, depth + 1)) for part in _named(node) if part.name not in _UNSEEN
        )
    elif not node.parts:
        yield shown_text(node.text) if "<" in node.text or "&" in node.text else node.text
    else:
        yield from _parts(node, depth)


def _parts(node: _Node, depth: int) -> Iterator[str]:
    titled = ""
    for part in node.parts:
        if part.name in _NOW and part.text.lower() in ("true", "1") and not node.first(*_ENDS):
            yield "present"  # told beside the period and not in it
        shown = [line for line in _lines(part, depth + 1) if line.strip()]
        title = _HEADINGS.get(part.name) or _spelled(part.name.removesuffix("List"))
        if shown and node.name in _SECTIONS_OF and part.name not in _UNTITLED and title != titled:
            yield f"\n{title}"
            titled = title
        yield from shown


def _named(node: _Node) -> Iterator[_Node]:
    """Parts with their names before values that say nothing without them: `Listening C1`."""
    for part in node.parts:
        bare = node.name == "ProficiencyLevel" and not part.parts
        yield _Node(part.name, f"{_spelled(part.name)} {part.text}") if bare else part


def _is_period(node: _Node) -> bool:
    return node.first(*_STARTS) is not None or (
        node.name.endswith("Period") and node.first(*_ENDS) is not None
    )


def _period(node: _Node) -> str:
    start, end = node.first(*_STARTS), node.first(*_ENDS)
    now = any(node.said(name).lower() in ("true", "1") for name in _NOW)
    ending = "present" if now else _date(end) if end else ""
    return " – ".join(filter(None, (_date(start) if start else "", ending)))


def _date(node: _Node) -> str:
    """`YYYY[-MM[-DD]]`, or as it is written; nothing for what is no date."""
    if year := node.said("Year"):
        parts = (node.said("Month"), node.said("Day"))
        return "-".join([year, *(part.zfill(2) for part in parts if part)])
    written = node.said("FormattedDateTime") or (
        node.text if node.name.endswith("Date") or node.name in ("From", "To") else ""
    )
    return re.sub(r"T\d\d:.*$", "", written)


def _spelled(name: str) -> str:
    """`WorkExperience` as `Work experience`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()
