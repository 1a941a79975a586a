"""JSON Resume 1.0.0 as both published schemas accept it (contracts/ats.md section B1).

Types are strict here; `leniency.py` mends the harmless differences first. Every field is optional,
nested objects may hold more keys, the top level may not. Dates are partial and checked against the
calendar, except a certificate's, which one of the two schemas wants whole.
"""

from datetime import date
from functools import lru_cache
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

SCHEMA_VERSION: Final = "jsonresume-1.0.0"

# ASCII only and with a scheme and a host, which is narrower than RFC 3986 and all a CV needs.
URL_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9\[][A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*$"
EMAIL_PATTERN: Final = (
    r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$"
)
MAX_URL: Final = 2048
MAX_EMAIL: Final = 254
_PARTIAL: Final = r"^[12][0-9]{3}(?:-[01][0-9](?:-[0-3][0-9])?)?$"
_WHOLE: Final = r"^[12][0-9]{3}-[01][0-9]-[0-3][0-9]$"


@lru_cache(maxsize=8192)
def in_calendar(value: str) -> str:
    """`value` itself, a YYYY[-MM[-DD]] date that exists. Raises ValueError otherwise."""
    year, *rest = (int(part) for part in value.split("-"))
    date(year, rest[0] if rest else 1, rest[1] if len(rest) > 1 else 1)
    return value


Text = str | None
PartialDate = Annotated[str, StringConstraints(pattern=_PARTIAL), AfterValidator(in_calendar)] | None
WholeDate = Annotated[str, StringConstraints(pattern=_WHOLE), AfterValidator(in_calendar)] | None
Url = Annotated[str, StringConstraints(pattern=URL_PATTERN, max_length=MAX_URL)] | None
Email = Annotated[str, StringConstraints(pattern=EMAIL_PATTERN, max_length=MAX_EMAIL)] | None
CountryCode = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")] | None


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class Location(_Part):
    address: Text = None
    postalCode: Text = None  # noqa: N815  JSON Resume's own names, so that no alias is needed
    city: Text = None
    countryCode: CountryCode = None  # noqa: N815
    region: Text = None


class Profile(_Part):
    network: Text = None
    username: Text = None
    url: Url = None


class Basics(_Part):
    name: Text = None
    label: Text = None
    image: Text = None
    email: Email = None
    phone: Text = None
    url: Url = None
    summary: Text = None
    location: Location | None = None
    profiles: list[Profile] | None = None


class Work(_Part):
    name: Text = None
    location: Text = None
    description: Text = None
    position: Text = None
    url: Url = None
    startDate: PartialDate = None  # noqa: N815
    endDate: PartialDate = None  # noqa: N815
    summary: Text = None
    highlights: list[str] | None = None


class Volunteer(_Part):
    organization: Text = None
    position: Text = None
    url: Url = None
    startDate: PartialDate = None  # noqa: N815
    endDate: PartialDate = None  # noqa: N815
    summary: Text = None
    highlights: list[str] | None = None


class Education(_Part):
    institution: Text = None
    url: Url = None
    area: Text = None
    studyType: Text = None  # noqa: N815
    startDate: PartialDate = None  # noqa: N815
    endDate: PartialDate = None  # noqa: N815
    score: Text = None
    courses: list[str] | None = None


class Award(_Part):
    title: Text = None
    date: PartialDate = None
    awarder: Text = None
    summary: Text = None


class Certificate(_Part):
    name: Text = None
    date: WholeDate = None
    url: Url = None
    issuer: Text = None


class Publication(_Part):
    name: Text = None
    publisher: Text = None
    releaseDate: PartialDate = None  # noqa: N815
    url: Url = None
    summary: Text = None


class Skill(_Part):
    name: Text = None
    level: Text = None
    keywords: list[str] | None = None


class Language(_Part):
    language: Text = None
    fluency: Text = None


class Interest(_Part):
    name: Text = None
    keywords: list[str] | None = None


class Reference(_Part):
    name: Text = None
    reference: Text = None


class Project(_Part):
    name: Text = None
    description: Text = None
    highlights: list[str] | None = None
    keywords: list[str] | None = None
    startDate: PartialDate = None  # noqa: N815
    endDate: PartialDate = None  # noqa: N815
    url: Url = None
    roles: list[str] | None = None
    entity: Text = None
    type: Text = None


class Meta(_Part):
    canonical: Url = None
    version: Text = None
    lastModified: Text = None  # noqa: N815


class Resume(BaseModel):
    """The whole document. Unknown keys are refused here: they belong in `extra`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    schema_: Url = Field(None, alias="$schema")
    basics: Basics | None = None
    work: list[Work] | None = None
    volunteer: list[Volunteer] | None = None
    education: list[Education] | None = None
    awards: list[Award] | None = None
    certificates: list[Certificate] | None = None
    publications: list[Publication] | None = None
    skills: list[Skill] | None = None
    languages: list[Language] | None = None
    interests: list[Interest] | None = None
    references: list[Reference] | None = None
    projects: list[Project] | None = None
    meta: Meta | None = None


TOP_LEVEL: Final = frozenset(field.alias or name for name, field in Resume.model_fields.items())
