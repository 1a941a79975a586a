"""Where e-mail addresses, web addresses and handles stand in a text."""

import re
from collections.abc import Iterator
from typing import Final

_DOMAIN: Final = r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)+"
# a blank on either side comes from a PDF's layout
_EMAIL: Final = re.compile(rf"[\w!#$%&'*+/=?^`{{|}}~-][\w.!#$%&'*+/=?^`{{|}}~-]{{0,63}} ?@ ?{_DOMAIN}")
_HIDDEN_EMAIL: Final = re.compile(
    r"\w[\w.+-]{0,63} ?[\[({] ?(?:at|@|arroba) ?[\])}] ?"
    r"[\w-]+(?:(?:\.| ?[\[({] ?(?:dot|punkt|punto|ponto|point) ?[\])}] ?)[\w-]+)+",
    re.IGNORECASE,
)

_REST: Final = r"[^\s<>\"|,;()\[\]{}]+"
# A network's host names nobody, and a model reads from it which network a profile is of: the handle alone goes.
_PROFILE: Final = re.compile(
    r"(?:linkedin\.com|github\.com|gitlab\.com|bitbucket\.org|xing\.com|twitter\.com|x\.com|facebook\.com|"
    r"instagram\.com|stackoverflow\.com|behance\.net|dribbble\.com|medium\.com|kaggle\.com|researchgate\.net|"
    r"orcid\.org|t\.me|wa\.me|youtube\.com|lattes\.cnpq\.br)/"
    rf"(?:(?:in|pub|u|users?|profiles?|people)/)*({_REST})",
    re.IGNORECASE,
)
_ADDRESS: Final = re.compile(rf"(?:https?|ftp)://({_REST})|(?<![\w@.-])(www\.{_REST})", re.IGNORECASE)
# without scheme only in small letters, for `Amazon.com` and `ASP.NET` are names of other things
_BARE: Final = re.compile(
    r"(?<![\w@./-])((?:[a-z0-9][a-z0-9-]*\.)+(?:com|org|net|io|dev|me|info|app|page|site|online|tech|eu|de|at|ch|fr|"
    rf"es|it|pt|nl|be|uk|ie|pl|br|mx|ar|cl|us|ca)(?:/{_REST})?)(?![\w@.-])"
)
_HANDLE: Final = re.compile(r"(?<![\w.@/])@([A-Za-z_]\w[\w.]{1,28})")
_LABELLED: Final = re.compile(
    r"\b(?:skype|telegram|github|gitlab|linkedin|twitter|instagram|whatsapp|wechat|微信|discord|facebook|xing)"
    r"(?: ?(?:id|user|username|handle))? ?[:：] ?([\w.@/:+-]{3,})",
    re.IGNORECASE,
)
_BARE_WORDS: Final = frozenset({"asp.net", "vb.net", "ado.net", "ml.net", "socket.io", "draw.io", "next.js"})
_AFTER: Final = ".,;:!?'’"


def emails(text: str) -> Iterator[tuple[int, int]]:
    if "@" in text:
        for found in _EMAIL.finditer(text):
            yield found.span()
    for found in _HIDDEN_EMAIL.finditer(text):
        yield found.span()


def links(text: str) -> Iterator[tuple[int, int]]:
    """Schemes and the hosts of networks stay: what is put back is then the address a model would have written."""
    profiles = []
    for found in _PROFILE.finditer(text):
        profiles.append(found.span())
        yield _trimmed(text, *found.span(1))
    for found in _ADDRESS.finditer(text):
        if not any(found.start() <= start < found.end() for start, _ in profiles):
            yield _trimmed(text, *found.span(found.lastindex or 0))
    for found in _BARE.finditer(text):
        if found[1] not in _BARE_WORDS and not any(
            found.start() <= start < found.end() for start, _ in profiles
        ):
            yield _trimmed(text, *found.span(1))
    for pattern in (_HANDLE, _LABELLED):
        for found in pattern.finditer(text):
            if not any(start < found.end(1) and found.start(1) < end for start, end in profiles):
                yield _trimmed(text, *found.span(1))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while end > start + 1 and text[end - 1] in _AFTER:
        end -= 1
    return start, end
