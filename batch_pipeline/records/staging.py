"""Parquet -> temporary tables, in batches: the client's memory does not grow with the migration."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import polars as pl
import psycopg
from psycopg import sql

from batch_pipeline.errors import TerminalError
from batch_pipeline.records.cleaning import Cleaned, clean
from batch_pipeline.records.erased import Erased
from batch_pipeline.records.tables import DOCUMENT, PARSED_CV, SECTIONS, Section, Table
from batch_pipeline.records.target import Connection, as_error_of
from batch_pipeline.workspace import Workspace

BATCH_ROWS: Final = 8_000
SINCE_M004: Final = frozenset({"stage", "tag", "offer", "question_answer"})
"""Tables that a workspace written before them has no file of: they are empty then."""
_ANSWER_COLUMNS: Final = ("md5", "status", "reason", "detail")

Progress = Callable[[str, int, int], None]
"""Called with a table, its rows staged so far, and how many there are."""


def stage_name(table: Table) -> sql.Identifier:
    return sql.Identifier("pg_temp", f"stage_{table.name}")


def create_stages(connection: Connection, tables: tuple[Table, ...]) -> None:
    """Empty temporary tables in the targets' column types; they end with the transaction."""
    for table in tables:
        connection.execute(
            sql.SQL("CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
                sql.Identifier(f"stage_{table.name}"), _columns(table.columns), sql.Identifier(table.name)
            )
        )


def stage(
    connection: Connection,
    table: Table,
    workspace: Workspace,
    erased: Erased,
    progress: Progress | None,
) -> Cleaned:
    """Copy one table's rows into its stage; rows derived from other stages are derived there."""
    if table.scope == "child":
        section = next(section for section in SECTIONS if section.table == table)
        _derive_section(connection, section)
        cleaned = Cleaned()
    else:
        files = source_files(table, workspace)
        columns = columns_in_file(table)
        total = count_rows(table, files)
        cleaned = _copy(connection, table.name, columns, rows_of(table, files, erased), total, progress)
        if table == DOCUMENT:
            cleaned.add(_attach_answers(connection, workspace))
    connection.execute(sql.SQL("ANALYZE {}").format(stage_name(table)))
    return cleaned


def source_files(table: Table, workspace: Workspace) -> list[Path]:
    """The Parquet files a table is read from.

    Raises:
        TerminalError: a file is missing; an import without it would remove its rows.
    """
    if table == PARSED_CV:
        return sorted(workspace.parsed.glob("*.parquet"))
    special = {
        "document": workspace.documents,
        "attachment": workspace.attachments,
        "cv_link": workspace.links,
    }
    path = special.get(table.name, workspace.table(table.name))
    if not path.exists() and table.name in SINCE_M004:
        return []
    if not path.exists():
        raise TerminalError(
            f"{path.name} of migration {workspace.key!r} is missing: run the stage that makes it"
        )
    return [path]


def rows_of(table: Table, files: list[Path], erased: Erased) -> Iterator[pl.DataFrame]:
    """A table's rows as its files hold them, in their order, without erased people's data."""
    for path in files:
        for batch in _batches(path):
            # Filtered after the slice: a slice of a filter reads the file from its start every time.
            final = batch.filter(pl.col("status") == "parsed") if table == PARSED_CV else batch
            yield erased.empty(table.name, final.select(_there(final, columns_in_file(table))).collect())


def _there(rows: pl.LazyFrame, columns: tuple[str, ...]) -> list[pl.Expr]:
    """The columns; null where the workspace was written before there was such a one."""
    held = rows.collect_schema()
    return [pl.col(name) if name in held else pl.lit(None, pl.String).alias(name) for name in columns]


def count_rows(table: Table, files: list[Path]) -> int:
    """How many rows `rows_of` gives."""
    if table == PARSED_CV:
        return sum(_length(pl.scan_parquet(path).filter(pl.col("status") == "parsed")) for path in files)
    return sum(_length(pl.scan_parquet(path)) for path in files)


def columns_in_file(table: Table) -> tuple[str, ...]:
    if table == DOCUMENT:
        return tuple(column for column in table.columns if not column.startswith("parse_"))
    return table.columns


def _batches(path: Path) -> Iterator[pl.LazyFrame]:
    rows = pl.scan_parquet(path)
    for offset in range(0, _length(rows), BATCH_ROWS):
        yield rows.slice(offset, BATCH_ROWS)


def _length(rows: pl.LazyFrame) -> int:
    return int(rows.select(pl.len()).collect().item())


def _copy(
    connection: Connection,
    name: str,
    columns: tuple[str, ...],
    batches: Iterator[pl.DataFrame],
    total: int,
    progress: Progress | None,
) -> Cleaned:
    cleaned = Cleaned()
    done = 0
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(
        sql.Identifier("pg_temp", f"stage_{name}"), _columns(columns)
    )
    try:
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for batch in batches:
                storable, counts = clean(batch)
                cleaned.add(counts)
                copy.write(storable.write_csv(include_header=False, quote_style="necessary"))
                done += batch.height
                if progress:
                    progress(name, done, total)
    except psycopg.Error as error:
        raise as_error_of(name, error) from None
    return cleaned


def _attach_answers(connection: Connection, workspace: Workspace) -> Cleaned:
    """Write beside each document how its answer ended, so that a person can ask why it has no CV."""
    connection.execute(
        "CREATE TEMP TABLE stage_answer (md5 text, status text, reason text, detail text) ON COMMIT DROP"
    )
    batches = (
        batch.select(_ANSWER_COLUMNS).collect()
        for path in sorted(workspace.parsed.glob("*.parquet"))
        for batch in _batches(path)
    )
    cleaned = _copy(connection, "answer", _ANSWER_COLUMNS, batches, 0, None)
    connection.execute("ANALYZE pg_temp.stage_answer")
    connection.execute(
        "CREATE TEMP TABLE stage_document_answered ON COMMIT DROP AS"
        " SELECT d.md5, d.sha256, d.bytes, d.sniffed_mime, d.pages, d.text_chars, d.text_sha, d.verdict,"
        " d.reason, d.needs_vision, d.record_id,"
        " a.status AS parse_status, a.reason AS parse_reason, a.detail AS parse_detail"
        " FROM pg_temp.stage_document d LEFT JOIN pg_temp.stage_answer a USING (md5)"
    )
    connection.execute("DROP TABLE pg_temp.stage_document")
    connection.execute("ALTER TABLE pg_temp.stage_document_answered RENAME TO stage_document")
    return cleaned


def _derive_section(connection: Connection, section: Section) -> None:
    values = [
        sql.SQL("item {} {}").format(sql.SQL("->" if column in _LISTS else "->>"), sql.Literal(field))
        for column, field in section.fields.items()
    ]
    connection.execute(
        sql.SQL(
            "INSERT INTO {stage} ({columns})"
            " SELECT md5, (place - 1)::integer, {values} FROM pg_temp.stage_parsed_cv,"
            " jsonb_array_elements(CASE jsonb_typeof(json_resume -> {field})"
            " WHEN 'array' THEN json_resume -> {field} ELSE '[]' END) WITH ORDINALITY AS list (item, place)"
        ).format(
            stage=stage_name(section.table),
            columns=_columns(section.table.columns),
            values=sql.SQL(", ").join(values),
            field=sql.Literal(section.field),
        )
    )


_LISTS: Final = frozenset({"highlights", "courses", "keywords"})


def _columns(names: tuple[str, ...]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))
