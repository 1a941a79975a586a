"""The readable text of a note that was written as HTML; the raw note is kept beside it."""

import re

from lxml import etree, html

_MARKUP = re.compile(r"<[A-Za-z!/][^>]*>|&(?:#\d+|#x[0-9A-Fa-f]+|[A-Za-z]{2,8});")
_UNSEEN = ("script", "style", "head", "title", "noscript", "template", "object", "iframe")
_BLOCKS = frozenset(
    ("p", "div", "li", "tr", "ul", "ol", "table", "blockquote", "pre", "h1", "h2", "h3", "h4")
)
_SPACES = re.compile(r"[ \t\u00a0]+")
_BLANK_LINES = re.compile(r"\n{3,}")


def readable(body: str | None) -> str | None:
    """Text without tags, scripts and comments; text without markup comes back as it is."""
    if body is None or not _MARKUP.search(body):
        return body
    try:
        root = html.fragment_fromstring(body.replace("\x00", ""), create_parent="div")
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return _MARKUP.sub(" ", body).strip()
    etree.strip_elements(root, *_UNSEEN, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    parts: list[str] = []
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if (element.tag == "br" and event == "start") or element.tag in _BLOCKS:
            parts.append("\n")
        if event == "start":
            parts.append(element.text or "")
        elif element is not root:
            parts.append(element.tail or "")
    text = _SPACES.sub(" ", "".join(parts))
    lines = "\n".join(line.strip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", lines).strip()
