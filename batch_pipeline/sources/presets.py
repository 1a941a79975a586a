"""Column maps of vendors whose CSV files have known columns.

Bullhorn: the files its Data Loader reads and its consultants hand out, one an entity: columns of
github.com/bullhorn/dataloader (`examples/load`), dates month first, lists in one cell parted by `;`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final, Literal

from batch_pipeline.sources import column_map
from batch_pipeline.sources.canonical import Entity
from batch_pipeline.sources.csv_config import CsvFolderConfig, TableConfig
from batch_pipeline.sources.csv_reading import CsvFile
from batch_pipeline.sources.listing import Listing

_HEADER_BYTES: Final = 1 << 16


@dataclass(frozen=True)
class PresetTable:
    """Files called `stems` that have all headers of `needs`; columns that are not there are left out."""

    stems: tuple[str, ...]
    needs: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Preset:
    tables: Mapping[Entity, PresetTable]
    date_format: str
    list_separator: str
    manifests: re.Pattern[str]  # paths of attachment tables that do not lie at the export's top
    sign: bytes  # a header that no other vendor has


BULLHORN: Final = Preset(
    {
        "person": PresetTable(
            ("candidate", "candidates"),
            ("externalID", "lastName"),
            {
                "source_id": ("externalID",),
                "full_name": ("firstName", "middleName", "lastName"),
                "given_name": ("firstName",),
                "family_name": ("lastName",),
                "emails": ("email", "email2", "email3"),
                "phones": ("phone", "phone2", "phone3", "mobile", "workPhone"),
                "location": ("address.city", "address.state", "address.countryName"),
                "do_not_contact": ("massMailOptOut",),
            },
        ),
        "job": PresetTable(
            ("joborder", "joborders"),
            ("externalID", "title"),
            {
                "source_id": ("externalID",),
                "title": ("title",),
                "code": ("externalID",),
                "status": ("isOpen",),
                "location": ("address.city", "address.state", "address.countryName"),
                "closed_at": ("dateClosed",),
            },
            {"status": {"TRUE": "open", "FALSE": "closed", "1": "open", "0": "closed"}},
        ),
        "application": PresetTable(
            ("jobsubmission", "jobsubmissions"),
            ("candidate.externalID", "jobOrder.externalID"),
            {
                "source_id": ("externalID",),
                "person_id": ("candidate.externalID",),
                "job_id": ("jobOrder.externalID",),
                "applied_at": ("dateAdded",),
                "source_created_at": ("dateAdded",),
                "source_updated_at": ("dateLastModified",),
                "status": ("status",),
                "current_stage": ("status",),
                "origin": ("source",),
            },
        ),
        "note": PresetTable(
            ("note", "notes"),
            ("comments",),
            {
                "source_id": ("externalID",),
                "person_id": ("candidates.externalID",),
                "author": ("commentingPerson.name",),
                "body_raw": ("comments",),
            },
        ),
        "attachment": PresetTable(
            (
                "candidate",
                "candidateattachfile",
                "candidateattachment",
                "candidateattachments",
                "attachments",
            ),
            ("relativeFilePath",),
            {
                "source_id": ("externalID",),
                "person_id": ("candidate.externalID",),
                "source_handle": ("relativeFilePath",),
                "declared_type": ("isResume",),
            },
        ),
    },
    date_format="month_first",
    list_separator=";",
    manifests=re.compile(r"(?i)^[^/]*attachments?/candidate[^/]*\.csv$"),
    sign=b"candidate.externalID",
)
PRESETS: Final[Mapping[Literal["bullhorn"], Preset]] = MappingProxyType({"bullhorn": BULLHORN})


def recognise(listing: Listing) -> Literal["bullhorn"] | None:
    """The preset whose sign stands in a header at the top of the export."""
    for path in listing.tables():
        with Path(str(listing.local_path(path))).open("rb") as stream:
            header = stream.readline(_HEADER_BYTES)
        for name, preset in PRESETS.items():
            if preset.sign in header:
                return name
    return None


def manifests(config: CsvFolderConfig, listing: Listing) -> list[str]:
    """Attachment tables that a preset expects below the top of the export."""
    if config.preset is None:
        return []
    pattern = PRESETS[config.preset].manifests
    return [path for path in listing.files["path"].to_list() if pattern.search(path)]


def applied(config: CsvFolderConfig, opened: Mapping[str, CsvFile]) -> CsvFolderConfig:
    """The configuration with the preset's tables; what it states of them wins, field by field."""
    if config.preset is None:
        return config
    preset = PRESETS[config.preset]
    tables = dict(config.tables)
    for entity, expected in preset.tables.items():
        fitting = [path for path, file in sorted(opened.items()) if _fits(path, file, expected)]
        stated = tables.get(entity)
        if fitting and (stated is None or stated.file in fitting):
            file = opened[stated.file if stated else fitting[0]]
            tables[entity] = _table(entity, file, expected, preset, stated or TableConfig(file=file.name))
    update: dict[str, object] = {"tables": tables}
    if config.list_separator is None:
        update["list_separator"] = preset.list_separator
    folder = PurePosixPath(tables["attachment"].file).parent if "attachment" in tables else PurePosixPath()
    if config.attachment_path == "{path}" and folder.name:
        update["attachment_path"] = f"{folder}/{{path}}"  # paths start where the table lies
    return config.model_copy(update=update)


def _fits(path: str, file: CsvFile, expected: PresetTable) -> bool:
    stem = column_map.normalised(Path(path).stem)
    return stem in expected.stems and set(expected.needs) <= set(file.headers)


def _table(
    entity: Entity, file: CsvFile, expected: PresetTable, preset: Preset, stated: TableConfig
) -> TableConfig:
    columns: dict[str, str | list[str]] = {}
    for name, headers in expected.columns.items():
        there = [header for header in headers if header in file.headers]
        if there:
            columns[name] = there
    if entity == "attachment" and "person_id" not in columns:
        # older loaders: the only id of a row is the candidate's
        columns["person_id"] = columns.pop("source_id")
    if entity == "application" and "source_id" not in columns:
        # a submission has no id of its own: whose it is, for which job, and since when
        made_of = ("candidate.externalID", "jobOrder.externalID", "dateAdded")
        columns["source_id"] = [header for header in made_of if header in file.headers]
    values = {
        name: dict(table)
        for name, table in expected.values.items()
        if name in columns and name not in stated.columns
    }
    columns |= stated.columns
    matched = column_map.match(entity, file.headers, columns)
    dates = {name: preset.date_format for name in matched if name in column_map.DATES[entity]}
    return TableConfig(
        file=file.name,
        columns=columns,
        date_formats=dates | stated.date_formats,
        values=values | stated.values,
    )
