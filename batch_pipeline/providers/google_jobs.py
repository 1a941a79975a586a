"""States and counters of Google's batch jobs, at the Gemini API and on Vertex, in our words."""

from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from batch_pipeline.providers.contract import EndedStatus, Phase, RecordCounts
from batch_pipeline.providers.google_errors import http_code

_ENDED: Final[Mapping[str, EndedStatus]] = {
    "SUCCEEDED": "Completed",
    "PARTIALLY_SUCCEEDED": "PartiallyCompleted",
    "FAILED": "Failed",
    "CANCELLED": "Stopped",
    "EXPIRED": "Expired",
}


def state_of(said: object, counts: RecordCounts, error: Any, *, keeps_expired: bool) -> tuple[str, Phase]:
    """`BATCH_STATE_...` or `JOB_STATE_...` as ours; PAUSED, UPDATING and whatever comes new still run.

    A job that failed after some work, or expired where nothing is kept, may have been paid: that is no
    `Failed` or `Expired`, under which its records were never begun.
    """
    state = str(said or "").removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
    status = _ENDED.get(state)
    if status is None:
        return state.lower() or "unknown", "running"
    worked = bool(counts.processed)
    unsure = status == "Expired" and not keeps_expired and counts.processed != 0
    if unsure or (status == "Failed" and worked):
        status = "PartiallyCompleted"
    elif status == "Failed" and isinstance(error, dict) and http_code(error) == HTTPStatus.TOO_MANY_REQUESTS:
        status = "NoRoom"
    return status, "ended"


def count(value: object) -> int | None:
    """A counter, written as a number or as text; -1 and nothing at all are unknown, which is no zero."""
    try:
        number = int(str(value))
    except ValueError:
        return None
    return number if number >= 0 else None


def counts_of(total: object, succeeded: object, failed: object, pending: object) -> RecordCounts:
    """Proto's JSON leaves zeros out: where one counter is there, a missing one beside it is zero. With no
    counter of finished records they are zero only where all records are said to wait."""
    good, bad, known = count(succeeded), count(failed), count(total)
    all_wait = known is not None and known == count(pending)
    if good is not None or bad is not None or all_wait:
        good = 0 if succeeded is None else good
        bad = 0 if failed is None else bad
    processed = None if good is None or bad is None else good + bad
    return RecordCounts(known, processed, good, bad)


def time_of(said: object) -> datetime | None:
    """An RFC 3339 time of up to nine fractional digits, Z or an offset."""
    if not isinstance(said, str):
        return None
    try:
        return datetime.fromisoformat(said).astimezone(UTC)
    except ValueError:
        return None


def words(error: Any) -> str | None:
    """A job's own Status."""
    if not isinstance(error, dict) or not error:
        return None
    return f"{error.get('status') or error.get('code') or 'error'}: {error.get('message') or ''}".strip()
