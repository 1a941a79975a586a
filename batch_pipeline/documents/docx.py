"""DOCX text: headers, body in order with tables and text boxes, footers, notes.

Body text alone lost two thirds of the contacts of layouts that put them in a header or a text box
(measured). Hidden runs, deleted text and field codes are left out, and so is text of at most 1 pt or in
white where nothing of the file could lie behind it: outside tables, boxes and shading, in a file without
a background, drawings behind the text or shaded styles (trap 37).
"""

import re
from collections.abc import Iterable

from lxml import etree

from batch_pipeline.documents.office_xml import OfficeFile, opened
from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PART = re.compile(r"word/(header|footer)\d*\.xml$")
_ENDS = {f"{_W}p": "\n", f"{_W}tc": "\t", f"{_W}tr": "\n", f"{_W}txbxContent": "\n"}
_SIGNS = {
    f"{_W}tab": "\t",
    f"{_W}br": "\n",
    f"{_W}cr": "\n",
    f"{_W}noBreakHyphen": "-",
    f"{_W}ptab": "\t",
}
_LEFT_OUT = frozenset({_FALLBACK, f"{_W}instrText", f"{_W}delText", f"{_W}del", f"{_W}moveFrom"})
_BEHIND = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}anchor"
_PLACES_WITH_COLOUR = frozenset({f"{_W}tbl", f"{_W}txbxContent"})
_NO_FILL = (None, "auto", "FFFFFF", "ffffff")
_WHITE = re.compile(r"(?i)f[a-f]f[a-f]f[a-f]")
_SMALLEST_HALF_POINTS = 2
_IMAGE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"


def read(data: bytes, limits: ReadLimits) -> RawText:
    """Raises Refused: truncated, damaged, too_large, password_protected."""
    with opened(data, limits) as office:
        body = office.xml("word/document.xml")
        if body is None:
            main = [name for name in office.names if re.fullmatch(r"word/document\d*\.xml", name)]
            body = office.xml(main[0]) if main else None
        if body is None:
            raise Refused(Reason.DAMAGED)
        parts = sorted(name for name in office.names if _PART.match(name))
        headers = _distinct(office, [name for name in parts if "header" in name])
        footers = _distinct(office, [name for name in parts if "footer" in name])
        notes = _distinct(office, ["word/footnotes.xml", "word/endnotes.xml"])
        paper = _is_bare(body) and _is_bare(office.xml("word/styles.xml"))
        text = "\n".join([*headers, _text(body, paper=paper), *footers, *notes])
        drawn = next(body.iter(_IMAGE), None) is not None
    if len(text) > limits.text_chars:
        raise Refused(Reason.TOO_LARGE)
    return RawText(text, drawn=drawn, scanned_pages=int(drawn and not text.strip()))


def _distinct(office: OfficeFile, names: Iterable[str]) -> list[str]:
    """First, even and default headers mostly say the same."""
    found: list[str] = []
    for name in names:
        root = office.xml(name)
        text = _text(root) if root is not None else ""
        if text.strip() and text not in found:
            found.append(text)
    return found


def _text(root: etree._Element, *, paper: bool = False) -> str:
    """`paper`: nothing but white paper lies behind text that is not shaded itself."""
    parts: list[str] = []
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        tag = element.tag
        if event == "end":
            parts.append(_ENDS.get(tag, ""))
        elif tag in _LEFT_OUT or (tag == f"{_W}r" and _is_hidden(element, paper)):
            walker.skip_subtree()
        elif tag == f"{_W}t":
            parts.append(element.text or "")
        elif tag in _SIGNS:
            parts.append(_SIGNS[tag])
        elif tag == f"{_W}txbxContent":
            parts.append("\n")
    return "".join(parts)


def _is_hidden(run: etree._Element, paper: bool) -> bool:
    look = run.find(f"{_W}rPr")
    if look is None:
        return False
    mark = look.find(f"{_W}vanish")
    if mark is not None and mark.get(f"{_W}val", "true") not in ("0", "false", "off"):
        return True
    size = _value(look, "sz")
    if size.isdecimal() and int(size) <= _SMALLEST_HALF_POINTS:
        return True
    return paper and bool(_WHITE.fullmatch(_value(look, "color"))) and not _on_colour(run)


def _value(look: etree._Element, name: str) -> str:
    found = look.find(f"{_W}{name}")
    return "" if found is None else found.get(f"{_W}val", "")


def _on_colour(run: etree._Element) -> bool:
    """Whether the run, its paragraph or what they stand in may have a colour of its own."""
    look = run.find(f"{_W}rPr")
    if look is not None and look.find(f"{_W}highlight") is not None:
        return True
    owners = (run, *run.iterancestors())
    return any(owner.tag in _PLACES_WITH_COLOUR for owner in owners) or any(
        _is_shaded(owner.find(f"{_W}{kind}")) for owner in owners for kind in ("rPr", "pPr")
    )


def _is_shaded(look: etree._Element | None) -> bool:
    shade = None if look is None else look.find(f"{_W}shd")
    return shade is not None and shade.get(f"{_W}fill") not in _NO_FILL


def _is_bare(part: etree._Element | None) -> bool:
    """Whether no background, drawing behind the text or shading is in a part of the file."""
    if part is None:
        return True
    behind = any(anchor.get("behindDoc") in ("1", "true") for anchor in part.iter(_BEHIND))
    background = next(part.iter(f"{_W}background"), None) is not None
    styled = part.tag == f"{_W}styles" and any(
        shade.get(f"{_W}fill") not in _NO_FILL for shade in part.iter(f"{_W}shd")
    )
    return not (behind or background or styled)
