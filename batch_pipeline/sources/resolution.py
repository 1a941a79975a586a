"""From a configuration, stated or empty, to what is read from which file and how.

Used twice: to read a migration, and to propose the configuration of a new one. Whatever only a
person can know is collected, so that it is asked for once and not one run at a time.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from batch_pipeline.errors import ConfigurationError, SourceError
from batch_pipeline.sources import column_map, dates, presets, value_maps
from batch_pipeline.sources.base import Notice
from batch_pipeline.sources.canonical import ENTITIES, Entity
from batch_pipeline.sources.csv_config import CsvFolderConfig, TableConfig
from batch_pipeline.sources.csv_reading import CsvFile, is_blank, open_csv
from batch_pipeline.sources.listing import Listing

NEEDED: tuple[Entity, ...] = ("person", "application")
OPEN: Final = "?"
"""Stands in a migration file where a person has to answer; reads like nothing stated."""


@dataclass(frozen=True)
class Table:
    """How one entity is read: field -> headers, date field -> format, field -> value map."""

    entity: Entity
    file: CsvFile
    columns: Mapping[str, list[str]]
    date_formats: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]]
    zoneless: frozenset[str]  # date fields with values that name no zone


@dataclass(frozen=True)
class Resolution:
    """`config` is the one given, with what its preset knows.

    Each of `questions` names, as its `field`, the place of the migration file where the answer goes.
    """

    config: CsvFolderConfig
    tables: Mapping[Entity, Table]
    notices: tuple[Notice, ...]
    questions: tuple[ConfigurationError, ...]

    def answered(self) -> "Resolution":
        """This, where nothing is open. Raises ConfigurationError naming everything a person must state."""
        if len(self.questions) == 1:
            raise self.questions[0]
        if self.questions:
            fix = "; ".join(f"{question.field}: {question.fix}" for question in self.questions)
            raise ConfigurationError("source.tables", f"{len(self.questions)} open questions", fix)
        return self


def resolve(config: CsvFolderConfig, listing: Listing, scratch: Path) -> Resolution:
    """What is read and how, and what only a person can tell.

    Raises ConfigurationError for a wrong answer, SourceError for a bad file.
    """
    config = _without_open(config)
    to_open = _files_to_open(config, listing)
    blank = [path for path, local in to_open.items() if is_blank(Path(local))]
    for entity, stated_table in config.tables.items():
        if stated_table.file in blank:
            raise SourceError(f"{stated_table.file} is empty: it cannot be the {entity} table")
    opened = {
        path: open_csv(Path(local), path, scratch, config.encoding, config.delimiter)
        for path, local in to_open.items()
        if path not in blank
    }
    if not opened:
        raise SourceError(_nothing_to_read(listing))
    config = presets.applied(config, opened)
    chosen, notices, open_questions = _choose_files(config, opened)
    notices += [Notice("unused_file", path, "is empty", 1) for path in blank]
    for entity in NEEDED:
        nothing = [path for path in blank if entity not in chosen and _rank(path, entity) is not None]
        if nothing:
            raise SourceError(f"{nothing[0]} is empty: no migration can do without the {entity} table")
    tables: dict[Entity, Table] = {}
    for entity in ENTITIES:
        if entity not in chosen:
            notices.append(Notice("no_table", entity, "the export has no such file", 0))
            continue
        stated = config.tables.get(entity, TableConfig(file=chosen[entity].name))
        table, questions = _resolve_table(entity, chosen[entity], stated)
        tables[entity] = table
        open_questions += questions
        notices += _choices(table, stated, config)
    return Resolution(config, tables, tuple(notices), tuple(open_questions))


def _nothing_to_read(listing: Listing) -> str:
    """Why there is no table, and where some may be; a folder is named by what its tables are called alone."""
    paths = [Path(path) for path in listing.files["path"].to_list()]
    nested = Counter(
        path.parent.as_posix()
        for path in paths
        if len(path.parts) > 1 and path.suffix.lower() in (".csv", ".tsv") and _stem_fits(path.as_posix())
    )
    if nested:
        folder, count = min(nested.items(), key=lambda one: (-one[1], one[0]))
        return (
            f"the export holds no CSV file at its top, but {count} in {folder}: give that folder (of a zip file: "
            "unpacked); where attachments lie outside of it, name each file under source.tables instead"
        )
    if not paths:
        return "the export is empty: it holds no file"
    if any(path.suffix.lower() == ".json" for path in paths):
        return (
            "the export holds no CSV file, and its JSON files are not called like the lists of any API that is read: "
            "docs/sources.md names them; or write the migration file by hand and state source.kind"
        )
    return "the export holds no CSV file; sheets of a workbook are saved as CSV, each its own"


def _without_open(config: CsvFolderConfig) -> CsvFolderConfig:
    tables = {
        entity: table.model_copy(
            update={
                "columns": {field: header for field, header in table.columns.items() if header != OPEN},
                "date_formats": {field: how for field, how in table.date_formats.items() if how != OPEN},
            }
        )
        for entity, table in config.tables.items()
        if table.file != OPEN
    }
    return config.model_copy(update={"tables": tables})


def _files_to_open(config: CsvFolderConfig, listing: Listing) -> dict[str, str]:
    paths = [*listing.tables(), *presets.manifests(config, listing)]
    for entity, table in config.tables.items():
        if table.file not in paths:
            if listing.local_path(table.file) is None:
                raise ConfigurationError(
                    f"source.tables.{entity}.file",
                    table.file,
                    f"the export holds {', '.join(paths) or 'none'}",
                )
            paths.append(table.file)
    stated = {table.file for table in config.tables.values()}
    if all(entity in config.tables for entity in NEEDED):
        paths = [path for path in paths if path in stated or _stem_fits(path)]
    return {path: str(listing.local_path(path)) for path in paths}


def _stem_fits(path: str) -> bool:
    return any(_rank(path, entity) is not None for entity in ENTITIES)


def _rank(path: str, entity: Entity) -> int | None:
    """0 for a file called like the entity, 1 for one whose name begins so, None for neither.

    A name that says more about another entity is none of this one: `stage_history` holds no stages.
    """
    stem = column_map.normalised(Path(path).stem)
    said = {one: _said(stem, one) for one in ENTITIES}
    if not said[entity] or said[entity] < max(said.values()):
        return None
    return 0 if said[entity] == len(stem) else 1


def _said(stem: str, entity: Entity) -> int:
    """How many characters of a file's name are the entity's."""
    return max((len(name) for name in column_map.stems(entity) if stem.startswith(name)), default=0)


def _choose_files(
    config: CsvFolderConfig, opened: Mapping[str, CsvFile]
) -> tuple[dict[Entity, CsvFile], list[Notice], list[ConfigurationError]]:
    chosen: dict[Entity, CsvFile] = {entity: opened[table.file] for entity, table in config.tables.items()}
    questions: list[ConfigurationError] = []
    for entity in ENTITIES:
        if entity in chosen:
            continue
        taken = {file.name for file in chosen.values()}
        ranks = {
            path: rank for path in opened if path not in taken and (rank := _rank(path, entity)) is not None
        }
        # a needed table called by its name is asked about when a column is not found: no other file is it
        fitting = [path for path in ranks if entity in NEEDED or not _lacks(entity, opened[path])]
        best = min((ranks[path] for path in fitting), default=0)
        names = sorted(path for path in fitting if ranks[path] == best)
        if len(names) == 1:
            chosen[entity] = opened[names[0]]
        elif names or entity in NEEDED:
            why = "all fit alike" if names else "none is called like that table"
            fix = f"state one of {', '.join(names or sorted(opened))}: {why}"
            questions.append(ConfigurationError(f"source.tables.{entity}.file", None, fix))
    used = {file.name for file in chosen.values()}
    unused = [_unused(path, opened[path]) for path in sorted(opened) if path not in used]
    return chosen, unused, questions


def _lacks(entity: Entity, file: CsvFile) -> list[str]:
    return column_map.missing_fields(entity, column_map.match(entity, file.headers, {}))


def _unused(path: str, file: CsvFile) -> Notice:
    for entity in ENTITIES:
        lacking = _lacks(entity, file)
        if _rank(path, entity) == 0 and lacking:
            detail = (
                f"no header is known to be the {entity}'s {', '.join(lacking)}: state source.tables.{entity}"
            )
            return Notice("unused_file", path, detail, 1)
    return Notice("unused_file", path, "no table of this migration", 1)


def _resolve_table(
    entity: Entity, file: CsvFile, stated: TableConfig
) -> tuple[Table, list[ConfigurationError]]:
    columns = column_map.match(entity, file.headers, stated.columns)
    place = f"source.tables.{entity}"
    questions = [
        ConfigurationError(
            f"{place}.columns.{field}",
            None,
            f"state its header in {file.name}; the headers are {', '.join(file.headers)}",
        )
        for field in column_map.missing_fields(entity, columns)
    ]
    for field, table in stated.values.items():
        allowed = value_maps.CANONICAL.get(_map_name(entity, field))
        if allowed is None:
            raise ConfigurationError(
                f"{place}.values.{field}", field, "this field has no closed set of values"
            )
        wrong = sorted(set(table.values()) - allowed)
        if wrong:
            raise ConfigurationError(
                f"{place}.values.{field}", wrong, f"give one of {', '.join(sorted(allowed))}"
            )
    date_fields = [field for field in columns if field in column_map.DATES[entity]]
    unknown = sorted(set(stated.date_formats) - set(date_fields))
    if unknown:
        raise ConfigurationError(
            f"{place}.date_formats", unknown, f"the date fields are {', '.join(date_fields)}"
        )
    formats, undated, zoneless = _date_formats(place, file, columns, date_fields, stated.date_formats)
    return Table(entity, file, columns, formats, stated.values, zoneless), [*questions, *undated]


def _map_name(entity: Entity, field: str) -> str:
    return "evaluation.overall" if field == "overall_raw" else f"{entity}.{field}"


def _date_formats(
    place: str,
    file: CsvFile,
    columns: Mapping[str, list[str]],
    date_fields: list[str],
    stated: Mapping[str, str],
) -> tuple[dict[str, str], list[ConfigurationError], frozenset[str]]:
    formats: dict[str, str] = {}
    questions: list[ConfigurationError] = []
    with file.naming_bad_rows():
        observed = dates.observe(file.scan(), {field: cell(columns[field]) for field in date_fields})
    for field in date_fields:
        given = stated.get(field)
        if given is not None:
            if given not in dates.ORDERS and "%" not in given:
                raise ConfigurationError(
                    f"{place}.date_formats.{field}",
                    given,
                    f"give one of {', '.join(dates.ORDERS)} or a %-format",
                )
            formats[field] = given
            continue
        try:
            formats[field] = observed[field].order()
        except ValueError as error:
            header = " + ".join(columns[field])
            if field == "erased_at" and not observed[field].has_dates:
                formats[field] = "year_first"  # a yes-or-no column: any mark erases
            else:
                questions.append(
                    ConfigurationError(
                        f"{place}.date_formats.{field}", None, f"column {header!r} of {file.name}: {error}"
                    )
                )
    zoneless = frozenset(field for field in formats if observed[field].without_zone)
    return formats, questions, zoneless


def cell(headers: list[str]) -> pl.Expr:
    """What a field's columns say: trimmed, formula wrapping `="..."` undone, empty as null."""
    parts = [
        pl.col(header).str.replace(r'^\s*="(.*)"\s*$', "$1").str.strip_chars().replace("", None)
        for header in headers
    ]
    if len(parts) == 1:
        return parts[0]
    return pl.concat_str(parts, separator=" ", ignore_nulls=True).replace("", None)


def _choices(table: Table, stated: TableConfig, config: CsvFolderConfig) -> list[Notice]:
    file, entity = table.file, table.entity
    how = "stated" if file.encoding_stated else "detected"
    found = [Notice("encoding", entity, f"{file.name}: {file.encoding}, {how}", 1)]
    how = "stated" if file.delimiter_stated else "detected"
    found.append(Notice("delimiter", entity, f"{file.name}: {file.delimiter!r}, {how}", 1))
    for field, date_format in table.date_formats.items():
        how = "stated" if field in stated.date_formats else "derived from its values"
        header = " + ".join(table.columns[field])
        found.append(Notice("date_format", entity, f"{field} from {header!r}: {date_format}, {how}", 1))
        if field in table.zoneless:
            found.append(Notice("zone_assumed", entity, f"{field} from {header!r}: {config.timezone}", 1))
    used = {header for headers in table.columns.values() for header in headers}
    spare = [header for header in file.headers if header not in used]
    kept = {column_map.normalised(header) for header in config.keep_columns}
    hidden = [h for h in spare if column_map.is_sensitive(h) and column_map.normalised(h) not in kept]
    if hidden:
        found.append(Notice("sensitive_columns", entity, f"left out: {', '.join(hidden)}", len(hidden)))
    rest = [header for header in spare if header not in hidden]
    if rest:
        found.append(Notice("unmapped_columns", entity, f"only in raw: {', '.join(rest)}", len(rest)))
    return found
