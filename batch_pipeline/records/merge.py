"""Stage -> table: rows that differ are written, equal rows are not touched, and the result is counted.

Equal rows are found by a join before the write: `ON CONFLICT ... DO UPDATE` alone would lock each of
them, which writes every page again on a rerun.
"""

from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import sql

from batch_pipeline.errors import OpenSums, TerminalError
from batch_pipeline.records.staging import stage_name
from batch_pipeline.records.tables import BY_NAME, Reference, Table
from batch_pipeline.records.target import Connection, Target, as_error_of

_NAMED_ROWS: Final = 20
# An export that leaves out a row it once had may be a part, or the row was deleted there: nobody here can tell.
_MISSED: Final = frozenset({"person", "job", "application"})


@dataclass(frozen=True)
class TableCount:
    """Rows of one table: staged = inserted + updated + unchanged; `removed` were there and are no more.

    `emptied_references` are optional references of staged rows that named nothing. `not_named` are rows of
    earlier migrations of this system that this one does not name: they stay (counted for people, jobs and
    applications alone).
    """

    staged: int
    inserted: int
    updated: int
    unchanged: int
    removed: int = 0
    emptied_references: int = 0
    not_named: int = 0


def merge(connection: Connection, table: Table, target: Target) -> TableCount:
    """Make the table hold exactly what was staged under the staged keys.

    Raises:
        TerminalError: a key was staged twice.
        OpenSums: rows name others that do not exist, or the counts do not close.
    """
    staged = _count(connection, sql.SQL("SELECT count(*) FROM {}").format(stage_name(table)))
    emptied = 0
    try:
        inserted, updated = _write(connection, table, target)
    except psycopg.errors.ForeignKeyViolation:
        # Looked for only where the constraints found some: a join a reference over every row is dear.
        emptied = _empty_optional_references(connection, table, target)
        if dangling := _dangling(connection, table, target):
            raise OpenSums(f"table {table.name}: {dangling}") from None
        inserted, updated = _write(connection, table, target)
    held = _count(connection, _held_statement(table), target)
    if held != staged:
        raise OpenSums(f"table {table.name}: {staged} rows staged, {held} of them held afterwards")
    not_named = _count(connection, _not_named_statement(table), target) if table.name in _MISSED else 0
    unchanged = staged - inserted - updated
    return TableCount(staged, inserted, updated, unchanged, emptied_references=emptied, not_named=not_named)


def remove_unstaged(connection: Connection, target: Target, tables: tuple[Table, ...]) -> dict[str, int]:
    """Remove this migration's rows that are not staged, children first; return how many by table.

    A file that another migration of the tenant holds too stays, and is that migration's from now on.

    Raises:
        OpenSums: rows of another migration name rows that would go.
    """
    for table in tables:
        if table.scope == "tenant":
            connection.execute(_hand_over_statement(table), target.parameters)
    removed = {}
    for table in reversed(tables):
        try:
            with connection.transaction():
                removed[table.name] = connection.execute(_remove_statement(table), target.parameters).rowcount
        except psycopg.errors.ForeignKeyViolation as error:
            raise OpenSums(
                f"table {table.name}: rows of another migration name rows of migration {target.migration!r}"
                f" (key {error.diag.constraint_name}): roll that one back first"
            ) from None
        except psycopg.Error as error:
            raise as_error_of(table.name, error) from None
    return removed


def take_over(connection: Connection, target: Target, tables: tuple[Table, ...], migration: str) -> None:
    """Rows that `migration` brought become those of `target`."""
    for table in tables:
        if table.has_migration:
            connection.execute(
                sql.SQL(
                    "UPDATE {table} t SET migration = %(migration)s WHERE {scope} AND t.migration = %(taken)s"
                ).format(table=sql.Identifier(table.name), scope=_in_scope(table, "t")),
                {**target.parameters, "taken": migration},
            )


def _write(connection: Connection, table: Table, target: Target) -> tuple[int, int]:
    """Insert and update what differs; return how many of each."""
    try:
        with connection.transaction():
            row = connection.execute(_merge_statement(table), target.parameters).fetchone()
    except psycopg.errors.CardinalityViolation:
        raise TerminalError(f"table {table.name}: keys staged twice: {_twice(connection, table)}") from None
    except psycopg.errors.ForeignKeyViolation:
        raise
    except psycopg.Error as error:
        raise as_error_of(table.name, error) from None
    return row or (0, 0)


def _empty_optional_references(connection: Connection, table: Table, target: Target) -> int:
    emptied = 0
    for reference in table.references:
        if reference.optional:
            statement = sql.SQL("UPDATE {stage} s SET {empty} WHERE {dangling}").format(
                stage=stage_name(table),
                empty=sql.SQL(", ").join(
                    sql.SQL("{} = NULL").format(sql.Identifier(column)) for column in reference.columns
                ),
                dangling=_names_nothing(reference),
            )
            emptied += connection.execute(statement, target.parameters).rowcount
    return emptied


def _merge_statement(table: Table) -> sql.Composed:
    keys = (*table.scope_columns, *table.key)
    columns = (*table.scope_columns, *table.columns, *(("migration",) if table.has_migration else ()))
    values = (
        *(sql.SQL("{}::text").format(sql.Placeholder(name)) for name in table.scope_columns),
        *(_of("s", name) for name in table.columns),
        *((sql.SQL("%(migration)s::text"),) if table.has_migration else ()),
    )
    return sql.SQL(
        "WITH merged AS ("
        " INSERT INTO {table} AS t ({columns})"
        " SELECT {values} FROM {stage} s LEFT JOIN {table} o ON {held}"
        " WHERE o.tenant IS NULL OR {changed}"
        " ON CONFLICT ({keys}) DO UPDATE SET ({names}) = ROW({excluded}) WHERE {conflicting}"
        " RETURNING t.xmax = 0 AS inserted)"
        " SELECT count(*) FILTER (WHERE inserted), count(*) FILTER (WHERE NOT inserted) FROM merged"
    ).format(
        table=sql.Identifier(table.name),
        columns=_names(columns),
        values=sql.SQL(", ").join(values),
        stage=stage_name(table),
        held=sql.SQL("{} AND {}").format(_in_scope(table, "o"), _match(table, "o")),
        changed=_distinct(table, "o", "s"),
        keys=_names(keys),
        names=_names(table.values),
        excluded=sql.SQL(", ").join(_of("excluded", name) for name in table.values),
        conflicting=_distinct(table, "t", "excluded"),
    )


def _held_statement(table: Table) -> sql.Composed:
    """Counts the staged rows that the table holds, equal in every column."""
    return sql.SQL(
        "SELECT count(*) FROM {stage} s JOIN {table} t ON {scope} AND {match} WHERE NOT ({distinct})"
    ).format(
        stage=stage_name(table),
        table=sql.Identifier(table.name),
        scope=_in_scope(table, "t"),
        match=_match(table, "t"),
        distinct=_distinct(table, "t", "s"),
    )


def _not_named_statement(table: Table) -> sql.Composed:
    return sql.SQL("SELECT count(*) FROM {table} t WHERE {unstaged} AND t.migration <> %(migration)s").format(
        table=sql.Identifier(table.name), unstaged=_unstaged(table)
    )


def _remove_statement(table: Table) -> sql.Composed:
    if table.has_migration:
        ours = sql.SQL("t.migration = %(migration)s")
    else:
        ours = sql.SQL(
            "(EXISTS (SELECT FROM pg_temp.stage_parsed_cv p WHERE p.md5 = t.md5)"
            " OR EXISTS (SELECT FROM parsed_cv p"
            " WHERE p.tenant = t.tenant AND p.md5 = t.md5 AND p.migration = %(migration)s))"
        )
    return sql.SQL("DELETE FROM {table} t WHERE {unstaged} AND {ours}").format(
        table=sql.Identifier(table.name), unstaged=_unstaged(table), ours=ours
    )


def _hand_over_statement(table: Table) -> sql.Composed:
    return sql.SQL(
        "UPDATE {table} t SET migration = other.migration FROM ("
        " SELECT a.document_md5, min(a.migration) AS migration FROM attachment a"
        " WHERE a.tenant = %(tenant)s AND a.migration <> %(migration)s AND a.document_md5 IS NOT NULL"
        " GROUP BY a.document_md5) other"
        " WHERE {unstaged} AND t.migration = %(migration)s AND t.md5 = other.document_md5"
    ).format(table=sql.Identifier(table.name), unstaged=_unstaged(table))


def _unstaged(table: Table) -> sql.Composed:
    """Of a row `t`: it is in scope, and not staged."""
    return sql.SQL("{scope} AND NOT EXISTS (SELECT FROM {stage} s WHERE {match})").format(
        scope=_in_scope(table, "t"), stage=stage_name(table), match=_match(table, "t")
    )


def _twice(connection: Connection, table: Table) -> str:
    statement = sql.SQL(
        "SELECT {keys} FROM {stage} GROUP BY {keys} HAVING count(*) > 1 ORDER BY {keys}"
    ).format(keys=_names(table.key), stage=stage_name(table))
    return _named(["/".join(map(str, row)) for row in connection.execute(statement)])


def _dangling(connection: Connection, table: Table, target: Target) -> str:
    """Which staged rows name a row that is neither in the table referred to nor staged for it."""
    found = []
    for reference in table.references:
        statement = sql.SQL("SELECT {key} FROM {stage} s WHERE {dangling} ORDER BY {key}").format(
            key=_names(table.key), stage=stage_name(table), dangling=_names_nothing(reference)
        )
        ids = ["/".join(map(str, row)) for row in connection.execute(statement, target.parameters)]
        if ids:
            found.append(f"{'/'.join(reference.columns)} names no {reference.table} in rows {_named(ids)}")
    return "; ".join(found)


def _names_nothing(reference: Reference) -> sql.Composed:
    """Of a staged row `s`: its reference is set, and there is no such row, held or staged."""
    parent = BY_NAME[reference.table]
    match = sql.SQL(" AND ").join(
        sql.SQL("{} = {}").format(_of("p", key), _of("s", column))
        for key, column in zip(parent.key, reference.columns, strict=True)
    )
    return sql.SQL(
        "num_nulls({columns}) = 0"
        " AND NOT EXISTS (SELECT FROM {parent} p WHERE {scope} AND {match})"
        " AND NOT EXISTS (SELECT FROM {staged} p WHERE {match})"
    ).format(
        columns=sql.SQL(", ").join(_of("s", name) for name in reference.columns),
        parent=sql.Identifier(parent.name),
        scope=_in_scope(parent, "p"),
        staged=stage_name(parent),
        match=match,
    )


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - _NAMED_ROWS} more" if len(ids) > _NAMED_ROWS else ""
    return ", ".join(ids[:_NAMED_ROWS]) + more


def _count(connection: Connection, statement: sql.Composed, target: Target | None = None) -> int:
    row = connection.execute(statement, target.parameters if target else None).fetchone()
    return int(row[0]) if row else 0


def _of(alias: str, column: str) -> sql.Identifier:
    return sql.Identifier(alias, column)


def _names(columns: tuple[str, ...]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _in_scope(table: Table, alias: str) -> sql.Composed:
    return sql.SQL(" AND ").join(
        sql.SQL("{} = {}").format(_of(alias, name), sql.Placeholder(name)) for name in table.scope_columns
    )


def _match(table: Table, alias: str) -> sql.Composed:
    return sql.SQL(" AND ").join(
        sql.SQL("{} = {}").format(_of(alias, name), _of("s", name)) for name in table.key
    )


def _distinct(table: Table, left: str, right: str) -> sql.Composed:
    return sql.SQL("ROW({}) IS DISTINCT FROM ROW({})").format(
        sql.SQL(", ").join(_of(left, name) for name in table.values),
        sql.SQL(", ").join(_of(right, name) for name in table.values),
    )
