"""Greenhouse attachments: from applications, and from the candidate only what no application carries."""

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import urlencode, urlsplit

from batch_pipeline.sources import value_maps
from batch_pipeline.sources.payload_folder import Payload
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import URL, StagedRows, Times

FILE_IDENTITY: Final = ("filename", "type", "created_at")
"""What tells the attachments of one v1 object apart: they have no id."""


class GreenhouseAttachments:
    """Applications first: they tell which of a candidate's files are copies."""

    def __init__(self, rows: StagedRows, raw: RawPayload) -> None:
        self._rows = rows
        self._raw = raw
        self._findings = rows.findings
        self._carried: set[int] = set()  # hashes of (person, file): numbers, for there may be millions

    def of_application(self, application: Payload) -> None:
        person_id = _text(application.get("candidate_id"))
        for attachment, number in _numbered(application.get("attachments") or []):
            if person_id is not None:
                self._carried |= _marks(person_id, attachment)
            handle = _handle("applications", application["id"], attachment, number)
            self._add(attachment, person_id, str(application["id"]), None, handle)

    def of_candidate(self, candidate: Payload) -> None:
        """Since 2020-09 the candidate repeats what its applications carry (trap 3)."""
        person_id = str(candidate["id"])
        nested = [
            one
            for application in candidate.get("applications") or []
            for one in application.get("attachments") or []
        ]
        carried = {mark for one in nested for mark in _marks(person_id, one)}
        for attachment, number in _numbered(candidate.get("attachments") or []):
            marks = _marks(person_id, attachment)
            if marks & carried or marks & self._carried:
                self._findings.count("candidate_copy", "attachment", "an application carries the same file")
            else:
                handle = _handle("candidates", person_id, attachment, number)
                self._add(attachment, person_id, None, None, handle)

    def listed(self, attachment: Payload) -> None:
        self._add(
            attachment,
            _text(attachment.get("candidate_id")),
            _text(attachment.get("application_id")),
            str(attachment["id"]),
            f"attachments/{attachment['id']}",
        )

    def _add(
        self,
        one: Payload,
        person_id: str | None,
        application_id: str | None,
        source_id: str | None,
        handle: str,
    ) -> None:
        times = Times(self._findings, "attachment")
        declared = one.get("type")
        self._rows.add(
            "attachment",
            {
                "source_id": source_id,
                "source_created_at": times.iso("source_created_at", one.get("created_at")),
                "source_updated_at": times.iso("source_updated_at", one.get("updated_at")),
                "raw": self._raw.of("attachment", one),
                "person_id": person_id,
                "application_id": application_id,
                "file_name": one.get("filename"),
                "declared_type": value_maps.known("attachment.declared_type", declared) or declared,
                "declared_mime": one.get("content_type"),
                "source_handle": handle,
                "state": "pending",
                "tz_assumed": times.zoneless,
                URL: one.get("url"),
            },
        )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _identity(attachment: Payload) -> tuple[str, ...]:
    return tuple(str(attachment.get(field) or "") for field in FILE_IDENTITY)


def _marks(person_id: str, attachment: Payload) -> set[int]:
    """By what two listings of one file are recognised: name, type and time, or the link without its signature."""
    place = urlsplit(str(attachment.get("url") or ""))
    marks = {hash((person_id, place.netloc, place.path))} if place.path else set()
    if attachment.get("created_at") or not marks:
        # a name alone is not enough: half of all files are called CV.pdf
        marks.add(hash((person_id, *_identity(attachment))))
    return marks


def _numbered(attachments: Iterable[Payload]) -> Iterator[tuple[Payload, int]]:
    """Each with 1, or with 2, 3, ... where the same identity came before."""
    seen: dict[tuple[str, ...], int] = {}
    for one in attachments:
        seen[_identity(one)] = seen.get(_identity(one), 0) + 1
        yield one, seen[_identity(one)]


def _handle(owners: str, owner: object, attachment: Payload, number: int) -> str:
    named = dict(zip(FILE_IDENTITY, _identity(attachment), strict=True))
    return f"{owners}/{owner}?{urlencode(named | ({'n': str(number)} if number > 1 else {}))}"
