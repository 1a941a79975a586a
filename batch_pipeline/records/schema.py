"""The database schema: SQL files applied once each, in the order of their names."""

from pathlib import Path
from typing import Final

from psycopg import sql

from batch_pipeline.records.target import Connection

FOLDER: Final = Path(__file__).parent / "migrations"


def names() -> list[str]:
    """Every migration of the schema, oldest first."""
    return sorted(path.stem for path in FOLDER.glob("m*.sql"))


def migrate(connection: Connection, schema: str) -> list[str]:
    """Bring the schema up to date inside the caller's transaction; return what was applied.

    Two that start together wait for each other; the second applies nothing.
    """
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('records schema ' || %s, 0))", (schema,)
    )
    name = sql.Identifier(schema)
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
    connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(name))
    connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_migration"
        " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    applied = {row[0] for row in connection.execute("SELECT name FROM schema_migration")}
    missing = [migration for migration in names() if migration not in applied]
    for migration in missing:
        connection.execute((FOLDER / f"{migration}.sql").read_bytes())
        connection.execute("INSERT INTO schema_migration (name) VALUES (%s)", (migration,))
    return missing
