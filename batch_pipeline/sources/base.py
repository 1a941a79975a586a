"""What every source must do: turn an export into canonical tables and say every choice it made.

A source is found by its `kind` and imported only when a migration uses it, so that an API preset's
client library costs nothing to those who never need it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, Protocol

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.canonical import Entity

NoticeKind = Literal[
    "encoding",  # which encoding a file was read in, and how it was chosen
    "delimiter",
    "date_format",  # stated by a person or derived from the values
    "zone_assumed",  # times without a zone, read in the migration's zone
    "unreadable_dates",  # cells that do not follow their column's format: null, kept in raw
    "dates_out_of_range",  # before 1980 or after 2100
    "unmapped_columns",  # in raw only
    "sensitive_columns",  # left out of raw: equal-opportunity, health, union data
    "unknown_values",  # a value no map knows: null, or the most restrictive one
    "excel_damage",  # what a spreadsheet rounded or could not show
    "formula_cells",  # `="00123"` unwrapped to its text
    "no_table",  # the export has no such file: an empty table
    "unused_file",  # a CSV file that is no table of this migration
    "rows_without_id",  # left out: nothing can refer to them
    "derived_ids",  # the export names no id for these rows: made from their content
    "duplicate_rows",  # the same row twice: one kept
    "duplicate_ids",  # one id, different rows
    "dangling_references",  # an id that no other table holds
    "erased_people",
    "looks_erased",  # called "Anonymized" without a date: read as a person
    "candidate_copy",  # the person's copy of a file an application carries too: one kept
    "missing_files",
    "orphan_files",  # in the folder, in no row: listed in orphan_files.parquet
    "unsafe_paths",  # absolute or climbing out of the export: never opened
    "symbolic_links",  # never followed
    "normalised_paths",  # found although written in another Unicode form or with backslashes
    "possible_duplicates",  # people who may be one: kept apart, listed in possible_duplicates.parquet
    "consent_expired",  # people whose consent to storage has ended: their files are not read
    "merged_records",  # one person of the system in several records: one row
    "deleted_rows",  # the system itself marks them as deleted: left out
    "unmatched_moves",  # a stage change in prose whose application cannot be told: left out
    "not_imported",  # the export says it, and no canonical table holds it
    "without_file",  # listed as a file by a system that holds none
    "attachment_layout",  # how the files of a folder were matched to rows
    "download_failed",  # why, and which attachments by id
    "snapshot",  # when the live system was listed
    "vanished",  # deleted in the live system while it was listed
]


@dataclass(frozen=True)
class Notice:
    """One choice or oddity. `detail` holds headers, formats and ids, never a person's data."""

    kind: NoticeKind
    table: str
    detail: str
    count: int


@dataclass(frozen=True)
class Total:
    """How many there are by the source's own word, and how many were read."""

    what: str
    stated: int
    read: int


@dataclass(frozen=True)
class SourceReport:
    """Rows written per entity and everything a person should know about them."""

    counts: Mapping[Entity, int]
    notices: tuple[Notice, ...]
    totals: tuple[Total, ...] = ()


def compared(stated: Mapping[Entity, int], counts: Mapping[Entity, int]) -> tuple[Total, ...]:
    """The totals a migration file states (`source.totals`) beside what was read."""
    return tuple(Total(entity, total, counts.get(entity, 0)) for entity, total in stated.items())


NOBODY: Final[Mapping[str, datetime]] = MappingProxyType({})


class Source(Protocol):
    """An export that can be read again and again with the same result."""

    def read(self, into: Path, erased: Mapping[str, datetime] = NOBODY) -> SourceReport:
        """Write `<entity>.parquet` for every canonical entity into the folder `into`.

        `erased` people (source id -> since when) are read as if the export itself called them erased.

        Attachments are rows with `local_path`; a source that must fetch bytes does so while it
        lists them (signed links die within days) and stores the handle, not the link.

        Raises SourceError where the export cannot be read, ConfigurationError where a person must
        state something first.
        """
        ...


class SourceModule(Protocol):
    """What the module of one kind offers."""

    def open_source(self, settings: Mapping[str, object]) -> Source:
        """Raises ConfigurationError for settings that are wrong."""
        ...


MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "csv_folder": "batch_pipeline.sources.csv_folder",
        "greenhouse": "batch_pipeline.sources.greenhouse",
        "lever": "batch_pipeline.sources.lever",
        "workable": "batch_pipeline.sources.workable",
    }
)


def open_source(settings: Mapping[str, object]) -> Source:
    """The source a migration file's `source:` section describes.

    >>> open_source({"kind": "csv_folder", "path": "export", "system": "acme", "timezone": "Europe/Lisbon"})
    """
    kind = settings.get("kind")
    if not isinstance(kind, str) or kind not in MODULES:
        raise ConfigurationError("source.kind", kind, f"give one of {', '.join(sorted(MODULES))}")
    module: SourceModule = import_module(MODULES[kind])
    return module.open_source(settings)
