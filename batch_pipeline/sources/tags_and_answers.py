"""Tags and answers as every API dialect gives them: words on a person, and questions with what was said.

Answers to sensitive questions (health, equal opportunity) are left out unless a person allowed them
(trap 49), as they are left out of `raw`.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from batch_pipeline.sources import names
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import StagedRows

AnswerKind = Literal["screening", "custom_field", "referral"]


class TagsAndAnswers:
    """Stages `tag` and `question_answer` rows; their ids are made from who, and what was asked."""

    def __init__(self, rows: StagedRows, raw: RawPayload) -> None:
        self._rows = rows
        self._raw = raw

    def tags(self, person_id: str | None, application_id: str | None, tags: Iterable[Any] | None) -> None:
        """`tags` are words, or objects with a `name`."""
        for tag in tags or []:
            name = names.clean(tag.get("name") if isinstance(tag, dict) else tag)
            if name:
                row = {"person_id": person_id, "application_id": application_id, "name": name}
                self._rows.add("tag", row)

    def answer(
        self,
        application_id: str,
        question: object,
        answer: Any,
        kind: AnswerKind,
        said: dict[str, Any],
        answered_at: datetime | None = None,
    ) -> None:
        """One answer; none where nothing was said. `said` is the export's own object."""
        asked = names.clean(question)
        if answer in (None, "", [], {}) or not self._raw.may_keep_answer("question_answer", asked):
            return
        self._rows.add(
            "question_answer",
            {
                "source_created_at": answered_at,
                "raw": self._raw.of("question_answer", said),
                "application_id": application_id,
                "question": asked,
                "answer": answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False),
                "kind": kind,
            },
        )
