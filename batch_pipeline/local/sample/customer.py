"""Puts the invented customer together: who applied where, with which file."""

import hashlib
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from batch_pipeline.local.sample.cv_text import (
    Person,
    cv_lines,
    invent_person,
    letter_lines,
    payslip_lines,
)
from batch_pipeline.local.sample.expectation import SampleExpectation, Tally
from batch_pipeline.local.sample.export import Export
from batch_pipeline.local.sample.files import docx, error_page, pdf, scan

_MOST_APPLICATIONS_OF_A_CV: Final = 5
_FIRST_DAY: Final = datetime(2023, 1, 25, 9, 0)  # a day over 12: nobody can take the month for it
_STAGES: Final = ("Applied", "Phone screen", "Onsite", "Offer")
_NOTES: Final = (
    '<p>Strong on <b>contracts</b>. Ask about notice period.</p>\nsecond line, with "quotes"',
    "Called back; prefers mornings.",
    "Aceptó la oferta por teléfono",
)


@dataclass
class _Document:
    person: Person
    applications: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    marker: str | None = None


def make_sample(
    folder: Path,
    applications: int = 1000,
    documents: int = 300,
    seed: int = 7,
    markers: bool = True,
) -> SampleExpectation:
    """Write an export of a customer who never existed into an empty folder.

    `documents` counts distinct CVs, scans included; each was sent with one to five applications.
    Broken files, letters, payslips, missing files and an orphan come on top.

    Raises:
        ValueError: fewer applications than CVs, plus one erased person's and one without a CV.
        FileExistsError: the folder holds something.
    """
    if documents < 1 or applications < documents + 2:
        raise ValueError(f"{documents} CVs need at least {documents + 2} applications")
    with Export(folder) as export:
        rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
        return _Customer(rng, export, markers).make(applications, documents)


class _Customer:
    def __init__(self, rng: random.Random, export: Export, markers: bool) -> None:
        self.rng = rng
        self.export = export
        self.markers = markers
        self.tally = Tally()
        self.result = SampleExpectation()
        self.people: dict[str, Person] = {}
        self.owner_of: dict[str, Person] = {}
        self.jobs: list[str] = []
        self._used_markers: set[str] = set()

    def make(self, applications: int, documents: int) -> SampleExpectation:
        self._jobs(max(8, applications // 50))
        for document in self._documents(applications, documents):
            self._cv(document)
        while self.export.rows["applications"] < applications - 1:
            self._application(self._person(), self.rng.choice(self.jobs))
        self._other_files(documents)
        self._erased_person()
        self.export.write(
            "attachments/orphan_not_in_manifest.pdf", pdf(cv_lines(self.rng, self._stranger(), None), "latin")
        )
        return self._expectation()

    def _documents(self, applications: int, documents: int) -> list[_Document]:
        """Every CV with its person and how often it was sent; about one in seven is a person's second."""
        without_cv = max(1, min(applications // 50, applications - 1 - documents))
        sent = min(applications - 1 - without_cv, documents * _MOST_APPLICATIONS_OF_A_CV)
        again = [number for number in range(documents) for _ in range(_MOST_APPLICATIONS_OF_A_CV - 1)]
        self.rng.shuffle(again)
        times = [1] * documents
        for number in again[: sent - documents]:
            times[number] += 1
        made: list[_Document] = []
        for number in range(documents):
            earlier = made[-1] if made and self.rng.random() < 0.15 else None
            if earlier and len(made) > 1 and made[-2].person is earlier.person:
                earlier = None
            person = earlier.person if earlier else self._person()
            jobs = self.rng.sample(self.jobs, times[number])
            if earlier and earlier.jobs[0] not in jobs:
                jobs[0] = earlier.jobs[0]  # the same person applies to the same job again, with a newer CV
            marker = self._marker() if self.markers else None
            document = _Document(person, jobs=jobs, marker=marker)
            document.applications = [self._application(person, job) for job in jobs]
            made.append(document)
        return made

    def _cv(self, document: _Document) -> None:
        language = document.person.language
        lines = cv_lines(self.rng, document.person, document.marker)
        drawable = language.font != "none"
        number = len(self.result.cv_documents) + 1
        name = language.file_name
        if drawable and number % 20 == 4:
            content = scan(lines, language.font)
            self.result.scan_documents.append(_md5(content))
        elif drawable and self.rng.random() < 0.75:
            content = pdf(lines, language.font)
        else:
            content = docx(lines)
            name = name.replace(".pdf", ".docx")
        md5 = _md5(content)
        self.result.cv_documents[md5] = sorted(document.applications)
        if document.marker and md5 not in self.result.scan_documents[-1:]:
            self.result.markers[document.marker] = sorted(document.applications)
        for application in document.applications:
            self._attach(application, name, "resume", content, verdict="cv")

    def _other_files(self, documents: int) -> None:
        """Letters, payslips, broken and missing files, each on an application of its own."""
        everyone = list(self.owner_of)
        pick = iter(self.rng.sample(everyone, len(everyone)))

        def applications(count: int) -> list[str]:
            return [application for _, application in zip(range(count), pick, strict=False)]

        for number, application in enumerate(applications(max(1, documents // 20))):
            person = self.owner_of[application]
            lines = letter_lines(self.rng, person)
            content = docx(lines) if person.language.font == "none" else pdf(lines, person.language.font)
            ending = "docx" if person.language.font == "none" else "pdf"
            declared = "resume" if number % 4 == 3 else "cover_letter"
            self._attach(
                application, f"Letter.{ending}", declared, content, verdict="not_a_cv", reason="cover_letter"
            )
        for application in applications(max(1, documents // 50)):
            lines = payslip_lines(self.rng, self._stranger())
            self._attach(
                application,
                "Document.pdf",
                "other",
                pdf(lines, "latin"),
                verdict="not_a_cv",
                reason="payslip",
            )
        some = max(1, documents // 100)
        for application in applications(some):
            whole = pdf(cv_lines(self.rng, self._stranger(), None), "latin")
            half = whole[: len(whole) // 2]
            self._attach(application, "CV.pdf", "resume", half, verdict="quarantined", reason="truncated")
        for application in applications(some):
            locked = pdf(cv_lines(self.rng, self._stranger(), None), "latin", password="example")  # noqa: S106
            self._attach(
                application, "CV.pdf", "resume", locked, verdict="quarantined", reason="password_protected"
            )
        for application in applications(2):
            self._attach(application, "CV.pdf", "resume", b"", verdict="quarantined", reason="empty")
        for application in applications(some):
            self._manifest_row(application, "CV.pdf", "resume", error_page(self.rng.getrandbits(64)))
            self.tally.not_fetched("download_failed", "error_page")
        for application in applications(max(1, documents // 50)):
            self._manifest_row(application, "Diploma.pdf", "other", None)
            self.tally.not_fetched("missing")

    def _erased_person(self) -> None:
        """Anonymised in the source, whose export still holds the file."""
        source_id = str(7001 + len(self.people))
        person = invent_person(self.rng, source_id)
        self.people[source_id] = person
        self.export.add(
            "candidates",
            source_id,
            "Anonymized",
            "Candidate",
            "",
            "",
            "2023-02-12 10:00",
            "2024-02-12T02:00:00Z",
        )
        application = self._application(person, self.rng.choice(self.jobs), silent=True)
        marker = self._marker()
        self.result.erased_markers.append(marker)
        self._manifest_row(application, "CV.pdf", "resume", docx(cv_lines(self.rng, person, marker)))
        self.tally.not_fetched("erased")
        self.result.erased_people += 1

    def _jobs(self, count: int) -> None:
        for number in range(count):
            job = str(410001 + number)
            opened = _FIRST_DAY - timedelta(days=30) + timedelta(days=number % 90)
            closed = opened + timedelta(days=200) if number % 3 == 0 else None
            title = invent_person(self.rng, job).language.titles[0]
            self.export.add(
                "jobs",
                job,
                title,
                "closed" if closed else "open",
                _iso(opened),
                _iso(closed) if closed else "",
            )
            self.jobs.append(job)

    def _person(self) -> Person:
        source_id = str(7001 + len(self.people))
        person = invent_person(self.rng, source_id)
        self.people[source_id] = person
        created = _FIRST_DAY + timedelta(days=self.rng.randrange(900))
        self.export.add(
            "candidates",
            source_id,
            person.given,
            person.family,
            person.email,
            person.phone,
            created.strftime("%Y-%m-%d %H:%M"),
            "",
        )
        return person

    def _stranger(self) -> Person:
        """Somebody who is in a file and not in the tables; always in Latin script."""
        while True:
            person = invent_person(self.rng, f"x{self.rng.getrandbits(40)}")
            if person.language.font == "latin":
                return person

    def _application(self, person: Person, job: str, silent: bool = False) -> str:
        """`silent`: nobody wrote about the application, so that nothing personal is in its notes."""
        application = str(88001 + self.export.rows["applications"])
        first = application == "88001"
        applied = _FIRST_DAY + timedelta(days=0 if first else self.rng.randrange(1000), hours=8)
        status = self.rng.choices(("active", "rejected", "hired"), weights=(50, 45, 5))[0]
        reached = {"active": self.rng.randrange(3), "rejected": self.rng.randrange(3), "hired": 3}[status]
        rejected = applied + timedelta(days=30) if status == "rejected" else None
        self.export.add(
            "applications",
            application,
            person.source_id,
            job,
            applied.strftime("%m/%d/%Y"),
            status,
            _STAGES[reached],
            rejected.strftime("%Y-%m-%d") if rejected else "",
            "Not enough experience" if rejected else "",
        )
        for number, stage in enumerate(_STAGES[: reached + 1]):
            self.export.add("stage_history", application, stage, _iso(applied + timedelta(days=7 * number)))
        if not silent:
            self.owner_of[application] = person
            self._opinions(application, person, applied, reached)
        return application

    def _opinions(self, application: str, person: Person, applied: datetime, reached: int) -> None:
        if self.rng.random() < 0.2:
            private = self.rng.random() < 0.35
            self.result.private_notes += private
            self.export.add(
                "notes",
                person.source_id,
                application,
                "Rae Recruiter",
                _iso(applied + timedelta(days=3)),
                "private" if private else "public",
                self.rng.choice(_NOTES),
            )
        if reached >= 2:
            self.export.add(
                "scorecards",
                application,
                "Ivo Interviewer",
                _iso(applied + timedelta(days=15)),
                self.rng.choice(("definitely_not", "no", "mixed", "yes", "strong_yes")),
                "Would you work with this person?",
                self.rng.choice(("Gladly", "Not sure", "No")),
            )

    def _attach(
        self,
        application: str,
        name: str,
        declared: str,
        content: bytes,
        *,
        verdict: str,
        reason: str | None = None,
    ) -> None:
        self._manifest_row(application, name, declared, content)
        self.tally.fetched(_md5(content), application, verdict, reason)

    def _manifest_row(self, application: str, name: str, declared: str, content: bytes | None) -> None:
        number = str(6001 + self.export.rows["attachments"])
        path = self.export.free_path(application, name)
        owner = self.owner_of.get(application)
        person = owner.source_id if owner else list(self.people)[-1]
        created = _iso(_FIRST_DAY + timedelta(days=self.rng.randrange(1000)))
        self.export.add("attachments", number, person, application, name, declared, created, path)
        if content is not None:
            self.export.write(path, content)

    def _marker(self) -> str:
        while (marker := f"MARKER-{self.rng.getrandbits(32):08X}") in self._used_markers:
            continue
        self._used_markers.add(marker)
        return marker

    def _expectation(self) -> SampleExpectation:
        rows, tally, result = self.export.rows, self.tally, self.result
        result.people = rows["candidates"]
        result.jobs = rows["jobs"]
        result.applications = rows["applications"]
        result.stage_moves = rows["stage_history"]
        result.notes = rows["notes"]
        result.evaluations = rows["scorecards"]
        result.attachments = rows["attachments"]
        result.orphan_files = 1
        result.scans = len(result.scan_documents)
        result.links = tally.attachment_verdicts["cv"]
        result.states = dict(tally.states)
        result.attachment_verdicts = dict(tally.attachment_verdicts)
        verdicts = list(tally.verdict_of.values())
        result.verdicts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
        result.reasons = dict(tally.reasons)
        return result


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
