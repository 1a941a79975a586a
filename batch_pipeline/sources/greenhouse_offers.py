"""Greenhouse stages and offers.

Fields of v1: grnhse/greenhouse-api-docs@0c37c31a, `_job_stages.md` and `_offers.md`. v3, as its clients read
it (2026-11-30), orders stages by `sort_order` and dates offers by day.
"""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Final

from batch_pipeline.sources import names, value_maps
from batch_pipeline.sources.payload_folder import Payload
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import StagedRows, Times

_DETAILS: Final = ("version", "opening", "custom_fields", "keyed_custom_fields")


class GreenhouseOffers:
    """Takes the objects of `job_stages`, `job_interview_stages` and `offers`."""

    def __init__(self, rows: StagedRows, raw: RawPayload) -> None:
        self._rows = rows
        self._raw = raw
        self._findings = rows.findings

    def stages(self, stages: Iterable[Payload]) -> None:
        for stage in stages:
            self._stage(stage)

    def _stage(self, stage: Payload) -> None:
        times = Times(self._findings, "stage")
        job_id = _text(stage.get("job_id"))
        position = stage.get("priority", stage.get("sort_order"))
        self._rows.add(
            "stage",
            {
                # some exports number stages once for all jobs: the job makes it unique
                "source_id": f"{job_id}/{stage['id']}" if job_id else str(stage["id"]),
                "source_created_at": times.iso("source_created_at", stage.get("created_at")),
                "source_updated_at": times.iso("source_updated_at", stage.get("updated_at")),
                "raw": self._raw.of("stage", stage, without=("interviews",)),
                "job_id": job_id,
                "name": names.clean(stage.get("name")),
                "position": position if isinstance(position, int) else None,
                "tz_assumed": times.zoneless,
            },
        )

    def offer(self, offer: Payload) -> None:
        """One version of an offer; earlier ones are `deprecated`."""
        times = Times(self._findings, "offer")
        said = offer.get("status")
        status = value_maps.known("offer.status", said)
        if said is not None and status is None:
            self._findings.count("unknown_values", "offer", "status")
        details = {name: offer[name] for name in _DETAILS if offer.get(name) is not None}
        self._rows.add(
            "offer",
            {
                "source_id": str(offer["id"]),
                "source_created_at": times.iso("source_created_at", offer.get("created_at")),
                "source_updated_at": times.iso("source_updated_at", offer.get("updated_at")),
                "raw": self._raw.of("offer", offer),
                "application_id": str(offer["application_id"]),
                "status": status,
                "sent_at": times.iso("sent_at", offer.get("sent_at") or offer.get("sent_on")),
                "resolved_at": times.iso("resolved_at", offer.get("resolved_at")),
                "starts_on": self._day("starts_on", offer.get("starts_at") or offer.get("starts_on")),
                "details": self._raw.of("offer", details) if details else None,
                "tz_assumed": times.zoneless,
            },
        )

    def _day(self, field: str, value: object) -> date | None:
        """A calendar day, whatever time may follow it."""
        if not value:
            return None
        try:
            return datetime.fromisoformat(str(value).strip()).date()
        except ValueError:
            self._findings.count("unreadable_dates", "offer", field)
            return None


def _text(value: object) -> str | None:
    return None if value is None else str(value)
