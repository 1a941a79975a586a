r"""RTF text: header, body, text boxes and footer in the order they are written.

After the RTF 1.9 specification: groups, control words, `\'hh` in the document's code page, `\uN`
followed by `\ucN` replacement characters. Destinations that hold no text are skipped.
"""

import re
from dataclasses import dataclass, field

from batch_pipeline.documents.raw_text import RawText, ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\(.)|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.S
)
_SKIPPED = frozenset(
    b"fonttbl colortbl stylesheet info pict object listtable listoverridetable generator themedata datastore "
    b"colorschememapping latentstyles xmlnstbl filetbl revtbl rsidtbl fldinst bkmkstart bkmkend pgptbl "
    b"nonshppict shprslt panose falt objdata objclass blipuid mmathPr userprops listtext pntext sp "
    b"template passwordhash".split()
)
_SIGNS = {
    b"par": "\n", b"line": "\n", b"sect": "\n", b"page": "\n", b"row": "\n", b"cell": "\t", b"tab": "\t",
    b"emdash": "\u2014", b"endash": "\u2013", b"bullet": "\u2022", b"lquote": "\u2018", b"rquote": "\u2019",
    b"ldblquote": "\u201c", b"rdblquote": "\u201d", b"emspace": " ", b"enspace": " ", b"nestcell": "\t",
    b"nestrow": "\n",
}  # fmt: skip
_SYMBOLS = {b"~": "\u00a0", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\", b"\n": "\n", b"\r": "\n"}
_CHARSETS = {128: "cp932", 129: "cp949", 134: "gb18030", 136: "cp950", 161: "cp1253", 162: "cp1254",
             177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250"}  # fmt: skip
_MAX_DEPTH = 1000


def read(data: bytes, limits: ReadLimits) -> RawText:
    """Raises Refused: truncated where groups stay open, damaged, too_large."""
    text, closed = _text(data, limits)
    if not closed:
        raise Refused(Reason.TRUNCATED)
    return RawText(text, encoding=_code_page(data), drawn=b"\\pict" in data)


def _code_page(data: bytes) -> str:
    found = re.search(rb"\\ansicpg(\d{3,5})", data[:4096])
    return f"cp{found.group(1).decode()}" if found else "cp1252"


def _font_pages(data: bytes, default: str) -> dict[int, str]:
    fonts = re.findall(rb"\\f(\d{1,5})(?:\\[a-z]+-?\d*)*?\\fcharset(\d{1,3})", data[: 1 << 16])
    return {int(number): _CHARSETS.get(int(charset), default) for number, charset in fonts}


@dataclass
class _Reader:
    """State of one pass: what a group changes is put back where it ends."""

    pages: dict[int, str]
    default: str
    limit: int
    page: str
    parts: list[str] = field(default_factory=list)
    waiting: bytearray = field(default_factory=bytearray)  # a letter may take two bytes of a code page
    stack: list[tuple[bool, int, str]] = field(default_factory=list)
    skipping: bool = False
    replacement: int = 1  # characters that stand in for one \\u, to be passed over
    passing: int = 0
    length: int = 0

    def flush(self) -> None:
        if not self.waiting:
            return
        try:
            shown = self.waiting.decode(self.page, "replace")
        except LookupError:
            shown = self.waiting.decode("cp1252", "replace")
        self.waiting.clear()
        self.show(shown)

    def show(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)
        if self.length > self.limit:
            raise Refused(Reason.TOO_LARGE)

    def brace(self, opening: bool) -> None:
        self.flush()
        self.passing = 0
        if opening:
            self.stack.append((self.skipping, self.replacement, self.page))
            if len(self.stack) > _MAX_DEPTH:
                raise Refused(Reason.DAMAGED)
        elif self.stack:
            self.skipping, self.replacement, self.page = self.stack.pop()

    def word(self, name: bytes, number: int | None) -> None:
        if name in _SKIPPED:
            self.skipping = True
        elif name == b"uc" and number is not None:
            self.replacement = max(0, min(number, 8))
        elif name == b"f" and number is not None:
            self.flush()
            self.page = self.pages.get(number, self.default)
        elif name == b"bin":
            raise Refused(Reason.DAMAGED)  # raw bytes inside text: their braces would break every group
        elif not self.skipping and name == b"u" and number is not None:
            self.flush()
            self.show(chr(number % 0x10000))
            self.passing = self.replacement
        elif not self.skipping and name in _SIGNS:
            self.flush()
            self.show(_SIGNS[name])

    def code(self, hexadecimal: bytes) -> None:
        if self.passing:
            self.passing -= 1
        elif not self.skipping:
            self.waiting += bytes.fromhex(hexadecimal.decode())

    def plain(self, text: bytes) -> None:
        shown = text[self.passing :]
        self.passing = max(0, self.passing - len(text))
        if not self.skipping:
            self.waiting += shown

    def symbol(self, mark: bytes, following: bytes | None) -> None:
        if mark == b"*":
            self.skipping = self.skipping or following not in (b"shptxt", b"shpinst")
        elif not self.skipping and mark in _SYMBOLS:
            self.flush()
            self.show(_SYMBOLS[mark])


def _text(data: bytes, limits: ReadLimits) -> tuple[str, bool]:
    """Text, and whether every group that was opened was closed."""
    default = _code_page(data)
    reader = _Reader(_font_pages(data, default), default, limits.text_chars, default)
    closed = False
    for token in _TOKEN.finditer(data):
        word, number, code, symbol, brace, plain = token.groups()
        if brace is not None:
            reader.brace(brace == b"{")
            closed = not reader.stack
            if closed:
                break
        elif word is not None:
            reader.word(word, None if number is None else int(number))
        elif code is not None:
            reader.code(code)
        elif symbol is not None:
            following = _TOKEN.match(data, token.end()) if symbol == b"*" else None
            reader.symbol(symbol, following.group(1) if following else None)
        elif plain is not None:
            reader.plain(plain)
    reader.flush()
    joined = "".join(reader.parts)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), closed
