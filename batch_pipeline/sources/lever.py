"""Lever: one opportunity a candidacy, one contact a person.

Shapes: contract, section C2, and Lever's API reference (score systems run from "1 - Strong No Hire" to
"4 - Strong Hire"). Payload lists read: postings, stages, archive_reasons, users, opportunities,
applications (unless expanded in the opportunities), and for each opportunity resumes, files, notes,
feedback, offers.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import httpx
from pydantic import Field

from batch_pipeline.sources import names, value_maps
from batch_pipeline.sources.api_client import ApiClient
from batch_pipeline.sources.api_listing import OFFSET_TOKEN, ApiListing
from batch_pipeline.sources.html_notes import readable
from batch_pipeline.sources.payload_config import ApiConfig, PayloadConfig, validated
from batch_pipeline.sources.payload_folder import Payload, PayloadFolder
from batch_pipeline.sources.payload_source import PayloadSource
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import URL, StagedRows, Times
from batch_pipeline.sources.tags_and_answers import AnswerKind, TagsAndAnswers

FLAT: Final = ("postings", "stages", "archive_reasons", "users", "opportunities")
OWNED: Final = ("resumes", "files", "notes", "feedback", "offers")
"""Lists of the account, and lists of each opportunity."""

# unless told otherwise Lever lists what is not confidential, and says nothing of the rest
_ASKED: Final[Mapping[str, dict[str, str]]] = {
    "opportunities": {"expand": "applications", "confidentiality": "all"},
    "postings": {"confidentiality": "all"},
}
_PERSON_FIELDS: Final = (
    *("contact", "name", "headline", "location", "phones", "emails", "links", "tags"),
    *("isAnonymized", "dataProtection"),
)
_KINDS: Final = {"referral": "referred", "referred": "referred", "sourced": "sourced", "agency": "sourced"}
_SCORES: Final = {"strongnohire": 1, "nohire": 2, "hire": 4, "stronghire": 5}
_OFFER_DETAILS: Final = ("fields", "approved", "approvedAt", "posting")
_SHOWN: Final = 20
_UNDATED: Final = datetime(1970, 1, 1, tzinfo=UTC)


class LeverApi(ApiConfig):
    """`key_env` holds an API key with read access to everything, confidential postings included."""

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s?#]+$")] = "https://api.lever.co/v1"
    requests_per_second: Annotated[float, Field(gt=0, le=1000)] = 8  # ten in a steady state
    page_size: Annotated[int, Field(ge=1, le=100)] = 100


class LeverConfig(PayloadConfig):
    kind: Literal["lever"] = "lever"
    system: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")] = "lever"
    api: LeverApi | None = None


class Lever:
    """The dialect."""

    def __init__(self, config: LeverConfig) -> None:
        self._api = config.api

    def stage(self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload) -> None:
        _Mapping(payloads, rows, raw, self._api.base_url if self._api else None).stage()

    def connect(self, key: str) -> ApiClient:
        assert self._api is not None
        return ApiClient(self._api, httpx.BasicAuth(key, ""))

    def list_everything(self, listing: ApiListing) -> None:
        assert self._api is not None
        limit = {"limit": str(self._api.page_size)}
        for name in FLAT:
            listing.flat(name, name, limit | _ASKED.get(name, {}), OFFSET_TOKEN)
        for name in OWNED:
            owners = (str(one["id"]) for one in listing.rows("opportunities"))
            listing.owned(name, owners, _path_of(name), limit, ("data", OFFSET_TOKEN))

    def fresh_link(self, client: ApiClient, handle: str) -> str | None:
        """Handles are paths (`opportunities/<id>/resumes/<id>`); the download path asks for the key."""
        listed = (client.look(handle, {}, handle) or {}).get("data") or {}
        return client.url(f"{handle}/download") if listed.get("file", listed) else None


def open_source(settings: Mapping[str, object]) -> PayloadSource:
    """The source of a migration file's `source:` section; ConfigurationError names the wrong field."""
    config = validated(LeverConfig, dict(settings))
    return PayloadSource(config, config.api, Lever(config))


def _path_of(name: str) -> Callable[[str], str]:
    return lambda owner: f"opportunities/{owner}/{name}"


class _Mapping:
    """One pass over the payloads."""

    def __init__(self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload, api: str | None) -> None:
        self._payloads = payloads
        self._rows = rows
        self._raw = raw
        self._api = api
        self._findings = rows.findings
        self._stages = {one["id"]: names.clean(one.get("text")) for one in payloads.rows("stages")}
        self._reasons = {one["id"]: one for one in payloads.rows("archive_reasons")}
        self._users = {one["id"]: names.clean(one.get("name")) for one in payloads.rows("users")}
        self._applications = {one["opportunityId"]: one for one in self._listed_applications()}
        self._contacts: dict[str, str] = {}
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
        for owner, note in self._payloads.owned_rows("notes", "data"):
            self._note(owner, note)
        for owner, form in self._payloads.owned_rows("feedback", "data"):
            self._feedback(owner, form)
        for owner, offer in self._payloads.owned_rows("offers", "data"):
            self._offer(owner, offer)
        empty: list[str] = []
        for owner, resume in self._payloads.owned_rows("resumes", "data"):
            file = resume.get("file")
            if file:
                self._attachment(owner, "resumes", "resume", resume, file)
            else:
                # a profile typed in or parsed elsewhere: no document, `parsedData` alone (trap 38)
                empty.append(resume["id"])
        if empty:
            shown = ", ".join(empty[:_SHOWN]) + (", ..." if len(empty) > _SHOWN else "")
            self._findings.count("without_file", "attachment", f"resumes without a file: {shown}", len(empty))
        for owner, file in self._payloads.owned_rows("files", "data"):
            self._attachment(owner, "files", "other", file, file)

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

    def _offer(self, owner: str, offer: Payload) -> None:
        """Fields: Lever's API reference. The start date is one of the account's own fields: in `details`."""
        times = Times(self._findings, "offer")
        said = offer.get("status")
        status = value_maps.known("offer.status", said)
        if said is not None and status is None:
            self._findings.count("unknown_values", "offer", "status")
        signed = ((offer.get("signatures") or {}).get("candidate") or {}).get("signedAt")
        details = {name: offer[name] for name in _OFFER_DETAILS if offer.get(name) is not None}
        self._rows.add(
            "offer",
            {
                "source_id": offer["id"],
                "source_created_at": times.epoch("source_created_at", offer.get("createdAt")),
                "raw": self._raw.of("offer", offer),
                "application_id": owner,
                "status": status,
                "sent_at": times.epoch("sent_at", offer.get("sentAt")),
                "resolved_at": times.epoch("resolved_at", signed),
                "details": self._raw.of("offer", details) if details else None,
            },
        )

    def _note(self, owner: str, note: Payload) -> None:
        if note.get("deletedAt") is not None:
            self._findings.count("deleted_rows", "note", "deleted in the system")
            return
        times = Times(self._findings, "note")
        created = times.epoch("noted_at", note.get("createdAt"))
        # with fields, `text` is only the form's title
        filled = [str(one["value"]) for one in note.get("fields") or [] if one.get("value")]
        body = "\n".join(filled) or note.get("text")
        self._rows.add(
            "note",
            {
                "source_id": note["id"],
                "source_created_at": created,
                "raw": self._raw.of("note", note),
                "person_id": self._contacts.get(owner),
                "application_id": owner,
                "author": self._users.get(note.get("user")) or note.get("user"),
                "body_raw": body,
                "body_text": readable(body),
                "visibility": "public" if note.get("secret") is False else "private",
                "noted_at": times.epoch("noted_at", note.get("completedAt")) or created,
            },
        )

    def _feedback(self, owner: str, form: Payload) -> None:
        if form.get("deletedAt") is not None:
            self._findings.count("deleted_rows", "evaluation", "deleted in the system")
            return
        times = Times(self._findings, "evaluation")
        fields = form.get("fields") or []
        rating = next((one.get("value") for one in fields if one.get("type") == "score-system"), None)
        overall = _SCORES.get(value_maps.folded(str(rating)).lstrip("0123456789")) if rating else None
        if rating and overall is None:
            self._findings.count("unknown_values", "evaluation", "overall")
        items = [
            {"question": one.get("text"), "answer": _answer(one.get("value")), "rating": None}
            for one in fields
            if one.get("type") != "score-system" and one.get("value") not in (None, "", [])
        ]
        created = times.epoch("source_created_at", form.get("createdAt"))
        self._rows.add(
            "evaluation",
            {
                "source_id": form["id"],
                "source_created_at": created,
                "raw": self._raw.of("evaluation", form),
                "application_id": owner,
                "author": self._users.get(form.get("user")) or form.get("user"),
                "submitted_at": times.epoch("submitted_at", form.get("completedAt")) or created,
                "overall": overall,
                "overall_raw": rating,
                "items": json.dumps(items, ensure_ascii=False) if items else None,
            },
        )

    def _attachment(self, owner: str, list_: str, declared: str, listed: Payload, file: Payload) -> None:
        times = Times(self._findings, "attachment")
        handle = f"opportunities/{owner}/{list_}/{listed['id']}"
        created = listed.get("createdAt") or file.get("uploadedAt")
        self._rows.add(
            "attachment",
            {
                "source_id": listed["id"],
                "source_created_at": times.epoch("source_created_at", created),
                "raw": self._raw.of("attachment", listed),
                "person_id": self._contacts.get(owner),
                "application_id": owner,
                "file_name": file.get("name"),
                "declared_type": declared,
                "source_handle": handle,
                "state": "pending",
                URL: f"{self._api}/{handle}/download" if self._api else None,
            },
        )


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


def _answer(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
