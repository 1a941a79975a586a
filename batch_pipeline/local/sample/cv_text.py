"""The lines of one invented CV, letter or payslip."""

import random
from dataclasses import dataclass

from batch_pipeline.local.sample.languages import LANGUAGES, SKILLS, Language


@dataclass(frozen=True)
class Person:
    """An invented candidate; the address is under example.com or example.org."""

    source_id: str
    language: Language
    given: str
    family: str
    email: str
    phone: str
    city: str

    @property
    def name(self) -> str:
        if self.language.code == "zh":
            return f"{self.family}{self.given}"
        return f"{self.given} {self.family}"


@dataclass(frozen=True)
class Line:
    """One line of a page: `heading` is larger, `bullet` indented."""

    text: str
    style: str = "body"


def invent_person(rng: random.Random, source_id: str) -> Person:
    language = rng.choices(LANGUAGES, weights=[language.share for language in LANGUAGES])[0]
    domain = rng.choice(("example.com", "example.org"))
    return Person(
        source_id=source_id,
        language=language,
        given=rng.choice(language.given),
        family=rng.choice(language.family),
        email=f"candidate.{source_id}@{domain}",
        phone=language.phone.format(rng.randrange(1000)),
        city=rng.choice(language.cities),
    )


def cv_lines(rng: random.Random, person: Person, marker: str | None) -> list[Line]:
    """A one-page CV; the marker stands in its profile and under its newest job."""
    language = person.language
    profile, work, education, skills, languages = language.headings
    year = rng.randint(2018, 2024)
    first, second = rng.sample(range(len(language.titles)), 2)
    lines = [
        Line(person.name, "heading"),
        Line(language.titles[first]),
        Line(f"{person.email} | {person.phone} | {person.city}"),
        Line(profile, "heading"),
        Line(language.profile if marker is None else f"{language.profile} {marker}"),
        Line(work, "heading"),
        Line(f"{language.titles[first]}, {rng.choice(language.companies)}, {person.city}"),
        Line(f"{year}-{rng.randint(1, 12):02d} - {language.present}"),
        *(Line(f"- {bullet}", "bullet") for bullet in rng.sample(language.bullets, 2)),
    ]
    if marker is not None:
        lines.append(Line(f"- {marker}", "bullet"))
    lines += [
        Line(f"{language.titles[second]}, {rng.choice(language.companies)}, {rng.choice(language.cities)}"),
        Line(f"{year - rng.randint(2, 6)}-{rng.randint(1, 12):02d} - {year - 1}-{rng.randint(1, 12):02d}"),
        Line(f"- {rng.choice(language.bullets)}", "bullet"),
        Line(education, "heading"),
        Line(f"{rng.choice(language.degrees)}, {rng.choice(language.schools)}"),
        Line(f"{year - 11}-10 - {year - 7}-07"),
        Line(skills, "heading"),
        Line(", ".join(rng.sample(SKILLS, 5))),
        Line(languages, "heading"),
        Line(", ".join(f"{name} ({level})" for name, level in language.spoken)),
    ]
    return lines


def letter_lines(rng: random.Random, person: Person) -> list[Line]:
    """A cover letter: no section a CV has."""
    greeting, *body, farewell = person.language.letter
    return [
        Line(person.name),
        Line(f"{person.city}, 2026-{rng.randint(1, 3):02d}-{rng.randint(1, 28):02d}"),
        Line(greeting),
        *(Line(sentence) for sentence in body),
        Line(f"({person.language.titles[rng.randrange(len(person.language.titles))]})"),
        Line(farewell),
        Line(person.name),
    ]


def payslip_lines(rng: random.Random, person: Person) -> list[Line]:
    gross = rng.randint(2200, 6900)
    return [
        Line("Payslip", "heading"),
        Line(f"Employee: {person.name}"),
        Line(f"Pay period: 2025-{rng.randint(1, 12):02d}"),
        Line(f"Gross pay: {gross}.00"),
        Line(f"Tax deducted: {gross // 5}.00"),
        Line(f"National insurance: {gross // 12}.00"),
        Line(f"Net pay: {gross - gross // 5 - gross // 12}.00"),
    ]
