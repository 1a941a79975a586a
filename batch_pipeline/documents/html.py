"""HTML text: what a browser would show, in order, one block a line."""

import re

from lxml import etree
from lxml import html as lxml_html

from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused
from batch_pipeline.documents.txt import decode

_UNSEEN = frozenset(
    ("head", "script", "style", "title", "noscript", "template", "object", "iframe", "svg", "select")
)
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "footer", "form"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre"),
        *("section", "table", "tr", "ul"),
    )
)
_ENDS = {**dict.fromkeys(_BLOCKS - {"br", "hr"}, "\n"), "td": "\t", "th": "\t"}
_DECLARED = re.compile(rb"(?i)<meta[^>]+charset\s*=\s*[\"']?\s*([a-z0-9_:.-]+)")
_HIDDEN = re.compile(r"(?i)display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])")
_WHITE = re.compile(
    r"(?i)(?:^|;)\s*color\s*:\s*(?:white\b|#fff(?:fff)?\b|rgba?\(\s*255\s*,\s*255\s*,\s*255\b)|font-size\s*:\s*1px"
)
_COLOURED = re.compile(r"(?i)background|bgcolor|<style|stylesheet")
_WHITESPACE = re.compile(r"\s+")


def read(data: bytes, limits: ReadLimits) -> RawText:
    """Raises Refused: damaged, too_large."""
    declared = _DECLARED.search(data[:4096])
    text, encoding = decode(data, declared.group(1).decode("ascii") if declared else None)
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text.replace("\x00", ""))
    try:
        root = lxml_html.document_fromstring(text)
    except (etree.ParserError, etree.XMLSyntaxError):
        raise Refused(Reason.DAMAGED) from None
    # white text is unseen where the page itself brings no other colour
    shown = _text(root, paper=_COLOURED.search(text) is None)
    if len(shown) > limits.text_chars:
        raise Refused(Reason.TOO_LARGE)
    return RawText(shown, encoding=encoding, drawn=next(root.iter("img"), None) is not None)


def shown_text(markup: str) -> str:
    """What a browser would show of a piece of HTML; blank for markup that shows nothing."""
    try:
        return _text(lxml_html.fragment_fromstring(markup, create_parent="div")).strip()
    except (etree.ParserError, etree.XMLSyntaxError):
        return markup


def _text(root: etree._Element, *, paper: bool = False) -> str:
    parts: list[str] = []
    walker = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    for event, element in walker:
        if event in ("comment", "pi"):
            parts.append(_folded(element.tail))
            continue
        if event == "start":
            style = element.get("style") or ""
            unseen = element.tag in _UNSEEN or element.get("hidden") is not None or _HIDDEN.search(style)
            white = paper and (
                _WHITE.search(style) or element.get("color", "").lower() in ("white", "#ffffff")
            )
            if unseen or white:
                walker.skip_subtree()
                continue
            parts.append("\n" if element.tag in _BLOCKS else "")
            parts.append((element.text or "") if element.tag == "pre" else _folded(element.text))
            continue
        parts.append(_ENDS.get(element.tag, ""))
        if element is not root:
            parts.append(_folded(element.tail))
    return "".join(parts)


def _folded(text: str | None) -> str:
    return _WHITESPACE.sub(" ", text) if text else ""
