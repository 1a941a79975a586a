"""The CSV preset: a folder (or zip) of CSV files with a manifest of attachments.

Covers account-manager exports, Recruitly, JobScore, Bullhorn-style (contract, section C4). What the
export does not prove is never guessed: an ambiguous date order or a second file that fits as well
stops with the field a person must state. Reading the same export again gives the same tables.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
from pydantic import ValidationError

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources import duplicates, excel_damage, manifest, presets, relations, tables
from batch_pipeline.sources.base import NOBODY, Notice, SourceReport, compared
from batch_pipeline.sources.canonical import ENTITIES, SCHEMAS, Entity, empty
from batch_pipeline.sources.csv_config import CsvFolderConfig, TableConfig
from batch_pipeline.sources.listing import ORPHANS, Listing, list_export
from batch_pipeline.sources.resolution import OPEN, Resolution, Table, resolve
from batch_pipeline.workspace import atomic_path, write_parquet

_SEVERAL: Final[Mapping[Entity, str]] = {"note": "person_id", "tag": "name"}
"""Columns of which one cell may hold several, parted by `list_separator`."""


class CsvFolder:
    """Reads the export a `CsvFolderConfig` describes."""

    def __init__(
        self, config: CsvFolderConfig, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.config = config
        self._now = now

    def read(self, into: Path, erased: Mapping[str, datetime] = NOBODY) -> SourceReport:
        """Write the canonical tables; a zip file is unpacked once into `into/export`."""
        into.mkdir(parents=True, exist_ok=True, mode=0o700)
        listing = list_export(Path(self.config.path), into / "export")
        scratch = into / ".staged"
        shutil.rmtree(scratch, ignore_errors=True)
        try:
            resolution = resolve(self.config, listing, scratch).answered()
            notices = [*resolution.notices]
            for entity in ENTITIES:
                notices += self._write(entity, resolution, listing, into, scratch, erased)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        notices += [*duplicates.report_possible(into), *relations.dangling(into)]
        counts: dict[Entity, int] = {
            entity: pl.scan_parquet(into / f"{entity}.parquet").select(pl.len()).collect().item()
            for entity in ENTITIES
        }
        return SourceReport(counts, tuple(notices), compared(self.config.totals, counts))

    def _write(
        self,
        entity: Entity,
        resolution: Resolution,
        listing: Listing,
        into: Path,
        scratch: Path,
        erased: Mapping[str, datetime],
    ) -> list[Notice]:
        table = resolution.tables.get(entity)
        if table is None:
            write_parquet(empty(entity), into / f"{entity}.parquet")
            if entity == "attachment":
                return self._orphans_only(listing, resolution, into)
            return []
        staged = scratch / f"{entity}.parquet"
        scratch.mkdir(exist_ok=True, mode=0o700)
        canonical = tables.canonical_rows(table, self.config.timezone, self.config.keep_columns)
        if entity == "person":
            canonical = relations.erased_on_request(canonical, erased)
        with table.file.naming_bad_rows():
            canonical.sink_parquet(staged)
        rows = pl.scan_parquet(staged)
        notices = [*tables.count_marks(entity, rows), *excel_damage.look(entity, table.file.name, rows)]
        separator, several = resolution.config.list_separator, _SEVERAL.get(entity)
        if separator is not None and several in table.columns:
            rows = relations.with_one_row_each(rows, str(several), separator)
        if entity == "tag":
            rows = rows.filter(pl.col("name").is_not_null())
        if "person_email" in table.columns:
            named = relations.with_people_by_address(
                rows, pl.scan_parquet(scratch / "person.parquet"), tables.ADDRESS
            )
            rows, notices = named.rows, [*notices, *named.notices]
        if entity == "evaluation" and "question" in table.columns:
            rows = relations.with_items_joined(rows)
        single = relations.with_one_id_each(entity, rows)
        notices += single.notices
        rows = single.rows
        if entity == "person":
            blanked = relations.without_erased(rows)
            notices += blanked.notices
            rows = blanked.rows
        elif entity == "attachment":
            rows, found = self._attachments(table, rows, resolution, listing, into, scratch)
            notices += found
        elif entity not in relations.OF_NOBODY:
            rows = relations.with_people(entity, rows, into)
        rows = relations.in_order(entity, rows, from_stage_known="from_stage" in table.columns)
        schema = SCHEMAS[entity]
        with atomic_path(into / f"{entity}.parquet") as partial:
            # every step before keeps the file's order
            rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items()).sink_parquet(partial)
        return notices

    def _attachments(
        self,
        table: Table,
        rows: pl.LazyFrame,
        resolution: Resolution,
        listing: Listing,
        into: Path,
        scratch: Path,
    ) -> tuple[pl.LazyFrame, list[Notice]]:
        template = manifest.checked_template(
            resolution.config.attachment_path, has_paths="source_handle" in table.columns
        )
        named = rows.select("_row", _handle="source_handle", _name="file_name")
        restricted = relations.consent_expired(into, self._now())
        rows = relations.with_people("attachment", rows, into, restricted)
        # the manifest is checked with the names as written; erased people's are blanked again below
        rows = rows.join(named, on="_row", how="left", maintain_order="left").with_columns(
            source_handle="_handle", file_name="_name"
        )
        if manifest.uses_email(template):
            first = pl.col("emails").str.json_path_match("$[0].raw").str.strip_chars()
            people = pl.scan_parquet(into / "person.parquet").select(person_id="source_id", _email=first)
            rows = rows.join(people, on="person_id", how="left", maintain_order="left")
        paths = self._table_paths(listing, resolution)
        checked = manifest.check(rows, listing, template, paths, scratch)
        write_parquet(checked.orphans, into / ORPHANS)
        hidden = pl.when(~pl.col("_erased")).then("file_name").alias("file_name")
        expired = [relations.consent_notice(restricted)] if restricted.len() else []
        return checked.rows.with_columns(hidden), [*checked.notices, *expired]

    def _orphans_only(self, listing: Listing, resolution: Resolution, into: Path) -> list[Notice]:
        used = self._table_paths(listing, resolution)
        orphans = listing.files.filter(~pl.col("path").is_in(used)).select("path")
        write_parquet(orphans, into / ORPHANS)
        if orphans.is_empty():
            return []
        return [Notice("orphan_files", "attachment", "the export has no manifest", orphans.height)]

    @staticmethod
    def _table_paths(listing: Listing, resolution: Resolution) -> list[str]:
        return [*listing.tables(), *(table.file.name for table in resolution.tables.values())]


def open_source(settings: Mapping[str, object]) -> CsvFolder:
    """The source of a migration file's `source:` section; ConfigurationError names the wrong field."""
    return CsvFolder(_validated(settings))


@dataclass(frozen=True)
class Proposal:
    """A configuration with a `?` wherever one of `questions` is open, and files that no table is made of."""

    config: CsvFolderConfig
    questions: tuple[ConfigurationError, ...]
    unused: tuple[Notice, ...]


def propose(path: Path, *, system: str = "csv", timezone: str | None = None) -> Proposal:
    """The configuration of an export as far as the export proves it: files, columns, date formats.

    Raises ConfigurationError naming the time zone where times name none, SourceError where there is
    nothing to read.
    """
    config = _validated(
        {"kind": "csv_folder", "path": str(path), "system": system, "timezone": timezone or "UTC"}
    )
    scratch = Path(tempfile.mkdtemp(prefix="batch-pipeline-propose-"))
    try:
        listing = list_export(path, scratch)
        config = config.model_copy(update={"preset": presets.recognise(listing)})
        resolution = resolve(config, listing, scratch / "text")
    finally:
        shutil.rmtree(scratch)
    zoneless = [
        f"{entity}.{field}" for entity, table in resolution.tables.items() for field in sorted(table.zoneless)
    ]
    if zoneless and timezone is None:
        raise ConfigurationError(
            "source.timezone",
            None,
            f"state the IANA zone of times that name none ({', '.join(zoneless)}), "
            "for example --timezone Europe/Lisbon",
        )
    stated = {
        entity: TableConfig(
            file=table.file.name,
            columns={
                field: headers[0] if len(headers) == 1 else headers
                for field, headers in table.columns.items()
            },
            date_formats=dict(table.date_formats),
            values={field: dict(known) for field, known in table.values.items()},
        )
        for entity, table in resolution.tables.items()
    }
    for question in resolution.questions:
        _mark_open(stated, question.field)
    unused = tuple(notice for notice in resolution.notices if notice.kind == "unused_file")
    return Proposal(resolution.config.model_copy(update={"tables": stated}), resolution.questions, unused)


def _mark_open(tables: dict[Entity, TableConfig], place: str) -> None:
    """Put a `?` where `place`, such as `source.tables.person.date_formats.erased_at`, says."""
    entity, section, *field = place.removeprefix("source.tables.").split(".")
    for name in ENTITIES:
        if name == entity:
            table = tables.get(name, TableConfig(file=OPEN))
            if field:
                table = table.model_copy(update={section: {**getattr(table, section), field[0]: OPEN}})
            tables[name] = table


def _validated(settings: Mapping[str, object]) -> CsvFolderConfig:
    try:
        return CsvFolderConfig.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(["source", *(str(part) for part in first["loc"])])
        raise ConfigurationError(place, first["input"], first["msg"]) from None
