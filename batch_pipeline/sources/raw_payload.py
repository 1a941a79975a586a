"""An API object as the canonical `raw` column keeps it: no link that opens a file, no special category.

Signed links are credentials and die within days: the handle is kept instead (traps 1 and 49).
"""

from functools import lru_cache
from typing import Any, Final

import msgspec

from batch_pipeline.sources import column_map
from batch_pipeline.sources.staged_rows import Findings

LINKS: Final = frozenset(
    ("url", "downloadUrl", "download_url", "resume_url", "cover_letter_url", "photo_url", "image_url")
)
_LABELS = ("name", "question", "label", "text", "key")
_ANSWERS = frozenset(("value", "answer"))


class RawPayload:
    """Makes `raw` of payloads; `keep` are sensitive fields a person allowed."""

    def __init__(self, findings: Findings, keep: list[str]) -> None:
        self._findings = findings
        self._keep = frozenset(column_map.normalised(field) for field in keep)

    def of(self, table: str, payload: dict[str, Any], without: tuple[str, ...] = ()) -> str:
        """JSON text of an object; `without` are fields that are rows of their own."""
        rest = {name: value for name, value in payload.items() if name not in without}
        return msgspec.json.encode(self._kept(table, rest)).decode()

    def may_keep_answer(self, table: str, question: str | None) -> bool:
        """Whether an answer may be kept; one to a sensitive question is counted as left out."""
        if question is None or not self._hidden(question):
            return True
        self._findings.count("sensitive_columns", table, "left out: answers to sensitive questions")
        return False

    def _kept(self, table: str, value: Any) -> Any:
        if isinstance(value, dict):
            kept = {}
            for name, inner in value.items():
                if name in LINKS or self._sensitive_answer(table, inner):
                    continue
                if self._hidden(name):
                    self._findings.count("sensitive_columns", table, f"left out: {name}")
                    continue
                kept[name] = self._kept(table, inner)
            return kept
        if isinstance(value, list):
            return [self._kept(table, item) for item in value if not self._sensitive_answer(table, item)]
        return value

    def _sensitive_answer(self, table: str, item: Any) -> bool:
        """`{"name": "Gender", "value": "..."}`: the field's name is a value."""
        if not isinstance(item, dict) or not _ANSWERS & item.keys():
            return False
        found = any(isinstance(item.get(label), str) and self._hidden(item[label]) for label in _LABELS)
        if found:
            self._findings.count("sensitive_columns", table, "left out: answers to sensitive questions")
        return found

    def _hidden(self, name: str) -> bool:
        return _is_sensitive(name) and column_map.normalised(name) not in self._keep


@lru_cache(maxsize=10_000)
def _is_sensitive(name: str) -> bool:
    return column_map.is_sensitive(name)
