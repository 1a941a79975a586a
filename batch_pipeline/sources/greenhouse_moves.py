"""Greenhouse stage moves: ids of `application_stages` (v3), or sentences of the activity feed (v1)."""

from collections.abc import Mapping
from datetime import datetime

from batch_pipeline.sources import names
from batch_pipeline.sources.greenhouse_activity import Candidacy, parse_move
from batch_pipeline.sources.html_notes import readable
from batch_pipeline.sources.payload_folder import Payload, PayloadFolder
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import StagedRows, Times


class GreenhouseMoves:
    """Stages `stage_move` rows; applications are made known before the feed is read."""

    def __init__(
        self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload, stages: Mapping[str, str]
    ) -> None:
        self._payloads = payloads
        self._rows = rows
        self._raw = raw
        self._findings = rows.findings
        self._stages = stages
        self._structured = payloads.has("application_stages")
        self._has_feed = payloads.has("activity_feed")
        self._first_stages = self._first_of_each_job()
        self._candidacies: dict[str, list[Candidacy]] = {}
        self._unmoved: dict[str, tuple[str, datetime]] = {}

    def application(
        self,
        candidacy: Candidacy,
        person_id: str | None,
        job_id: str | None,
        stage: str | None,
        applied: datetime | None,
    ) -> None:
        """One application that a sentence of the feed may be about."""
        if person_id is not None and job_id is not None and self._has_feed:
            self._candidacies.setdefault(person_id, []).append(candidacy)
        first = None if job_id is None else self._first_stages.get(job_id)
        if applied is not None and stage is not None and stage == first and not self._structured:
            self._unmoved[candidacy.application_id] = (stage, applied)

    def structured(self) -> None:
        for stage in self._payloads.rows("application_stages"):
            if not stage.get("entered_at"):  # history that was filled in later has no times
                self._findings.count("not_imported", "stage_move", "stages without a time of entering")
                continue
            times = Times(self._findings, "stage_move")
            stage_id = stage.get("job_interview_stage_id")
            self._rows.add(
                "stage_move",
                {
                    "source_id": str(stage["id"]),
                    "source_created_at": times.iso("source_created_at", stage.get("created_at")),
                    "source_updated_at": times.iso("source_updated_at", stage.get("updated_at")),
                    "raw": self._raw.of("stage_move", stage),
                    "application_id": str(stage["application_id"]),
                    "to_stage": self._stages.get(str(stage_id))
                    or (None if stage_id is None else str(stage_id)),
                    "moved_at": times.iso("moved_at", stage["entered_at"]),
                    "origin": "structured",
                    "tz_assumed": times.zoneless,
                },
            )

    def activity(self, candidate_id: str, activity: Payload) -> None:
        """One sentence of the feed, where it is about a move."""
        times = Times(self._findings, "stage_move")
        recorded = times.iso("moved_at", activity.get("created_at"))
        body = readable(activity.get("body")) or ""
        move = parse_move(body, recorded, self._candidacies.get(candidate_id, []))
        if move is None:
            if "stage change" in str(activity.get("subject")).lower():
                self._findings.count("unmatched_moves", "stage_move", "the sentence cannot be read")
            else:
                self._findings.count("not_imported", "activity_feed", "activities that move nothing")
            return
        if self._structured:
            return  # said there with ids
        if move.application_id is None:
            self._findings.count("unmatched_moves", "stage_move", "no application of that candidate fits")
            return
        self._unmoved.pop(move.application_id, None)
        self._rows.add(
            "stage_move",
            {
                # the feed numbers within the candidate in some exports: the application makes it unique
                "source_id": f"{move.application_id}/{activity['id']}",
                "source_created_at": recorded,
                "raw": self._raw.of("stage_move", activity),
                "application_id": move.application_id,
                "to_stage": names.clean(move.to_stage),
                "moved_at": move.moved_at,
                "actor": names.clean(move.actor) or names.of_object(activity.get("user")),
                "origin": "parsed_from_text",
                "tz_assumed": times.zoneless or move.day_only,
            },
        )

    def derived(self) -> None:
        """Who stands in the first stage and was never moved has been there since applying."""
        for application_id, (stage, applied) in self._unmoved.items():
            self._rows.add(
                "stage_move",
                {
                    "source_id": f"{application_id}/applied",
                    "source_created_at": applied,
                    "application_id": application_id,
                    "to_stage": stage,
                    "moved_at": applied,
                    "origin": "derived",
                },
            )

    def _first_of_each_job(self) -> dict[str, str]:
        """job id -> name of its first stage (v1)."""
        first: dict[str, tuple[int, str]] = {}
        for stage in self._payloads.rows("job_stages"):
            place = (stage.get("priority", 0), str(stage.get("name")))
            job_id = str(stage.get("job_id"))
            first[job_id] = min(first.get(job_id, place), place)
        return {job_id: name for job_id, (_, name) in first.items()}
