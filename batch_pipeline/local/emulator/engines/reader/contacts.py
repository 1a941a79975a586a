"""E-mail, phone, links and place of a candidate."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

_EMAIL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+\-]*@[A-Za-z0-9][A-Za-z0-9.\-]*[A-Za-z0-9]")
_TOP: Final = frozenset(
    [
        "com",
        "org",
        "net",
        "edu",
        "info",
        "io",
        "dev",
        "de",
        "fr",
        "es",
        "it",
        "nl",
        "br",
        "mx",
        "uk",
        "pt",
        "tr",
        "ae",
        "cn",
        "co",
        "eu",
        "me",
        "gov",
        "ext",
    ]
)
_LOOSE: Final = re.compile(r"((?:[A-Za-z0-9_-]+ )*[A-Za-z0-9_-]+)@((?:[A-Za-z0-9-]+ )+[A-Za-z]+)((?: \.)+)")
_PHONE: Final = re.compile(r"(?<![\w.@/-])(?:\+|00|\()?\(?\d[\d ()./\-–\u00a0]{6,20}\d(?![\w@])")
_PHONE_TURNED: Final = re.compile(r"(?<!\w)((?:\d{1,5} ){1,5})\+(\d{1,3})(?!\w)(?! *\d)")
_LINK: Final = re.compile(
    r"(?:https?://|www\.)[^\s|•·;,<>()]+|\[URL_\d+\]|"
    r"(?<![\w@.])(?:[A-Za-z0-9-]+\.)+(?:com|org|net|io|dev|me|de|fr|es|it|nl|br|eu|co|ext)(?:/[^\s|•·;,<>()]*)?(?![\w@.])"
)
_NETWORKS: Final = {
    "linkedin.com": "LinkedIn", "github.com": "GitHub", "gitlab.com": "GitLab", "xing.com": "XING",
    "twitter.com": "Twitter", "x.com": "X", "stackoverflow.com": "Stack Overflow", "behance.net": "Behance",
    "kaggle.com": "Kaggle", "medium.com": "Medium",
}  # fmt: skip
# A word in brackets, such as [EMAIL_1]: what it stands for was taken out before the text was sent.
_EMAIL_TAKEN_OUT: Final = re.compile(r"\[EMAIL_\d+\]")
_PHONE_TAKEN_OUT: Final = re.compile(r"\[PHONE_\d+\]")
_DATE_LIKE: Final = re.compile(r"\d{4}-\d\d|\d{4}\s*[–-]\s*\d{4}|\d{1,2}\.\d{1,2}\.\d{4}")
_SPLIT: Final = re.compile(r"\s*[|•·●▪;\uf000-\uf8ff]\s*|\s{3,}|\t+")
_POSTCODE: Final = re.compile(r"^(?:[A-Z]{1,2}-)?(\d{4,6})\s+([^\d,|]{2,40})$")
_CITY_REGION: Final = re.compile(r"^([^\W\d_][^\d,|@]{1,38}),\s*([^\W\d_][^\d,|@]{1,30})(?:\s*\([^)]*\))?$")
_STREET: Final = re.compile(r"\d")


@dataclass
class Contacts:
    """What was found; absent stays absent."""

    email: str | None = None
    phone: str | None = None
    url: str | None = None
    location: dict[str, str] = field(default_factory=dict)
    profiles: list[dict[str, str]] = field(default_factory=list)


def find_email(text: str) -> str | None:
    """The first address; one that a right-to-left layout turned round is turned back."""
    if (taken_out := _EMAIL_TAKEN_OUT.search(text)) is not None:
        return taken_out[0]
    for found in _EMAIL.finditer(text):
        address = found[0].rstrip(".-")
        local, _, domain = address.partition("@")
        ending = domain.rsplit(".", 1)[-1].lower()
        first = local.split(".", 1)[0].lower()
        if ending not in _TOP and first in _TOP and "." in domain:
            pieces = re.split(r"([.@])", address)
            return "".join(reversed(pieces))
        if "." in domain:
            return address
    if "@" in text and (found_loose := _LOOSE.search(text)):
        local, domain, dots = found_loose[1], found_loose[2], found_loose[3]
        if local.count(" ") + domain.count(" ") == dots.count("."):
            return f"{local.replace(' ', '.')}@{domain.replace(' ', '.')}"
    return None


def find_phone(text: str) -> str | None:
    """The first number that looks like a phone, as it is written."""
    if (taken_out := _PHONE_TAKEN_OUT.search(text)) is not None:
        return taken_out[0]
    if turned := _PHONE_TURNED.search(text):
        return " ".join([f"+{turned[2]}", *reversed(turned[1].split())])
    for found in _PHONE.finditer(text):
        number = found[0].strip(" -–./")
        digits = sum(letter.isdigit() for letter in number)
        if 8 <= digits <= 15 and _DATE_LIKE.search(number) is None:
            if number.count("(") > number.count(")"):
                number = number.lstrip("(")
            return number
    return None


def read_links(text: str, into: Contacts) -> None:
    for found in _LINK.finditer(text):
        written = found[0].rstrip("./")
        url = written if written.startswith("http") else f"https://{written}"
        host, _, path = url.split("://", 1)[1].partition("/")
        host = host.lower().removeprefix("www.")
        network = next((name for domain, name in _NETWORKS.items() if host.endswith(domain)), None)
        if network is None:
            into.url = into.url or url
        elif path:
            profile = {"network": network, "username": path.rsplit("/", 1)[-1], "url": url}
            if profile not in into.profiles:
                into.profiles.append(profile)


def has_link(line: str) -> bool:
    return _LINK.search(line) is not None


def bare(line: str) -> str:
    """A contact line without e-mail, phone and links: what may be a place."""
    for pattern in (_EMAIL_TAKEN_OUT, _PHONE_TAKEN_OUT, _LOOSE, _EMAIL, _LINK, _PHONE):
        line = pattern.sub(" | ", line)
    return line


def place_of(part: str) -> dict[str, str] | None:
    """`Leeds`, `San Francisco, CA`, `45878 Musterstadt` as a JSON Resume location; None if no place."""
    part = part.strip(" ,-–:")
    if (found := _POSTCODE.match(part)) is not None:
        return {"postalCode": found[1], "city": found[2].strip()}
    if (found := _CITY_REGION.match(part)) is not None:
        return {"city": found[1].strip(), "region": found[2].strip()}
    if part and not _STREET.search(part) and len(part.split()) <= 3 and len(part) > 1 and part[0].isalpha():
        return {"city": part}
    return None


def parts_of(line: str) -> list[str]:
    """A line split where layouts split contact details."""
    return [part for part in (piece.strip() for piece in _SPLIT.split(line)) if part]


def as_resume(contacts: Contacts) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("email", "phone", "url", "location", "profiles"):
        if value := getattr(contacts, name):
            found[name] = value
    return found
