"""What Lever lists of each opportunity: notes, feedback, offers, resumes and files."""

import json
from typing import Any, Final

from batch_pipeline.sources import value_maps
from batch_pipeline.sources.html_notes import readable
from batch_pipeline.sources.payload_folder import Payload, PayloadFolder
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import URL, StagedRows, Times

_SCORES: Final = {"strongnohire": 1, "nohire": 2, "hire": 4, "stronghire": 5}
_OFFER_DETAILS: Final = ("fields", "approved", "approvedAt", "posting")
_SHOWN: Final = 20


class LeverOwned:
    """Stages rows of one opportunity each; `contacts` tells whose an opportunity is."""

    def __init__(
        self,
        payloads: PayloadFolder,
        rows: StagedRows,
        raw: RawPayload,
        api: str | None,
        users: dict[Any, str | None],
        contacts: dict[str, str],
    ) -> None:
        self._payloads = payloads
        self._rows = rows
        self._raw = raw
        self._api = api
        self._findings = rows.findings
        self._users = users
        self._contacts = contacts

    def stage(self) -> None:
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


def _answer(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
