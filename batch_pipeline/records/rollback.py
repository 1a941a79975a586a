"""Take one migration's rows out again."""

from collections.abc import Sequence

from batch_pipeline.records.importing import open_transaction
from batch_pipeline.records.merge import remove_unstaged, take_over
from batch_pipeline.records.schema import migrate
from batch_pipeline.records.tables import TABLES
from batch_pipeline.records.target import Target, connect


def rollback(connection_url: str, target: Target, later: Sequence[str] = ()) -> dict[str, int]:
    """Remove exactly the rows this migration, and those in `later`, first brought; how many by table.

    It is the import of an empty workspace: nothing is staged, so everything of this migration goes.
    A file that another migration of the tenant holds too is handed over to it. Rows of later migrations
    may name rows of this one and the other way round, so they become this one's and go with it.

    Raises:
        OpenSums: rows of another migration name rows that would go; nothing was removed.
    """
    with connect(connection_url) as connection:
        migrate(connection, target.schema)
    with connect(connection_url) as connection:
        open_transaction(connection, target)
        for migration in later:
            take_over(connection, target, TABLES, migration)
        return remove_unstaged(connection, target, TABLES)
