"""Lever opportunities, postings and stages -> canonical rows. Shapes: see `lever.py`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from batch_pipeline.sources import names, value_maps
from batch_pipeline.sources.lever_owned import LeverOwned
from batch_pipeline.sources.payload_folder import Payload, PayloadFolder
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import StagedRows, Times
from batch_pipeline.sources.tags_and_answers import AnswerKind, TagsAndAnswers

_PERSON_FIELDS: Final = (
    *("contact", "name", "headline", "location", "phones", "emails", "links", "tags"),
    *("isAnonymized", "dataProtection"),
)
_KINDS: Final = {"referral": "referred", "referred": "referred", "sourced": "sourced", "agency": "sourced"}
_UNDATED: Final = datetime(1970, 1, 1, tzinfo=UTC)


class LeverMapping:
    """One pass over the payloads."""

    def __init__(self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload, api: str | None) -> None:
        self._payloads = payloads
        self._rows = rows
        self._raw = raw
        self._findings = rows.findings
        self._stages = {one["id"]: names.clean(one.get("text")) for one in payloads.rows("stages")}
        self._reasons = {one["id"]: one for one in payloads.rows("archive_reasons")}
        self._users = {one["id"]: names.clean(one.get("name")) for one in payloads.rows("users")}
        self._applications = {one["opportunityId"]: one for one in self._listed_applications()}
        self._contacts: dict[str, str] = {}
        self._owned = LeverOwned(payloads, rows, raw, api, self._users, self._contacts)
        self._said = TagsAndAnswers(rows, raw)

    def stage(self) -> None:
        for position, stage in enumerate(self._payloads.rows("stages")):
            row = {"source_id": stage["id"], "name": names.clean(stage.get("text")), "position": position}
            self._rows.add("stage", row | {"raw": self._raw.of("stage", stage)})
        for posting in self._payloads.rows("postings"):
            self._job(posting)
        for opportunity in self._payloads.rows("opportunities"):
            self._contacts[opportunity["id"]] = _contact_id(opportunity)
            self._person(opportunity)
            self._application(opportunity)
            self._moves(opportunity)
            self._said.tags(_contact_id(opportunity), opportunity["id"], opportunity.get("tags"))
            self._answers(opportunity)
        self._owned.stage()

    def _listed_applications(self) -> Iterator[Payload]:
        if self._payloads.has("applications"):
            yield from self._payloads.rows("applications")

    def _job(self, posting: Payload) -> None:
        times = Times(self._findings, "job")
        categories = posting.get("categories") or {}
        state = posting.get("state")
        status = value_maps.known("job.status", state)
        if state is not None and status is None:
            self._findings.count("unknown_values", "job", "status")
        created = times.epoch("source_created_at", posting.get("createdAt"))
        updated = times.epoch("source_updated_at", posting.get("updatedAt"))
        self._rows.add(
            "job",
            {
                "source_id": posting["id"],
                "source_created_at": created,
                "source_updated_at": updated,
                "raw": self._raw.of("job", posting),
                "title": names.clean(posting.get("text")),
                "code": names.clean(posting.get("reqCode")),
                "status": status,
                "department": names.clean(categories.get("department") or categories.get("team")),
                "location": names.clean(categories.get("location")),
                "opened_at": created,
                "confidential": _confidential(posting),
            },
        )

    def _person(self, opportunity: Payload) -> None:
        times = Times(self._findings, "person")
        created = times.epoch("source_created_at", opportunity.get("createdAt"))
        updated = times.epoch("source_updated_at", opportunity.get("updatedAt"))
        contact = opportunity["contact"] if isinstance(opportunity.get("contact"), dict) else {}
        profile = opportunity | {name: value for name, value in contact.items() if value}
        name = names.clean(profile.get("name"))
        location = profile.get("location")
        protection = opportunity.get("dataProtection") or {}
        store, reach = protection.get("store") or {}, protection.get("contact") or {}
        until = times.epoch("consent_until", store.get("expiresAt"))
        if store.get("allowed") is False:
            until = min(until or _UNDATED, created or _UNDATED)  # refused, whatever its end was
        erased = bool(opportunity.get("isAnonymized")) or names.looks_erased(name)
        self._rows.add(
            "person",
            {
                "source_id": _contact_id(opportunity),
                "source_created_at": created,
                "source_updated_at": updated,
                "raw": self._raw.of(
                    "person", {field: opportunity[field] for field in _PERSON_FIELDS if field in opportunity}
                ),
                "full_name": name,
                "emails": names.emails(profile.get("emails") or []),
                "phones": names.phones(one.get("value") for one in profile.get("phones") or []),
                "links": names.links(profile.get("links") or []),
                "location": names.clean(location.get("name") if isinstance(location, dict) else location),
                # anonymising leaves no date: the last change is the nearest that is known
                "erased_at": (updated or created or _UNDATED) if erased else None,
                "consent_until": until,
                "do_not_contact": None if reach.get("allowed") is None else not reach["allowed"],
                "is_private": _confidential(opportunity),
            },
        )

    def _application(self, opportunity: Payload) -> None:
        times = Times(self._findings, "application")
        applied = self._applied_with(opportunity)
        archived = opportunity.get("archived") or {}
        archived_at = times.epoch("rejected_at", archived.get("archivedAt"))
        reason = self._reasons.get(archived.get("reason"), {})
        if archived and not reason:
            self._findings.count("unknown_values", "application", "archive reason")
        status = "active"
        if archived:
            status = "hired" if reason.get("type") == "hired" else "rejected"
        created = times.epoch("source_created_at", opportunity.get("createdAt"))
        self._rows.add(
            "application",
            {
                "source_id": opportunity["id"],
                "source_created_at": created,
                "source_updated_at": times.epoch("source_updated_at", opportunity.get("updatedAt")),
                "raw": self._raw.of("application", opportunity),
                "person_id": _contact_id(opportunity),
                "job_id": applied.get("posting") if applied else None,
                "kind": _kind(opportunity, applied),
                "status": status,
                "applied_at": times.epoch("applied_at", applied.get("createdAt")) if applied else created,
                "rejected_at": archived_at if status == "rejected" else None,
                "reject_reason": names.clean(reason.get("text")) if status == "rejected" else None,
                "hired_at": archived_at if status == "hired" else None,
                "current_stage": self._stage(opportunity.get("stage")),
                "origin": ", ".join(opportunity.get("sources") or []) or opportunity.get("origin"),
            },
        )

    def _applied_with(self, opportunity: Payload) -> Payload | None:
        """The opportunity's application, expanded or from its own list; None for a lead."""
        for one in opportunity.get("applications") or []:
            if isinstance(one, dict):
                return one
        return self._applications.get(opportunity["id"])

    def _stage(self, stage: Any) -> str | None:
        if isinstance(stage, dict):
            return names.clean(stage.get("text") or stage.get("id"))
        return self._stages.get(stage) or names.clean(stage)

    def _moves(self, opportunity: Payload) -> None:
        for change in opportunity.get("stageChanges") or []:
            times = Times(self._findings, "stage_move")
            moved = times.epoch("moved_at", change.get("updatedAt"))
            user = change.get("userId")
            self._rows.add(
                "stage_move",
                {
                    "source_id": f"{opportunity['id']}/{change.get('updatedAt')}",
                    "source_created_at": moved,
                    "raw": self._raw.of("stage_move", change),
                    "application_id": opportunity["id"],
                    "to_stage": self._stage(change.get("toStageId")),
                    "moved_at": moved,
                    "actor": self._users.get(user) or user,
                    "origin": "structured",
                },
            )

    def _answers(self, opportunity: Payload) -> None:
        """Forms of a posting, or of the colleague who referred the candidate."""
        applied = self._applied_with(opportunity) or {}
        kind: AnswerKind = "referral" if applied.get("type") == "referral" else "screening"
        for form in applied.get("customQuestions") or []:
            created = Times(self._findings, "question_answer").epoch(
                "source_created_at", form.get("createdAt") or applied.get("createdAt")
            )
            for one in form.get("fields") or []:
                self._said.answer(opportunity["id"], one.get("text"), one.get("value"), kind, one, created)


def _contact_id(opportunity: Payload) -> str:
    """The person. Older payloads repeat the opportunity under `candidateId`: never that (trap 9)."""
    contact = opportunity.get("contact")
    if isinstance(contact, dict):
        contact = contact.get("id")
    return str(contact) if contact else f"opportunity-{opportunity['id']}"


def _kind(opportunity: Payload, applied: Payload | None) -> str:
    if applied is None:
        return "prospect"
    return _KINDS.get(str(applied.get("type"))) or _KINDS.get(str(opportunity.get("origin"))) or "applied"


def _confidential(one: Payload) -> bool | None:
    said = one.get("confidentiality")
    return None if said is None else said != "non-confidential"
