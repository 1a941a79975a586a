"""One connection to the ledger, and the locks that make one launcher out of many."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Any, Final, Self

import psycopg
from psycopg.rows import dict_row

from batch_pipeline.errors import ConfigurationError, TransientError
from batch_pipeline.ledger.schema import SCHEMA, migrate

_WRONG_ADDRESS: Final = re.compile(
    r"does not exist|authentication failed|no pg_hba\.conf entry|not permitted to log in|permission denied"
)


class LedgerConnection:
    """A session of its own in autocommit: each statement is durable when it returns.

    `transaction()` groups statements. Safe to use from one thread at a time.
    """

    def __init__(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        self.sql = connection

    @classmethod
    def open(cls, url: str, *, upgrade: bool = True) -> Self:
        """Connect; with `upgrade`, bring the ledger's schema to this code's version.

        Raises:
            ConfigurationError: the address is no PostgreSQL URL, or the server lets nobody in by it.
            TransientError: the server does not answer, or takes nobody now.
            LedgerConflict: a newer version of this program has used the ledger.
        """
        try:
            connection = psycopg.connect(
                url,
                autocommit=True,
                row_factory=dict_row,
                connect_timeout=10,
                application_name="batch_pipeline",
                options=f"-c search_path={SCHEMA} -c synchronous_commit=on -c client_min_messages=warning",
            )
        except psycopg.OperationalError as error:
            raise _not_connected(error) from None
        except psycopg.ProgrammingError:
            raise ConfigurationError(
                "DATABASE_URL", "(hidden)", "give postgresql://user@host/database"
            ) from None
        if upgrade:
            try:
                migrate(connection)
            except BaseException:
                connection.close()
                raise
        return cls(connection)

    @contextmanager
    def exclusive(self, what: str, wait: timedelta | None = None) -> Iterator[None]:
        """Hold the lock named `what` across processes and machines; a dead holder frees it.

        Raises:
            TransientError: somebody else held it longer than `wait`.
        """
        milliseconds = int(wait.total_seconds() * 1000) if wait else 0
        self.sql.execute("select set_config('lock_timeout', %s, false)", (f"{milliseconds}ms",))
        try:
            self.sql.execute("select pg_advisory_lock(hashtextextended(%s, 0))", (f"batch_pipeline:{what}",))
        except psycopg.errors.LockNotAvailable:
            raise TransientError(f"another process is working on {what}; try again when it is done") from None
        finally:
            self.sql.execute("select set_config('lock_timeout', '0', false)")
        try:
            yield
        finally:
            self.sql.execute(
                "select pg_advisory_unlock(hashtextextended(%s, 0))", (f"batch_pipeline:{what}",)
            )

    def transaction(self) -> AbstractContextManager[psycopg.Transaction]:
        return self.sql.transaction()

    def close(self) -> None:
        self.sql.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _not_connected(error: psycopg.OperationalError) -> ConfigurationError | TransientError:
    """A server that answered and refused is running; libpq gives no code, only its words."""
    reasons = _without_secrets(error)
    if "FATAL: " not in reasons:
        return TransientError(
            f"PostgreSQL does not answer: {reasons}. Is it running, and is DATABASE_URL its address?"
        )
    refused = reasons.rpartition("FATAL: ")[2].strip()
    if _WRONG_ADDRESS.search(refused):
        return ConfigurationError(
            "DATABASE_URL",
            "(hidden)",
            f"PostgreSQL answers and refuses it: {refused}. Give a role, password and database it knows",
        )
    return TransientError(f"PostgreSQL answers and takes no connection now: {refused}")


def _without_secrets(error: Exception) -> str:
    """libpq's reasons, one for each address it tried, without what it quotes: a host, or a whole URL."""
    lines = str(error).strip().splitlines()
    failed = [line.rpartition("failed: ")[2] for line in lines if "failed: " in line] or lines[:1]
    reasons = dict.fromkeys(re.sub(r'"[^"]*"', '"..."', reason).strip() for reason in failed)
    return "; ".join(reasons)
