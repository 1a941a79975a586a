"""What a migration of the sample customer must come to."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class SampleExpectation:
    """Counts a correct run must reach, and which CV belongs to which applications.

    `states` and `verdicts` count as `docs/architecture.md` names them: `states` all attachments,
    `attachment_verdicts` the fetched ones, `verdicts` distinct documents. `reasons` counts
    attachments that are no CV with text. Never write it into the export's folder: it would be an
    orphan file there.
    """

    people: int = 0
    erased_people: int = 0
    jobs: int = 0
    applications: int = 0
    stage_moves: int = 0
    notes: int = 0
    private_notes: int = 0
    evaluations: int = 0
    attachments: int = 0
    orphan_files: int = 0
    scans: int = 0
    links: int = 0
    states: dict[str, int] = field(default_factory=dict)
    attachment_verdicts: dict[str, int] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    markers: dict[str, list[str]] = field(default_factory=dict)
    """Marker in a CV's text -> ids of the applications it was sent with, sorted."""
    cv_documents: dict[str, list[str]] = field(default_factory=dict)
    """MD5 of every CV, scans included -> ids of the applications, sorted."""
    scan_documents: list[str] = field(default_factory=list)
    """MD5 of the CVs that are pictures."""
    erased_markers: list[str] = field(default_factory=list)
    """Markers in files of erased people: nobody may ever read them."""

    @property
    def documents(self) -> int:
        """Distinct documents of all verdicts."""
        return sum(self.verdicts.values())

    def as_dict(self) -> dict[str, Any]:
        """For `json.dumps`; `SampleExpectation(**loaded)` reads it back."""
        return asdict(self)


@dataclass
class Tally:
    """Counts attachments as they are made."""

    states: Counter[str] = field(default_factory=Counter)
    attachment_verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    verdict_of: dict[str, str] = field(default_factory=dict)
    applications_of: dict[str, list[str]] = field(default_factory=dict)

    def fetched(self, md5: str, application: str, verdict: str, reason: str | None) -> None:
        self.states["fetched"] += 1
        self.attachment_verdicts[verdict] += 1
        self.verdict_of[md5] = verdict
        if verdict == "cv":
            self.applications_of.setdefault(md5, []).append(application)
        if reason is not None:
            self.reasons[reason] += 1

    def not_fetched(self, state: str, reason: str | None = None) -> None:
        self.states[state] += 1
        if reason is not None:
            self.reasons[reason] += 1
