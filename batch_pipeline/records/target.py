"""Where a migration's rows go, and the connection they go over."""

from dataclasses import dataclass
from typing import Any

import psycopg

from batch_pipeline.errors import BatchPipelineError, TerminalError, TransientError

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True)
class Target:
    """A tenant's place in the database, and the migration that writes there."""

    tenant: str
    source_system: str
    migration: str
    schema: str = "recruiting"

    @property
    def parameters(self) -> dict[str, str]:
        """Values of the placeholders every statement of this room uses."""
        return {
            "tenant": self.tenant,
            "source_system": self.source_system,
            "migration": self.migration,
        }


def connect(url: str) -> Connection:
    """A connection that keeps one transaction open until it is committed.

    Raises:
        TransientError: the server cannot be reached now.
    """
    try:
        return psycopg.connect(url, client_encoding="utf8", options="-c timezone=UTC")
    except psycopg.OperationalError as error:
        raise TransientError(f"PostgreSQL cannot be reached: {type(error).__name__}") from error


def lock(connection: Connection, target: Target) -> None:
    """One writer of a tenant's records at a time, until the transaction ends."""
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('records ' || %s || ' ' || %s, 0))",
        (target.schema, target.tenant),
    )


def as_error_of(table: str, error: psycopg.Error) -> BatchPipelineError:
    """The server's error without its values: its text may quote a row."""
    where = error.diag.column_name or error.diag.constraint_name or "unnamed column"
    message = f"table {table} ({where}): {type(error).__name__}, SQLSTATE {error.sqlstate}"
    lost = isinstance(error, psycopg.OperationalError) and not isinstance(error, psycopg.errors.DiskFull)
    return TransientError(message) if lost else TerminalError(message)
