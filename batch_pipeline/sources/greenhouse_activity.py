"""Stage changes that Greenhouse v1 tells only in prose, matched to their application.

The feed belongs to the candidate and names the job, not the application: "... was moved into Phone screen
for Data Engineer on 01/19/2026 by Rae Recruiter" (contract, section C2). A stage and a job may hold the
word "for", so the job's known names decide where one ends.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

_MOVE: Final = re.compile(
    r"was moved (?:in)?to (?P<rest>.+) on (?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})"
    r"(?: by (?P<actor>.+?))?\.?\s*$",
    re.DOTALL,
)
_SLACK: Final = timedelta(days=1)  # the prose has the account's calendar day, the feed an instant


@dataclass(frozen=True, slots=True)
class Candidacy:
    """One application of the candidate whose feed is read."""

    application_id: str
    job_name: str | None
    applied_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True)
class ParsedMove:
    """`application_id` is None where it cannot be told which application moved."""

    application_id: str | None
    to_stage: str
    moved_at: datetime | None
    actor: str | None
    day_only: bool


def parse_move(
    body: str, recorded_at: datetime | None, candidacies: Sequence[Candidacy]
) -> ParsedMove | None:
    """The stage change an activity tells, None where it tells none.

    The time is the feed's, unless the prose names another day: then the change was entered later.
    """
    found = _MOVE.search(body)
    if found is None:
        return None
    try:
        day = datetime(int(found["year"]), int(found["month"]), int(found["day"]), tzinfo=UTC)
    except ValueError:
        return None
    entered_later = recorded_at is None or not day - _SLACK <= recorded_at < day + 2 * _SLACK
    moved_at = day if entered_later else recorded_at
    rest, actor = found["rest"].strip(), found["actor"]
    named = [one for one in candidacies if one.job_name and rest.endswith(f" for {one.job_name}")]
    if not named:
        return ParsedMove(None, rest, moved_at, actor, entered_later)
    # the longest name: "Engineer" must not take what "Data Engineer" says
    longest = max(len(one.job_name or "") for one in named)
    fitting = [one for one in named if len(one.job_name or "") == longest]
    stage = rest[: -longest - len(" for ")]
    return ParsedMove(_open_at(fitting, moved_at), stage, moved_at, actor, entered_later)


def _open_at(candidacies: Sequence[Candidacy], moment: datetime | None) -> str | None:
    """Of several applications to one job, the one under way at that time: the last that had begun."""
    if len(candidacies) == 1 or moment is None:
        return candidacies[0].application_id if len(candidacies) == 1 else None
    begun = [one for one in candidacies if one.applied_at is not None and one.applied_at < moment + _SLACK]
    running = [one for one in begun if one.ended_at is None or moment < one.ended_at + _SLACK]
    best = max(
        running or begun, key=lambda one: one.applied_at or datetime.min.replace(tzinfo=UTC), default=None
    )
    return best.application_id if best else None
