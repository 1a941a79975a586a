"""The second target: the same rows as a Parquet dataset, one folder a table, in parts.

Made from the database in one snapshot after the import, so that the two cannot differ. JSON values are
text, times are UTC.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl
import psycopg
from psycopg import sql

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.records.tables import TABLES, Table
from batch_pipeline.records.target import Connection, Target, connect
from batch_pipeline.workspace import write_parquet

PART_ROWS: Final = 50_000
_TYPES: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "text": pl.String,
    "jsonb": pl.String,
    "bigint": pl.Int64,
    "integer": pl.Int32,
    "boolean": pl.Boolean,
    "date": pl.Date,
    "timestamp with time zone": pl.Datetime("us", "UTC"),
}


def write_dataset(
    connection_url: str, target: Target, folder: Path, part_rows: int = PART_ROWS
) -> dict[str, int]:
    """Write this migration's rows to `<folder>/<table>/part-<n>.parquet`; return rows by table.

    Raises:
        ConfigurationError: the folder holds something already, or nothing was imported yet.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError("--to", str(folder), "give a folder that is empty or not there yet")
    counts: dict[str, int] = {}
    with connect(connection_url) as connection:
        connection.execute("set transaction isolation level repeatable read, read only")
        connection.execute(sql.SQL("set local search_path to {}").format(sql.Identifier(target.schema)))
        _require_rows(connection, target)
        for table in TABLES:
            counts[table.name] = _write(connection, target, table, folder / table.name, part_rows)
    return counts


def _require_rows(connection: Connection, target: Target) -> None:
    """Raises ConfigurationError where no table holds a row of this migration: an empty dataset is no target."""
    tables = [table for table in TABLES if table.has_migration]
    held = sql.SQL(" union all ").join(
        sql.SQL("(select 1 from {} where tenant = %(tenant)s and migration = %(migration)s limit 1)").format(
            sql.Identifier(table.name)
        )
        for table in tables
    )
    try:
        if connection.execute(held, target.parameters).fetchone():
            return
    except psycopg.errors.UndefinedTable:
        pass
    fix = f"nothing of it is in schema {target.schema}: `batch-pipeline run {target.migration}` imports it"
    raise ConfigurationError("KEY", target.migration, fix)


def _schema(connection: Connection, target: Target, table: Table) -> dict[str, str]:
    """Column -> PostgreSQL type, in the table's own order."""
    rows = connection.execute(
        "select column_name, data_type from information_schema.columns "
        "where table_schema = %s and table_name = %s order by ordinal_position",
        (target.schema, table.name),
    ).fetchall()
    return dict(rows)


def _write(connection: Connection, target: Target, table: Table, folder: Path, part_rows: int) -> int:
    schema = _schema(connection, target, table)
    types = pl.Schema({name: _TYPES[kind] for name, kind in schema.items()})
    count = 0
    for number, rows in enumerate(_parts(connection, target, table, schema, part_rows)):
        frame = pl.DataFrame(rows, schema=types, orient="row")
        write_parquet(frame, folder / f"part-{number:05}.parquet")
        count += frame.height
    return count


def _parts(
    connection: Connection, target: Target, table: Table, schema: dict[str, str], part_rows: int
) -> Iterator[list[tuple[Any, ...]]]:
    """At least one part, so that an empty table is a table too."""
    columns = sql.SQL(", ").join(
        sql.SQL("t.{}::text" if kind == "jsonb" else "t.{}").format(sql.Identifier(name))
        for name, kind in schema.items()
    )
    of = (
        sql.SQL("t.migration = %(migration)s")
        if table.has_migration
        else sql.SQL(
            "exists (select from parsed_cv p where p.tenant = t.tenant and p.md5 = t.md5 "
            "and p.migration = %(migration)s)"
        )
    )
    order = sql.SQL(", ").join(sql.SQL("t.{}").format(sql.Identifier(name)) for name in table.key)
    query = sql.SQL("select {} from {} t where t.tenant = %(tenant)s and {} order by {}").format(
        columns, sql.Identifier(table.name), of, order
    )
    with connection.cursor(name=f"dataset_{table.name}") as cursor:
        cursor.execute(query, target.parameters)
        rows = cursor.fetchmany(part_rows)
        yield rows
        while rows := cursor.fetchmany(part_rows):
            yield rows
