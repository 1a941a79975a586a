"""Which kind of source an export is, told by the names of its files alone."""

import shutil
import tempfile
from pathlib import Path
from typing import Final

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.listing import Listing, list_export

_ENDING: Final = ".json"
# Lever alone has opportunities; Greenhouse and Workable both have candidates, and lists of their own.
_ONLY_GREENHOUSE: Final = frozenset(
    (
        *("applications", "activity_feed", "job_stages", "job_interview_stages", "application_stages"),
        *("scorecards", "rejection_reasons", "attachments"),
    )
)
_ONLY_WORKABLE: Final = frozenset(("activities", "details"))


def propose_payloads(path: Path, system: str) -> dict[str, object] | None:
    """The `source:` section for a folder (or zip) of saved payloads; None where it holds none.

    Raises ConfigurationError where the names fit two systems, SourceError for a path that is no export.
    """
    scratch = Path(tempfile.mkdtemp(prefix="batch-pipeline-recognise-"))
    try:
        listing = list_export(path, scratch)
        kind = recognise(listing)
        if kind is None:
            return None
        section: dict[str, object] = {"kind": kind, "system": system, "path": str(path)}
        folder = _folder_of_files(path, listing)
        return section | ({"attachments": folder} if folder else {})
    finally:
        shutil.rmtree(scratch)


def recognise(listing: Listing) -> str | None:
    """The kind of source whose lists these files are, None for files that are no such lists."""
    names = {
        one.removesuffix(_ENDING).partition("/")[0]
        for one in listing.files["path"].to_list()
        if one.endswith(_ENDING)
    }
    if "opportunities" in names:
        return "lever"
    if "candidates" not in names:
        # a list or two of an API alone; applications are what other systems call theirs too
        parts = names & (_ONLY_GREENHOUSE - {"applications"})
        return "greenhouse" if parts and not listing.tables() else None
    greenhouse, workable = bool(names & _ONLY_GREENHOUSE), bool(names & _ONLY_WORKABLE)
    if greenhouse == workable:
        raise ConfigurationError(
            "source.kind",
            None,
            f"the files {', '.join(sorted(names))} may be of greenhouse or workable: "
            "write the migration file by hand (docs/migration-file.md) and state the kind",
        )
    return "greenhouse" if greenhouse else "workable"


def _folder_of_files(path: Path, listing: Listing) -> str | None:
    """The one folder inside the export that holds files which are no payloads."""
    folders = {
        one.partition("/")[0]
        for one in listing.files["path"].to_list()
        if "/" in one and not one.endswith(_ENDING)
    }
    folder = folders.pop() if len(folders) == 1 else None
    return folder if folder and (path / folder).is_dir() else None
