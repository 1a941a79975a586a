"""Take one migration's rows out again."""

from batch_pipeline.records.importing import open_transaction
from batch_pipeline.records.merge import remove_unstaged
from batch_pipeline.records.schema import migrate
from batch_pipeline.records.tables import TABLES
from batch_pipeline.records.target import Target, connect


def rollback(connection_url: str, target: Target) -> dict[str, int]:
    """Remove exactly the rows this migration first brought; return how many by table.

    It is the import of an empty workspace: nothing is staged, so everything of this migration goes.
    A file that another migration of the tenant holds too is handed over to it.

    Raises:
        OpenSums: rows of another migration name rows that would go; nothing was removed.
    """
    with connect(connection_url) as connection:
        migrate(connection, target.schema)
    with connect(connection_url) as connection:
        open_transaction(connection, target)
        return remove_unstaged(connection, target, TABLES)
