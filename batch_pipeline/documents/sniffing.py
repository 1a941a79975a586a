"""What a file is, from its bytes and never from its name (traps 2, 21, 22 of the export contract).

Also tells an answer that was saved in place of a file: a storage error in XML, a rate limit in
JSON, a login page in HTML. A CV that was written in HTML stays a CV.
"""

import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from batch_pipeline.documents import mime
from batch_pipeline.documents.ole2 import MAGIC as OLE2_MAGIC
from batch_pipeline.documents.ole2 import CompoundFile

HEAD_BYTES = 8192
"""How much of a file `sniff` wants to see."""
_MORE = 1 << 16
_OLE2_LIMIT = 64 << 20
_LARGEST_ERROR_PAGE = 256 << 10

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"{\\rtf", mime.RTF),
    (b"\xff\xd8\xff", mime.JPEG),
    (b"\x89PNG\r\n\x1a\n", mime.PNG),
    (b"II*\x00", mime.TIFF),
    (b"MM\x00*", mime.TIFF),
    (b"GIF87a", mime.GIF),
    (b"GIF89a", mime.GIF),
    (b"Rar!\x1a\x07", mime.OTHER_ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", mime.OTHER_ARCHIVE),
    (b"\x1f\x8b", mime.OTHER_ARCHIVE),
    (b"BZh", mime.OTHER_ARCHIVE),
    (b"\xfd7zXZ\x00", mime.OTHER_ARCHIVE),
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body|title|meta|div|p|h1|table|span|style)\b", re.I)
_PASSWORD_FIELD = re.compile(rb"<input[^>]+type\s*=\s*[\"']?password", re.I)
_TAGS = re.compile(rb"(?is)<(script|style)\b.*?</\1>|<[^>]*>")
_EUROPASS = re.compile(
    rb"(?s)(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:[\w.-]+:)?(?:SkillsPassport|Candidate)[\s>]"
)
_XML_ERROR = re.compile(rb"(?is)<(?:\w+:)?(?:error|errors|fault|errorresponse|serviceexception)\b")
_ERROR_WORDS = (
    rb"sign[ -]?in|log[ -]?in|log in to|session (?:has )?(?:expired|timed out)|access (?:is )?denied|forbidden|"
    rb"unauthori[sz]ed|not found|no longer available|link (?:has )?expired|request has expired|expired link|"
    rb"too many requests|rate limit|bad gateway|service unavailable|internal server error|gateway time-?out|"
    rb"anmelden|zugriff verweigert|iniciar sesi|connexion requise|authentication required"
)
_ERROR_TITLE = re.compile(rb"(?is)<(title|h1|h2)[^>]*>[^<]*(?:" + _ERROR_WORDS + rb"|\b[45]\d\d\b)")
_ERROR_TEXT = re.compile(rb"(?i)^\W*(?:http/\d|error\b|[45]\d\d\b|" + _ERROR_WORDS + rb")")
_JSON_ERROR_KEYS = frozenset(
    {"error", "errors", "error_code", "errorcode", "error_description", "fault", "exception", "detail"}
)


@dataclass(frozen=True)
class Sniffed:
    """`error_page`: the bytes are an answer that was saved in place of the file."""

    mime: str
    error_page: bool = False


def sniff_file(path: Path, head: bytes, size: int) -> Sniffed:
    """The type of a file whose first HEAD_BYTES are `head`; containers and pages are looked into."""
    if size == 0:
        return Sniffed(mime.EMPTY)
    if head[:4] == b"PK\x03\x04" or head[:4] == b"PK\x05\x06":
        return Sniffed(_zip_type(path, head))
    if head[:8] == OLE2_MAGIC:
        return Sniffed(_ole2_type(path, size))
    if len(head) < size and _looks_like_markup(head):
        with path.open("rb") as stream:
            head = stream.read(_MORE)
    return sniff(head, size)


def sniff(head: bytes, size: int) -> Sniffed:
    """The type as far as the first bytes tell it."""
    if size == 0:
        return Sniffed(mime.EMPTY)
    for magic, found in _MAGIC:
        if head.startswith(magic):
            return Sniffed(found)
    if image := _image_type(head):
        return Sniffed(image)
    if b"%PDF-" in head[:1024]:
        return Sniffed(mime.PDF)
    return _text_type(head, size)


def _image_type(head: bytes) -> str | None:
    """Images whose mark does not stand at the very start."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return mime.WEBP
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"mif1", b"msf1", b"hevc"):
        return mime.HEIC
    return mime.BMP if head[:2] == b"BM" and head[6:10] == b"\x00\x00\x00\x00" else None


def _looks_like_markup(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"<", b"{", b"[")


def _text_type(head: bytes, size: int) -> Sniffed:
    if not _is_text(head):
        return Sniffed(mime.UNKNOWN)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] in (b"{", b"["):
        return _json_type(start, size)
    if start[:1] == b"<":
        if _EUROPASS.match(start):
            return Sniffed(mime.XML)  # it has elements named Title, which HTML has too
        if _HTML.search(start[:4096]):
            return Sniffed(mime.HTML, _is_error_html(start, size))
        if start[:5] == b"<?xml" or _XML_ERROR.match(start):
            return Sniffed(mime.XML, size < _LARGEST_ERROR_PAGE and bool(_XML_ERROR.search(start[:4096])))
    return Sniffed(mime.TEXT, size < 600 and bool(_ERROR_TEXT.match(start)))


def _is_text(head: bytes) -> bool:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    odd = sum(head.count(bytes([code])) for code in (*range(9), *range(14, 27), *range(28, 32)))
    if b"\x00" in head:
        half = len(head) // 2
        return min(head[0::2].count(0), head[1::2].count(0)) == 0 and head.count(0) > half * 0.7
    return odd * 50 <= len(head)


def _json_type(start: bytes, size: int) -> Sniffed:
    try:
        value = json.loads(start)
    except ValueError:
        # a long JSON document is cut by the head; anything else is text that begins with a bracket
        looks = re.match(rb'[\[{]\s*(?:[\[{]|"[^"]*"\s*[:,\]])', start) and size > len(start)
        return Sniffed(mime.JSON if looks else mime.TEXT)
    names = {str(name).lower() for name in value} if isinstance(value, dict) else set()
    told = bool(names & _JSON_ERROR_KEYS) or ("message" in names and len(names) <= 6)
    failed = isinstance(value, dict) and (value.get("success") is False or value.get("ok") is False)
    return Sniffed(mime.JSON, told or failed)


def _is_error_html(page: bytes, size: int) -> bool:
    if _PASSWORD_FIELD.search(page):
        return True
    words = len(_TAGS.sub(b" ", page).split())
    if size > _LARGEST_ERROR_PAGE or words > 150:
        return False
    return bool(_ERROR_TITLE.search(page)) or bool(_ERROR_TEXT.match(_TAGS.sub(b" ", page).strip()))


def _zip_type(path: Path, head: bytes) -> str:
    try:
        with zipfile.ZipFile(path) as bundle:
            names = set(bundle.namelist())
            if "mimetype" in names and bundle.getinfo("mimetype").file_size < 200:
                declared = bundle.read("mimetype").decode("ascii", "replace").strip()
                if declared.startswith(mime.ODT):
                    return mime.ODT
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError, ValueError):
        return _broken_zip_type(head)
    if any(name.startswith("word/") and name.endswith(".xml") for name in names):
        return mime.DOCX
    if "[Content_Types].xml" in names and any(name.startswith(("xl/", "ppt/")) for name in names):
        return mime.OTHER_OFFICE
    return mime.ZIP


def _broken_zip_type(head: bytes) -> str:
    """The table at the end is missing: the first member's name still tells."""
    first = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    if first == b"[Content_Types].xml" or first.startswith((b"word/", b"_rels/", b"docProps/")):
        return mime.DOCX
    return mime.ODT if first == b"mimetype" else mime.ZIP


def _ole2_type(path: Path, size: int) -> str:
    if size > _OLE2_LIMIT:
        return mime.OLE2
    try:
        names = CompoundFile(path.read_bytes()).names
    except ValueError:
        return mime.DOC  # damaged: its reader will say so
    if "EncryptedPackage" in names:
        return mime.ENCRYPTED_OFFICE
    return mime.DOC if "WordDocument" in names else mime.OLE2
