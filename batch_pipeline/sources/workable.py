"""Workable: one record a candidate and job, and no person.

People are derived: records with one normalised e-mail address and the same name are one person; an
address shared by different names (an agency, a family) is several, and a record without an address is a
person of its own (traps 8 and 10). Shapes: contract, section C2, workable.readme.io. Payload lists read:
jobs, stages (`slug`, `name`, `kind`, `position`), candidates (with details), and for each candidate
activities.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field

from batch_pipeline.sources import names, value_maps
from batch_pipeline.sources.api_client import ApiClient, BearerKey
from batch_pipeline.sources.api_listing import PAGING_NEXT, ApiListing
from batch_pipeline.sources.html_notes import readable
from batch_pipeline.sources.payload_config import ApiConfig, PayloadConfig, validated
from batch_pipeline.sources.payload_folder import Payload, PayloadFolder
from batch_pipeline.sources.payload_source import PayloadSource
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import URL, StagedRows, Times
from batch_pipeline.sources.tags_and_answers import TagsAndAnswers

_PERSON_FIELDS: Final = (
    *("name", "firstname", "lastname", "headline", "email", "phone", "address", "summary"),
    *("social_profiles", "skills", "tags", "education_entries", "experience_entries"),
)
_SHOWN: Final = 20


class WorkableApi(ApiConfig):
    """`base_url` is https://<subdomain>.workable.com/spi/v3; `key_env` holds an account token."""

    requests_per_second: Annotated[float, Field(gt=0, le=1000)] = 1  # ten in ten seconds for account tokens


class WorkableConfig(PayloadConfig):
    kind: Literal["workable"] = "workable"
    system: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")] = "workable"
    api: WorkableApi | None = None


class Workable:
    """The dialect."""

    def __init__(self, config: WorkableConfig) -> None:
        self._api = config.api

    def stage(self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload) -> None:
        _Mapping(payloads, rows, raw).stage()

    def connect(self, key: str) -> ApiClient:
        assert self._api is not None
        return ApiClient(self._api, BearerKey(key))

    def list_everything(self, listing: ApiListing) -> None:
        assert self._api is not None
        limit = {"limit": str(min(self._api.page_size, 100))}
        listing.flat("jobs", "jobs", limit, PAGING_NEXT)
        listing.flat("stages", "stages", {}, PAGING_NEXT)
        listing.flat("candidates", "candidates", limit, PAGING_NEXT)
        for name, path, paged in (
            ("details", "candidates/{}", None),  # only the detail names the CV
            ("activities", "candidates/{}/activities", ("activities", PAGING_NEXT)),
        ):
            owners = (str(one["id"]) for one in listing.rows("candidates"))
            listing.owned(name, owners, path.format, {}, paged)

    def fresh_link(self, client: ApiClient, handle: str) -> str | None:
        """Handles are `candidates/<id>/resume`."""
        link = _detail(client.look(handle.removesuffix("/resume"), {}, handle) or {}).get("resume_url")
        return str(link) if link else None


def open_source(settings: Mapping[str, object]) -> PayloadSource:
    """The source of a migration file's `source:` section; ConfigurationError names the wrong field."""
    config = validated(WorkableConfig, dict(settings))
    return PayloadSource(config, config.api, Workable(config))


def _detail(content: Any) -> Payload:
    """The detail endpoint wraps its object."""
    found: Payload = content.get("candidate", content)
    return found


class _Mapping:
    """Two passes over the candidates: who is one person, then the rows."""

    def __init__(self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload) -> None:
        self._payloads = payloads
        self._rows = rows
        self._raw = raw
        self._findings = rows.findings
        self._people: dict[bytes, tuple[str, str, int]] = {}  # by address and name: first record's time, id
        self._spelt_otherwise: list[str] = []
        self._said = TagsAndAnswers(rows, raw)

    def stage(self) -> None:
        for job in self._payloads.rows("jobs"):
            self._job(job)
        for stage in self._payloads.rows("stages"):
            row = {"source_id": stage["slug"], "name": names.clean(stage.get("name") or stage["slug"])}
            row |= {"position": stage.get("position"), "kind": stage.get("kind")}
            self._rows.add("stage", row | {"raw": self._raw.of("stage", stage)})
        for candidate in self._candidates():
            self._recognise(candidate)
        if self._spelt_otherwise:
            shown = "; ".join(self._spelt_otherwise[:_SHOWN])
            detail = f"one person, e-mail or name written differently: {shown}"
            self._findings.count("merged_records", "person", detail, len(self._spelt_otherwise))
        for candidate in self._candidates():
            self._person(candidate)
            self._application(candidate)
            self._said.tags(self._person_id(candidate), str(candidate["id"]), candidate.get("tags"))
            self._answers(candidate)
            self._resume(candidate)
        for owner, activity in self._payloads.owned_rows("activities", "activities"):
            self._activity(owner, activity)

    def _candidates(self) -> Iterator[Payload]:
        """Each with its details; they were read later, and win."""
        for listed in self._payloads.rows("candidates"):
            yield listed | _detail(self._payloads.one("details", str(listed["id"])) or {})

    def _recognise(self, candidate: Payload) -> None:
        key = _person_key(candidate)
        if key is None:
            return
        spelling = hash((candidate.get("email"), _full_name(candidate)))
        record = (str(candidate.get("created_at") or ""), str(candidate["id"]), spelling)
        known = self._people.setdefault(key, record)
        if known[2] != spelling:
            self._spelt_otherwise.append(f"{known[1]} = {record[1]}")
        self._people[key] = min(known, record)

    def _job(self, job: Payload) -> None:
        times = Times(self._findings, "job")
        state = job.get("state")
        status = value_maps.known("job.status", state)
        if state is not None and status is None:
            self._findings.count("unknown_values", "job", "status")
        created = times.iso("source_created_at", job.get("created_at"))
        location = job.get("location") or {}
        self._rows.add(
            "job",
            {
                "source_id": job["shortcode"],  # candidates name their job by this alone
                "source_created_at": created,
                "raw": self._raw.of("job", job),
                "title": names.clean(job.get("title")),
                "code": names.clean(job.get("code") or job["shortcode"]),
                "status": status,
                "department": names.clean(job.get("department")),
                "location": names.clean(location.get("location_str") or location.get("city")),
                "opened_at": created,
                "tz_assumed": times.zoneless,
            },
        )

    def _person_id(self, candidate: Payload) -> str:
        """The id of the person's first record: an id made of an address would give the address away."""
        key = _person_key(candidate)
        return str(candidate["id"]) if key is None else self._people[key][1]

    def _person(self, candidate: Payload) -> None:
        times = Times(self._findings, "person")
        created = times.iso("source_created_at", candidate.get("created_at"))
        updated = times.iso("source_updated_at", candidate.get("updated_at"))
        name = _full_name(candidate)
        profiles = [one.get("url") for one in candidate.get("social_profiles") or []]
        self._rows.add(
            "person",
            {
                "source_id": self._person_id(candidate),
                "source_created_at": created,
                "source_updated_at": updated,
                "raw": self._raw.of(
                    "person", {field: candidate[field] for field in _PERSON_FIELDS if field in candidate}
                ),
                "full_name": name,
                "given_name": names.clean(candidate.get("firstname")),
                "family_name": names.clean(candidate.get("lastname")),
                "emails": names.emails([candidate.get("email")]),
                "phones": names.phones([candidate.get("phone")]),
                "links": names.links(profiles),
                "location": names.clean(candidate.get("address")),
                # anonymising leaves no date: the last change is the nearest that is known
                "erased_at": (updated or created) if names.looks_erased(name) else None,
                "tz_assumed": times.zoneless,
            },
        )

    def _application(self, candidate: Payload) -> None:
        times = Times(self._findings, "application")
        job_id = (candidate.get("job") or {}).get("shortcode")
        status = _status(candidate)
        created = times.iso("applied_at", candidate.get("created_at"))
        ended = times.iso("rejected_at", candidate.get("disqualified_at"))
        kind = "sourced" if candidate.get("sourced") else "applied"
        self._rows.add(
            "application",
            {
                "source_id": str(candidate["id"]),
                "source_created_at": created,
                "source_updated_at": times.iso("source_updated_at", candidate.get("updated_at")),
                "raw": self._raw.of("application", candidate, without=_PERSON_FIELDS),
                "person_id": self._person_id(candidate),
                "job_id": job_id,
                "kind": kind if job_id else "prospect",
                "status": status,
                "applied_at": created,
                "rejected_at": ended if status in ("rejected", "withdrawn") else None,
                "reject_reason": names.clean(candidate.get("disqualification_reason")),
                "hired_at": times.iso("hired_at", candidate.get("hired_at")),
                "current_stage": names.clean(candidate.get("stage")),
                "origin": names.clean(candidate.get("domain")),
                "tz_assumed": times.zoneless,
            },
        )

    def _answers(self, candidate: Payload) -> None:
        """What the application form asked. An answer that is no plain text is kept as JSON."""
        for one in candidate.get("answers") or []:
            question, answer = one.get("question"), one.get("answer")
            asked = question.get("body") if isinstance(question, dict) else question
            if isinstance(answer, dict) and len(answer) == 1:
                (answer,) = answer.values()
            self._said.answer(str(candidate["id"]), asked, answer, "screening", one)

    def _resume(self, candidate: Payload) -> None:
        link = candidate.get("resume_url")
        if not link:
            return
        times = Times(self._findings, "attachment")
        self._rows.add(
            "attachment",
            {
                "source_id": f"{candidate['id']}-resume",
                "source_created_at": times.iso("source_created_at", candidate.get("created_at")),
                "person_id": self._person_id(candidate),
                "application_id": str(candidate["id"]),
                "file_name": PurePosixPath(unquote(urlsplit(link).path)).name or "resume",
                "declared_type": "resume",
                "source_handle": f"candidates/{candidate['id']}/resume",
                "state": "pending",
                "tz_assumed": times.zoneless,
                URL: link,
            },
        )

    def _activity(self, owner: str, activity: Payload) -> None:
        moment = activity.get("created_at")
        action, stage = activity.get("action"), activity.get("stage_name")
        member = names.clean((activity.get("member") or {}).get("name"))
        if stage and action == "moved":
            times = Times(self._findings, "stage_move")
            self._rows.add(
                "stage_move",
                {
                    "source_id": f"{owner}/{activity['id']}",
                    "source_created_at": times.iso("moved_at", moment),
                    "raw": self._raw.of("stage_move", activity),
                    "application_id": owner,
                    "to_stage": names.clean(stage),
                    "moved_at": times.iso("moved_at", moment),
                    "actor": member,
                    "origin": "structured",
                    "tz_assumed": times.zoneless,
                },
            )
        elif action == "comment" and activity.get("body"):
            times = Times(self._findings, "note")
            self._rows.add(
                "note",
                {
                    "source_id": f"{owner}/{activity['id']}",
                    "source_created_at": times.iso("noted_at", moment),
                    "raw": self._raw.of("note", activity),
                    "application_id": owner,
                    "author": member,
                    "body_raw": activity["body"],
                    "body_text": readable(activity["body"]),
                    "visibility": "private",  # the activity does not say who may see it
                    "noted_at": times.iso("noted_at", moment),
                    "tz_assumed": times.zoneless,
                },
            )
        else:
            self._findings.count("not_imported", "activities", "neither a move nor a comment")


def _person_key(candidate: Payload) -> bytes | None:
    address = names.email_key(str(candidate.get("email") or ""))
    if not address:
        return None
    name = names.name_key(_full_name(candidate))
    return hashlib.blake2b(f"{address}\x1f{name}".encode(), digest_size=16).digest()


def _status(candidate: Payload) -> str:
    """`stage_kind` is the same in every account, stage names are not."""
    if candidate.get("withdrew"):
        return "withdrawn"
    if candidate.get("disqualified"):
        return "rejected"
    return "hired" if candidate.get("hired_at") or candidate.get("stage_kind") == "hired" else "active"


def _full_name(candidate: Payload) -> str | None:
    """As it is shown, or of its two parts where a payload holds those alone."""
    parts = (candidate.get("firstname"), candidate.get("lastname"))
    return names.clean(candidate.get("name") or " ".join(str(part) for part in parts if part))
