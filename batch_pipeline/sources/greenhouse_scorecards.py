"""Greenhouse scorecards: v1 nests ratings and answers in a card, v3 lists them apart.

Fields of v3, as its clients read them (2026-11-30): `scorecards` with `candidate_rating` and `status`;
`scorecard_candidate_attributes` (a rating and a note, named by `job_candidate_attributes`);
`scorecard_question_answers` (text, or yes and no, named by `scorecard_questions`), whose choices are
`scorecard_question_answer_options` of `scorecard_question_options`.
"""

import json
from collections import defaultdict
from typing import Any, Final

from batch_pipeline.sources import names, value_maps
from batch_pipeline.sources.html_notes import readable
from batch_pipeline.sources.payload_folder import Payload, PayloadFolder
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import StagedRows, Times

_NOTES: Final = {"notes": "Notes", "public_notes": "Public notes", "private_notes": "Private notes"}


class GreenhouseScorecards:
    """Stages `evaluation` rows."""

    def __init__(
        self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload, users: dict[str, str]
    ) -> None:
        self._payloads = payloads
        self._rows = rows
        self._raw = raw
        self._findings = rows.findings
        self._users = users

    def stage(self) -> None:
        listed = self._listed_items()
        for card in self._payloads.rows("scorecards"):
            if card.get("status") == "draft":
                self._findings.count("not_imported", "evaluation", "scorecards that are still drafts")
                continue
            items = [json.dumps(item, ensure_ascii=False) for item in _nested_items(card)]
            self._scorecard(card, [*items, *listed.get(str(card["id"]), [])])

    def _scorecard(self, card: Payload, items: list[str]) -> None:
        times = Times(self._findings, "evaluation")
        raw = card.get("overall_recommendation") or card.get("candidate_rating")
        overall = value_maps.known("evaluation.overall", raw)
        if raw is not None and overall is None and value_maps.folded(str(raw)) != "nodecision":
            self._findings.count("unknown_values", "evaluation", "overall")
        author = card.get("submitted_by") or card.get("interviewer")
        author_id = card.get("submitter_id") or card.get("interviewer_id")
        self._rows.add(
            "evaluation",
            {
                "source_id": str(card["id"]),
                "source_created_at": times.iso("source_created_at", card.get("created_at")),
                "source_updated_at": times.iso("source_updated_at", card.get("updated_at")),
                "raw": self._raw.of("evaluation", card),
                "application_id": None if card.get("application_id") is None else str(card["application_id"]),
                "author": names.of_object(author) or self._users.get(str(author_id)),
                "submitted_at": times.iso("submitted_at", card.get("submitted_at")),
                "overall": None if overall is None else int(overall),
                "overall_raw": raw,
                "items": f"[{','.join(items)}]" if items else None,
                "tz_assumed": times.zoneless,
            },
        )

    def _listed_items(self) -> dict[str, list[str]]:
        """scorecard id -> its ratings and answers (v3), each as JSON text: cards are many."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        attributes = self._texts("job_candidate_attributes", "name")
        for one in self._payloads.rows("scorecard_candidate_attributes"):
            item = {
                "question": attributes.get(str(one.get("job_candidate_attribute_id"))),
                "answer": one.get("note"),
                "rating": one.get("candidate_attribute_rating"),
            }
            found[str(one.get("scorecard_id"))].append(json.dumps(item, ensure_ascii=False))
        questions = self._texts("scorecard_questions", "question")
        choices = self._choices()
        for one in self._payloads.rows("scorecard_question_answers"):
            item = {
                "question": questions.get(str(one.get("scorecard_question_id"))),
                "answer": _answer(one, choices.get(str(one.get("id")), [])),
                "rating": None,
            }
            if item["answer"] is not None:
                found[str(one.get("scorecard_id"))].append(json.dumps(item, ensure_ascii=False))
        return found

    def _choices(self) -> dict[str, list[str]]:
        """Id of an answer -> the options that were chosen."""
        options = self._texts("scorecard_question_options", "name")
        chosen: defaultdict[str, list[str]] = defaultdict(list)
        for one in self._payloads.rows("scorecard_question_answer_options"):
            option = str(one.get("scorecard_question_option_id"))
            chosen[str(one.get("scorecard_question_answer_id"))].append(options.get(option, option))
        return chosen

    def _texts(self, name: str, field: str) -> dict[str, str]:
        return {str(one["id"]): readable(one.get(field)) or "" for one in self._payloads.rows(name)}


def _nested_items(card: Payload) -> list[dict[str, Any]]:
    found = [
        {"question": one.get("name"), "answer": one.get("note"), "rating": one.get("rating")}
        for one in card.get("attributes") or []
    ]
    found += [
        {"question": one.get("question"), "answer": one.get("answer"), "rating": None}
        for one in card.get("questions") or []
    ]
    return found + [
        {"question": question, "answer": card[field], "rating": None}
        for field, question in _NOTES.items()
        if card.get(field)
    ]


def _answer(answer: Payload, chosen: list[str]) -> str | None:
    if chosen:
        return ", ".join(chosen)
    if answer.get("answer") not in (None, ""):
        return str(answer["answer"])
    said = answer.get("boolean_value")
    return None if said is None else ("Yes" if said else "No")
