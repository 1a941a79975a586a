"""Greenhouse objects -> canonical rows.

What a v1 object nests (`jobs`, `current_stage`, `user`) v3 gives as ids of other lists; either is taken
where it is there. Shapes: see `greenhouse.py`.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from batch_pipeline.sources import names, value_maps
from batch_pipeline.sources.greenhouse_activity import Candidacy
from batch_pipeline.sources.greenhouse_attachments import GreenhouseAttachments
from batch_pipeline.sources.greenhouse_moves import GreenhouseMoves
from batch_pipeline.sources.greenhouse_offers import GreenhouseOffers
from batch_pipeline.sources.greenhouse_scorecards import GreenhouseScorecards
from batch_pipeline.sources.html_notes import readable
from batch_pipeline.sources.payload_folder import Payload, PayloadFolder
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import StagedRows, Times
from batch_pipeline.sources.tags_and_answers import TagsAndAnswers

_STRICTEST_FIRST: Final = ("admin_only", "private", "public")
_UNDATED: Final = datetime(1970, 1, 1, tzinfo=UTC)


class GreenhouseMapping:
    """One pass over the payloads."""

    def __init__(self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload) -> None:
        self._payloads = payloads
        self._rows = rows
        self._raw = raw
        self._findings = rows.findings
        self._stages = self._named("job_stages") | self._named("job_interview_stages")
        self._reasons = self._named("rejection_reasons")
        self._sources = self._named("sources")
        self._departments = self._named("departments")
        self._offices = self._named("offices")
        self._users = self._named("users")
        self._jobs: dict[str, str | None] = {}
        self._hired: dict[str, object] = {}
        self._rejections = self._rejection_details()
        self._moves = GreenhouseMoves(payloads, rows, raw, self._stages)
        self._attachments = GreenhouseAttachments(rows, raw)
        self._offers = GreenhouseOffers(rows, raw)
        self._said = TagsAndAnswers(rows, raw)

    def stage(self) -> None:
        self._stage_offers()
        for job in self._payloads.rows("jobs"):
            self._job(job)
        for stages in ("job_stages", "job_interview_stages"):
            self._offers.stages(self._payloads.rows(stages))
        own_list = self._payloads.has("attachments")
        for application in self._applications():
            self._application(application)
            self._answers(application)
            if not own_list:
                self._attachments.of_application(application)
        for candidate in self._payloads.rows("candidates"):
            self._person(candidate)
            self._said.tags(str(candidate["id"]), None, candidate.get("tags"))
            if not own_list:
                self._attachments.of_candidate(candidate)
        for attachment in self._payloads.rows("attachments"):
            self._attachments.listed(attachment)
        self._moves.structured()
        for candidate_id, feed in self._payloads.owned("activity_feed"):
            self._feed(candidate_id, feed)
        self._moves.derived()
        for note in self._payloads.rows("notes"):
            self._note(note, str(note["candidate_id"]) if note.get("candidate_id") else None)
        GreenhouseScorecards(self._payloads, self._rows, self._raw, self._users).stage()

    def _stage_offers(self) -> None:
        """Before the applications: an accepted offer tells when somebody was hired."""
        for offer in self._payloads.rows("offers"):
            if str(offer.get("status")).lower() == "accepted":
                self._hired[str(offer["application_id"])] = offer.get("resolved_at")
            self._offers.offer(offer)

    def _rejection_details(self) -> dict[str, str]:
        """application id -> reason (v3 lists them apart)."""
        reasons = (
            (one, self._reasons.get(str(one.get("rejection_reason_id"))))
            for one in self._payloads.rows("rejection_details")
        )
        return {str(one.get("application_id")): reason for one, reason in reasons if reason}

    def _named(self, name: str) -> dict[str, str]:
        """id -> name of a small list."""
        found: dict[str, str] = {}
        for one in self._payloads.rows(name):
            shown = one.get("name") or one.get("public_name") or names.of_parts(one)
            if shown:
                found[str(one["id"])] = str(shown)
        return found

    def _applications(self) -> Iterator[Payload]:
        if self._payloads.has("applications"):
            yield from self._payloads.rows("applications")
            return
        for candidate in self._payloads.rows("candidates"):
            yield from candidate.get("applications") or []

    def _job(self, job: Payload) -> None:
        times = Times(self._findings, "job")
        self._jobs[str(job["id"])] = names.clean(job.get("name"))
        department = _joined(job.get("departments")) or self._departments.get(str(job.get("department_id")))
        offices = [
            self._offices[str(one)] for one in job.get("office_ids") or [] if str(one) in self._offices
        ]
        self._rows.add(
            "job",
            {
                "source_id": str(job["id"]),
                "source_created_at": times.iso("source_created_at", job.get("created_at")),
                "source_updated_at": times.iso("source_updated_at", job.get("updated_at")),
                "raw": self._raw.of("job", job),
                "title": names.clean(job.get("name")),
                "code": names.clean(job.get("requisition_id")),
                "status": self._known("job", "status", job.get("status")),
                "department": department,
                "location": _joined(job.get("offices")) or ", ".join(offices) or None,
                "opened_at": times.iso("opened_at", job.get("opened_at")),
                "closed_at": times.iso("closed_at", job.get("closed_at")),
                "confidential": job.get("confidential"),
                "tz_assumed": times.zoneless,
            },
        )

    def _person(self, person: Payload) -> None:
        times = Times(self._findings, "person")
        created = times.iso("source_created_at", person.get("created_at"))
        updated = times.iso("source_updated_at", person.get("updated_at"))
        name = names.clean(names.of_parts(person))
        can_email = person.get("can_email")
        private = person.get("is_private", person.get("private"))
        links = [*_values(person, "website_addresses"), *_values(person, "social_media_addresses")]
        self._rows.add(
            "person",
            {
                "source_id": str(person["id"]),
                "source_created_at": created,
                "source_updated_at": updated,
                "raw": self._raw.of("person", person, without=("applications", "attachments")),
                "full_name": name,
                "given_name": names.clean(person.get("first_name")),
                "family_name": names.clean(person.get("last_name")),
                "emails": names.emails(_values(person, "email_addresses")),
                "phones": names.phones(_values(person, "phone_numbers")),
                "links": names.links(links),
                "location": names.clean(next(iter(_values(person, "addresses")), None)),
                # anonymising leaves no date: the last change is the nearest that is known
                "erased_at": (updated or created or _UNDATED) if names.looks_erased(name) else None,
                "do_not_contact": None if can_email is None else not can_email,
                "is_private": private,
                "tz_assumed": times.zoneless,
            },
        )

    def _application(self, application: Payload) -> None:
        times = Times(self._findings, "application")
        source_id, person_id = str(application["id"]), _text(application.get("candidate_id"))
        prospect = bool(application.get("prospect"))
        jobs = application.get("jobs") or []
        job_id = _text(jobs[0]["id"] if jobs else application.get("job_id"))
        if jobs and job_id is not None:
            self._jobs.setdefault(job_id, names.clean(jobs[0].get("name")))
        applied = times.iso("applied_at", application.get("applied_at") or application.get("created_at"))
        rejected = times.iso("rejected_at", application.get("rejected_at"))
        reason = names.of_object(application.get("rejection_reason"))
        # the `stage_id` of v3 is of the visit to a stage, and says nothing without that list
        stage = (
            names.of_object(application.get("current_stage"))
            or names.clean(application.get("stage_name"))
            or self._stages.get(str(application.get("job_interview_stage_id")))
        )
        self._rows.add(
            "application",
            {
                "source_id": source_id,
                "source_created_at": times.iso("source_created_at", application.get("created_at")) or applied,
                "source_updated_at": times.iso(
                    "source_updated_at", application.get("updated_at") or application.get("last_activity_at")
                ),
                "raw": self._raw.of("application", application, without=("attachments",)),
                "person_id": person_id,
                # a prospect may be considered for several jobs and has applied to none of them
                "job_id": None if prospect else job_id,
                "kind": "prospect" if prospect or job_id is None else "applied",
                "status": self._known("application", "status", application.get("status")),
                "applied_at": applied,
                "rejected_at": rejected,
                "reject_reason": reason
                or self._reasons.get(str(application.get("rejection_reason_id")))
                or self._rejections.get(source_id),
                "hired_at": times.iso("hired_at", self._hired.get(source_id)),
                "current_stage": stage,
                "origin": names.clean((application.get("source") or {}).get("public_name"))
                or self._sources.get(str(application.get("source_id"))),
                "tz_assumed": times.zoneless,
            },
        )
        candidacy = Candidacy(source_id, self._jobs.get(str(job_id)), applied, rejected)
        self._moves.application(candidacy, person_id, job_id, stage, applied)

    def _answers(self, application: Payload) -> None:
        """Of the job post's form, and the account's own fields of an application."""
        source_id = str(application["id"])
        for one in application.get("answers") or []:
            self._said.answer(source_id, one.get("question"), one.get("answer"), "screening", one)
        fields = application.get("keyed_custom_fields") or application.get("custom_fields") or {}
        for one in (one for one in fields.values() if isinstance(one, dict)):
            self._said.answer(source_id, one.get("name"), one.get("value"), "custom_field", one)

    def _feed(self, candidate_id: str, feed: Payload) -> None:
        for note in feed.get("notes") or []:
            self._note(note, candidate_id)
        mails = len(feed.get("emails") or [])
        if mails:
            self._findings.count("not_imported", "activity_feed", "e-mails", mails)
        for activity in feed.get("activities") or []:
            self._moves.activity(candidate_id, activity)

    def _note(self, note: Payload, candidate_id: str | None) -> None:
        times = Times(self._findings, "note")
        kind = note.get("type")
        if kind is not None and str(kind).upper() != "NOTE":
            self._findings.count("not_imported", "note", "entries of the notes list that are no notes")
            return
        noted = times.iso("noted_at", note.get("created_at"))
        self._rows.add(
            "note",
            {
                "source_id": str(note["id"]),
                "source_created_at": noted,
                "source_updated_at": times.iso("source_updated_at", note.get("updated_at")),
                "raw": self._raw.of("note", note),
                "person_id": candidate_id,
                "application_id": _text(note.get("application_id")),
                "author": names.of_object(note.get("user")) or self._users.get(str(note.get("user_id"))),
                "body_raw": note.get("body"),
                "body_text": readable(note.get("body")),
                "visibility": self._visibility(note),
                "noted_at": noted,
                "tz_assumed": times.zoneless,
            },
        )

    def _visibility(self, note: Payload) -> str:
        """The strictest of what the note says, in either spelling; private where it says nothing known."""
        said = [note[name] for name in ("visibility", "visiblity") if note.get(name) is not None]
        found = {value_maps.known("note.visibility", one) or "private" for one in said}
        if any(value_maps.known("note.visibility", one) is None for one in said):
            self._findings.count("unknown_values", "note", "visibility")
        if note.get("private") is True or not found:
            found.add("private")
        return next(one for one in _STRICTEST_FIRST if one in found)

    def _known(self, table: str, field: str, raw: object) -> str | None:
        found = value_maps.known(f"{table}.{field}", raw)
        if raw is not None and found is None:
            self._findings.count("unknown_values", table, field)
        return found


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _values(person: Payload, field: str) -> list[object]:
    return [one.get("value") for one in person.get(field) or []]


def _joined(nested: Iterable[Any] | None) -> str | None:
    found = [name for name in map(names.of_object, nested or []) if name]
    return ", ".join(found) or None
