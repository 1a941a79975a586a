"""Names, e-mail addresses and phone numbers as every source compares them; what was written is kept."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

INVISIBLE: Final = r"[\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]"
"""Characters without width: bidi controls and marks (trap 20). Joiners stay: they spell Persian names."""

ERASED_NAME: Final = r"(?i)^(?:anonymi[sz]ed|deleted|erased)(?: candidate| user| person)?$"
"""What systems write in place of an erased person's name (trap 12)."""

_INVISIBLE = re.compile(INVISIBLE)
_ERASED = re.compile(ERASED_NAME)


def clean(value: object) -> str | None:
    """A value as shown to people: NFC, without invisible characters and padding; empty is None."""
    if value is None:
        return None
    text = _INVISIBLE.sub("", unicodedata.normalize("NFC", str(value))).strip()
    return text or None


def of_parts(person: Mapping[str, object]) -> str:
    """First and last name of an API's object."""
    return " ".join(str(part) for part in (person.get("first_name"), person.get("last_name")) if part)


def of_object(one: object) -> str | None:
    """The name of an API's nested object; None for anything else."""
    return clean(one.get("name") or of_parts(one)) if isinstance(one, Mapping) else None


def looks_erased(name: str | None) -> bool:
    return name is not None and _ERASED.fullmatch(name) is not None


def name_key(name: str | None) -> str:
    """A name without case, accents, spaces and punctuation, its parts in alphabetical order."""
    decomposed = unicodedata.normalize("NFKD", name or "").casefold()
    letters = "".join(
        character if character.isalnum() else " "
        for character in decomposed
        if not unicodedata.combining(character)
    )
    return " ".join(sorted(letters.split()))


def email_key(address: str) -> str:
    """An address as it is compared: trimmed, lower case."""
    return (clean(address) or "").lower()


def emails(addresses: Iterable[object]) -> str | None:
    """JSON of the canonical `emails` column; None where there is no address."""
    kept = [{"raw": str(one), "norm": email_key(str(one))} for one in addresses if clean(one)]
    return json.dumps(kept, ensure_ascii=False) if kept else None


def phones(numbers: Iterable[object]) -> str | None:
    """JSON of the canonical `phones` column."""
    kept = [{"raw": str(one).strip()} for one in numbers if clean(one)]
    return json.dumps(kept, ensure_ascii=False) if kept else None


def links(addresses: Iterable[object]) -> str | None:
    """JSON of the canonical `links` column."""
    kept = [str(one).strip() for one in addresses if clean(one)]
    return json.dumps(kept, ensure_ascii=False) if kept else None
