"""Harmless differences between what models write and JSON Resume, mended without losing a word.

Null, an empty string and "Present" say nothing and go. A number where the schema wants text becomes
that text; one string where it wants a list becomes a list of one; a bare skill, language or interest
gets its name key. What has the right type but not the right form (an e-mail, URL, date or country
code) leaves its strict field and is kept in `extra` under `set_aside`, by its path. Everything else is
left as it is, for the strict models to refuse.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from batch_pipeline.tasks.cv import resume
from batch_pipeline.tasks.cv.resume import TOP_LEVEL, Text, in_calendar

SET_ASIDE: Final = "set_aside"

_STILL_HELD: Final = frozenset(
    {"present", "current", "now", "ongoing", "today", "heute", "aktuell", "atual", "actual", "presente"}
)
_SECTIONS: Final[Mapping[str, type[BaseModel]]] = {
    "work": resume.Work,
    "volunteer": resume.Volunteer,
    "education": resume.Education,
    "awards": resume.Award,
    "certificates": resume.Certificate,
    "publications": resume.Publication,
    "skills": resume.Skill,
    "languages": resume.Language,
    "interests": resume.Interest,
    "references": resume.Reference,
    "projects": resume.Project,
}
_NAMED_BY: Final[Mapping[str, str]] = {"skills": "name", "languages": "language", "interests": "name"}

_URL: Final = re.compile(resume.URL_PATTERN)
_EMAIL: Final = re.compile(resume.EMAIL_PATTERN)
_PARTIAL: Final = re.compile(r"[12][0-9]{3}(?:-[01][0-9](?:-[0-3][0-9])?)?")
_WHOLE: Final = re.compile(r"[12][0-9]{3}-[01][0-9]-[0-3][0-9]")
_COUNTRY: Final = re.compile(r"[A-Za-z]{2}")

Form = Callable[[str], str | None]


def _date(shape: re.Pattern[str], value: str) -> str | None:
    if not shape.fullmatch(value):
        return None
    try:
        return in_calendar(value)
    except ValueError:
        return None


def _partial_date(value: str) -> str | None:
    return _date(_PARTIAL, value)


def _whole_date(value: str) -> str | None:
    return _date(_WHOLE, value)


def _url(value: str) -> str | None:
    return value if len(value) <= resume.MAX_URL and _URL.fullmatch(value) else None


def _email(value: str) -> str | None:
    return value if len(value) <= resume.MAX_EMAIL and _EMAIL.fullmatch(value) else None


def _country(value: str) -> str | None:
    return value.upper() if _COUNTRY.fullmatch(value) else None


_DATES: Final = frozenset({"startDate", "endDate", "date", "releaseDate"})
_FORMS: Final[Mapping[str, Form]] = {
    "url": _url,
    "canonical": _url,
    "$schema": _url,
    "email": _email,
    "countryCode": _country,
    **dict.fromkeys(_DATES, _partial_date),
}
_CERTIFICATE_FORMS: Final[Mapping[str, Form]] = {**_FORMS, "date": _whole_date}


def mend(data: dict[str, Any], extra: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The resume and the extra object, mended. Neither argument is changed.

    >>> mend({"basics": {"name": "N", "email": "none"}, "hobby": "chess"}, {})
    ({'basics': {'name': 'N'}}, {'hobby': 'chess', 'set_aside': {'basics.email': 'none'}})
    """
    aside: dict[str, Any] = {}
    mended: dict[str, Any] = {}
    kept = {key: value for key, value in extra.items() if not _says_nothing(value) and key != SET_ASIDE}
    if SET_ASIDE in extra:
        aside[f"extra.{SET_ASIDE}"] = extra[SET_ASIDE]
    for key, value in data.items():
        if _says_nothing(value):
            continue
        if key not in TOP_LEVEL:
            if kept.setdefault(key, value) != value:
                aside[key] = value
        elif key == "basics":
            mended[key] = _basics(value, aside)
        elif key == "meta":
            mended[key] = _object(value, resume.Meta, key, aside)
        elif key in _SECTIONS:
            mended[key] = _section(key, value, _SECTIONS[key], key, aside)
        else:
            _form(mended, key, value, _FORMS[key], key, aside)
    if aside:
        kept[SET_ASIDE] = aside
    return mended, kept


def _says_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _basics(value: Any, aside: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    mended = _object(value, resume.Basics, "basics", aside)
    if "location" in mended:
        mended["location"] = _object(mended["location"], resume.Location, "basics.location", aside)
    if "profiles" in mended:
        mended["profiles"] = _section(
            "profiles", mended["profiles"], resume.Profile, "basics.profiles", aside
        )
    return mended


def _section(name: str, value: Any, model: type[BaseModel], path: str, aside: dict[str, Any]) -> Any:
    if not isinstance(value, list):
        return value
    items: list[Any] = []
    for item in value:
        if _says_nothing(item):
            continue
        named = {_NAMED_BY[name]: item} if name in _NAMED_BY and isinstance(item, str) else item
        items.append(_object(named, model, f"{path}.{len(items)}", aside))
    return items


def _object(value: Any, model: type[BaseModel], path: str, aside: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    forms = _CERTIFICATE_FORMS if model is resume.Certificate else _FORMS
    mended: dict[str, Any] = {}
    for key, inner in value.items():
        if _says_nothing(inner):
            continue
        field = model.model_fields.get(key)
        if field is None:
            mended[key] = inner
        elif key in forms:
            _form(mended, key, inner, forms[key], f"{path}.{key}", aside)
        elif field.annotation == Text:
            mended[key] = _text(inner)
        elif field.annotation == list[str] | None:
            mended[key] = _texts(inner)
        else:
            mended[key] = inner
    return mended


def _form(mended: dict[str, Any], key: str, value: Any, form: Form, path: str, aside: dict[str, Any]) -> None:
    plain = _text(value)
    if not isinstance(plain, str):
        mended[key] = value
        return
    stripped = plain.strip()
    if key in _DATES and stripped.casefold() in _STILL_HELD:
        return
    formed = form(stripped)
    if formed is None:
        aside[path] = value
    else:
        mended[key] = formed


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _texts(value: Any) -> Any:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return value
    return [_text(item) for item in value if not _says_nothing(item)]
