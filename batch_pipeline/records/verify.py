"""Compares the database with the Parquet files it was filled from, field by field, on a sample.

The import itself compares every row inside the database; this reads both ends anew, so that a fault of
the way between them (encoding, NULL against empty, times) is seen too.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from psycopg import sql

from batch_pipeline.records.cleaning import clean, storable
from batch_pipeline.records.erased import Erased
from batch_pipeline.records.staging import count_rows, rows_of, source_files
from batch_pipeline.records.tables import BY_NAME, JSON_COLUMNS, SECTIONS, TABLES, Section, Table
from batch_pipeline.records.target import Connection, Target, connect
from batch_pipeline.workspace import Workspace

SAMPLE_ROWS: Final = 200


@dataclass
class Verification:
    """Rows and fields compared; `differences` names `table key: what`, never a value."""

    rows: dict[str, int] = field(default_factory=dict)
    fields: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.differences


def verify(
    connection_url: str, target: Target, workspace: Workspace, sample_rows: int = SAMPLE_ROWS
) -> Verification:
    """Compare evenly spread rows of every table; the same workspace gives the same sample."""
    found = Verification()
    erased = Erased.of(workspace)
    with connect(connection_url) as connection:
        connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(target.schema)))
        connection.execute("SET TRANSACTION READ ONLY")
        for table in TABLES:
            if table.scope != "child":
                _compare(connection, target, table, _sample(table, workspace, erased, sample_rows), found)
    return found


def _sample(table: Table, workspace: Workspace, erased: Erased, wanted: int) -> list[dict[str, Any]]:
    files = source_files(table, workspace)
    step = max(1, count_rows(table, files) // wanted)
    sample: list[dict[str, Any]] = []
    seen = 0
    for batch in rows_of(table, files, erased):
        chosen = batch.gather_every(step, offset=-seen % step)
        seen += batch.height
        sample += clean(chosen)[0].to_dicts()
    return sample


def _compare(
    connection: Connection, target: Target, table: Table, expected: list[dict[str, Any]], found: Verification
) -> None:
    held = _rows_held(connection, target, table, expected)
    found.rows[table.name] = len(expected)
    for row in expected:
        key = tuple(row[name] for name in table.key)
        actual = held.get(key)
        if actual is None:
            found.differences.append(f"{table.name} {'/'.join(key)}: missing")
            continue
        for name in row:
            found.fields += 1
            if _plain(name, row[name]) != actual[name] and not _was_emptied(
                connection, target, table, name, row[name], actual[name]
            ):
                found.differences.append(f"{table.name} {'/'.join(key)}: {name} differs")
        if table.name == "parsed_cv":
            for section in SECTIONS:
                _compare_section(connection, target, section, row, found)


def _compare_section(
    connection: Connection, target: Target, section: Section, row: dict[str, Any], found: Verification
) -> None:
    listed = storable(json.loads(row["json_resume"])).get(section.field) or []
    expected = [
        tuple(_as_column(name, item.get(key)) for name, key in section.fields.items()) for item in listed
    ]
    actual = connection.execute(
        sql.SQL("SELECT {} FROM {} WHERE tenant = %s AND md5 = %s ORDER BY position").format(
            sql.SQL(", ").join(map(sql.Identifier, section.fields)), sql.Identifier(section.table.name)
        ),
        (target.tenant, row["md5"]),
    ).fetchall()
    found.rows[section.table.name] = found.rows.get(section.table.name, 0) + len(expected)
    found.fields += sum(map(len, expected))
    if actual != expected:
        found.differences.append(f"{section.table.name} {row['md5']}: rows differ")


def _rows_held(
    connection: Connection, target: Target, table: Table, expected: list[dict[str, Any]]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    if not expected:
        return {}
    columns = list(expected[0])
    scope = sql.SQL(" AND ").join(
        sql.SQL("t.{} = {}").format(sql.Identifier(name), sql.Placeholder(name))
        for name in table.scope_columns
    )
    statement = sql.SQL(
        "SELECT {columns} FROM {table} t JOIN unnest({keys}) AS k ({names}) USING ({names}) WHERE {scope}"
    )
    rows = connection.execute(
        statement.format(
            columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
            table=sql.Identifier(table.name),
            keys=sql.SQL(", ").join(
                sql.SQL("{}::text[]").format(sql.Placeholder(f"key_{name}")) for name in table.key
            ),
            names=sql.SQL(", ").join(map(sql.Identifier, table.key)),
            scope=scope,
        ),
        {**target.parameters, **{f"key_{name}": [row[name] for row in expected] for name in table.key}},
    )
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    return {tuple(row[name] for name in table.key): row for row in found}


def _plain(name: str, value: Any) -> Any:
    if name in JSON_COLUMNS and value is not None:
        return storable(json.loads(value))
    return value


def _as_column(name: str, value: Any) -> Any:
    """How `->>` shows a value: text as it is, anything else as JSON."""
    if value is None or name in JSON_COLUMNS or isinstance(value, str):
        return value
    return json.dumps(value)


def _was_emptied(
    connection: Connection, target: Target, table: Table, name: str, wanted: Any, actual: Any
) -> bool:
    """An optional reference is null because what it names is nowhere."""
    if actual is not None:
        return False
    for reference in table.references:
        if reference.optional and reference.columns == (name,):
            parent = BY_NAME[reference.table]
            there = connection.execute(
                sql.SQL("SELECT FROM {} WHERE tenant = %s AND source_system = %s AND {} = %s").format(
                    sql.Identifier(parent.name), sql.Identifier(parent.key[0])
                ),
                (target.tenant, target.source_system, wanted),
            ).fetchone()
            return there is None
    return False
