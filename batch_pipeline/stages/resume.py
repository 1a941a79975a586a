"""Going on with a paused, cancelled or held migration."""

from batch_pipeline.errors import LedgerConflict
from batch_pipeline.ledger import documents, migrations
from batch_pipeline.stages.context import Context


def resume(context: Context, *, retry_failed: bool) -> int:
    """Release the migration; return how many failed documents are owed again.

    Raises:
        LedgerConflict: the migration is imported or erased, so there is nothing to go on with.
    """
    ledger, key = context.ledger, context.key
    state = migrations.standing(ledger, key).state
    if state in {"imported", "erased"}:
        raise LedgerConflict(
            f"migration {key} is at its end ({state}): there is nothing to resume. A later export of the same "
            "customer is a migration of its own"
        )
    again = documents.retry_failed(ledger, key) if retry_failed else 0
    if state in {"paused", "cancelled"}:
        migrations.set_state(ledger, key, "open")
    migrations.release(ledger, key)
    return again
