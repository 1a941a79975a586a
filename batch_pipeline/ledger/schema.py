"""The ledger's own schema and its versions: migrated forward, never reset."""

from importlib.resources import files
from typing import Any, Final

import psycopg
from psycopg import sql

from batch_pipeline.errors import LedgerConflict

SCHEMA: Final = "batch_ledger"
_LOCK: Final = 0x62_70_6C_65_64  # one process migrates the schema at a time


def versions() -> list[tuple[str, str]]:
    """(name, SQL) of every version, in order."""
    folder = files("batch_pipeline.ledger") / "versions"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(name.removesuffix(".sql"), (folder / name).read_text()) for name in names]


def migrate(connection: psycopg.Connection[dict[str, Any]]) -> list[str]:
    """Bring the ledger to this code's version; return the versions that were applied.

    Every version runs in the same transaction as the note that it ran.

    Raises:
        LedgerConflict: a newer version of this program has used the ledger.
    """
    applied = []
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(SCHEMA)))
        connection.execute(sql.SQL("set local search_path to {}").format(sql.Identifier(SCHEMA)))
        connection.execute(
            "create table if not exists schema_version "
            "(name text primary key, applied_at timestamptz not null default now())"
        )
        known = {row["name"] for row in connection.execute("select name from schema_version")}
        ours = versions()
        if newer := known - {name for name, _ in ours}:
            raise LedgerConflict(
                f"the ledger's schema is newer than this program ({', '.join(sorted(newer))}): upgrade the program"
            )
        for name, statements in ours:
            if name in known:
                continue
            connection.execute(statements.encode())
            connection.execute("insert into schema_version (name) values (%s)", (name,))
            applied.append(name)
    return applied
