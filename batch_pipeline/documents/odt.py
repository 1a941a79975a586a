"""ODT text: page headers, body in order, page footers."""

from lxml import etree

from batch_pipeline.documents.office_xml import opened
from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_IMAGE = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}image"
_LEFT_OUT = frozenset({f"{_OFFICE}annotation", f"{_TEXT}tracked-changes", f"{_TEXT}note-citation"})
_STARTS = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}
_ENDS = {f"{_TEXT}p": "\n", f"{_TEXT}h": "\n", f"{_TABLE}table-cell": "\t", f"{_TABLE}table-row": "\n"}


def read(data: bytes, limits: ReadLimits) -> RawText:
    """Raises Refused: truncated, damaged, too_large, password_protected."""
    with opened(data, limits) as office:
        content = office.xml("content.xml")
        body = content.find(f"{_OFFICE}body") if content is not None else None
        if body is None:
            raise Refused(Reason.DAMAGED)
        styles = office.xml("styles.xml")
        headers = [] if styles is None else [_text(part) for part in styles.iter(f"{_STYLE}header")]
        footers = [] if styles is None else [_text(part) for part in styles.iter(f"{_STYLE}footer")]
        text = "\n".join([*dict.fromkeys(headers), _text(body), *dict.fromkeys(footers)])
        drawn = next(body.iter(_IMAGE), None) is not None
    if len(text) > limits.text_chars:
        raise Refused(Reason.TOO_LARGE)
    return RawText(text, drawn=drawn, scanned_pages=int(drawn and not text.strip()))


def _text(root: etree._Element) -> str:
    parts: list[str] = []
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        tag = element.tag
        if event == "start":
            if tag in _LEFT_OUT:
                walker.skip_subtree()
                continue
            parts.append(_STARTS.get(tag, ""))
            if tag == f"{_TEXT}s":
                count = element.get(f"{_TEXT}c", "1")
                parts.append(" " * min(int(count) if count.isdecimal() else 1, 100))
            parts.append(element.text or "")
            continue
        parts.append(_ENDS.get(tag, ""))
        if element is not root:
            parts.append(element.tail or "")
    return "".join(parts)
