"""One migration into PostgreSQL: everything in one transaction, or nothing."""

from dataclasses import asdict, dataclass
from typing import Any, Final

import psycopg
from psycopg import sql

from batch_pipeline.records.cleaning import Cleaned
from batch_pipeline.records.erased import Erased
from batch_pipeline.records.merge import TableCount, merge, remove_unstaged
from batch_pipeline.records.schema import migrate
from batch_pipeline.records.staging import Progress, create_stages, stage
from batch_pipeline.records.tables import TABLES
from batch_pipeline.records.target import Connection, Target, as_error_of, connect, lock
from batch_pipeline.workspace import Workspace

# Hash joins of a million rows stay in memory; compiled expressions never pay off in so few statements.
_SESSION: Final = ("SET LOCAL work_mem = '64MB'", "SET LOCAL jit = off")


@dataclass(frozen=True)
class ImportReport:
    """What an import did, by table; and what had to be taken out of values for PostgreSQL to hold them."""

    tables: dict[str, TableCount]
    cleaned: Cleaned

    @property
    def changed(self) -> int:
        """Rows written or removed: 0 for a rerun."""
        return sum(count.inserted + count.updated + count.removed for count in self.tables.values())

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def import_migration(
    connection_url: str, target: Target, workspace: Workspace, on_progress: Progress | None = None
) -> ImportReport:
    """Make the database hold this migration as its workspace does.

    Rows that are equal already are not touched, rows of this migration that the workspace no longer
    holds are removed. Two imports of one tenant wait for each other.

    Raises:
        TerminalError: a Parquet file is missing, a key stands twice, or a value cannot be stored.
        OpenSums: a row names another that does not exist, or the counts do not close.
        TransientError: the server went away; nothing was written.
    """
    with connect(connection_url) as connection:
        migrate(connection, target.schema)
    with connect(connection_url) as connection:
        open_transaction(connection, target)
        erased = Erased.of(workspace)
        cleaned = Cleaned()
        for table in TABLES:
            cleaned.add(stage(connection, table, workspace, erased, on_progress))
        merged = {table.name: merge(connection, table, target) for table in TABLES}
        removed = remove_unstaged(connection, target, TABLES)
        counts = {
            name: TableCount(**{**asdict(count), "removed": removed[name]}) for name, count in merged.items()
        }
        try:
            connection.commit()
        except psycopg.Error as error:
            raise as_error_of("(commit)", error) from None
    return ImportReport(counts, cleaned)


def open_transaction(connection: Connection, target: Target) -> None:
    """Wait for this tenant's turn and make the empty stages."""
    connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(target.schema)))
    for setting in _SESSION:
        connection.execute(setting.encode())
    lock(connection, target)
    create_stages(connection, TABLES)
