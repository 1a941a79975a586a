"""Taking a migration's rows out of the target again, and saying truly which rows those are."""

from dataclasses import dataclass

from batch_pipeline.errors import LedgerConflict, NeedsPerson, OpenSums, WayOut
from batch_pipeline.ledger import migrations
from batch_pipeline.records.rollback import rollback as remove_rows
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.load import target_of


@dataclass(frozen=True)
class RolledBack:
    """Rows removed by table; `keys` are the migrations they came with; `kept_changes` is how many rows of
    earlier migrations these ones had changed: those stay as they are, their former values are nowhere."""

    keys: tuple[str, ...]
    removed: dict[str, int]
    kept_changes: int


def rollback(context: Context, *, with_later: bool = False) -> RolledBack:
    """Remove the rows this migration brought; `with_later` those of every later one of its system too.

    Raises:
        LedgerConflict: the migration is not imported, or rolled back already; nothing was removed.
        NeedsPerson: a later migration holds the same rows, or an earlier one's rows name these; says the way.
    """
    ledger, key = context.ledger, context.key
    _require_imported(context)
    target = target_of(context)
    later = migrations.imported_later(ledger, key, target.source_system)
    if later and not with_later:
        raise NeedsPerson(
            f"migration {key}: {', '.join(later)} came later and may hold the same rows; nothing was removed",
            (
                WayOut(
                    f"take out the last one, {later[0]}, first",
                    "reading it again is paid again",
                    f"batch-pipeline rollback {later[0]}",
                ),
                WayOut(
                    f"take all {len(later) + 1} out at once",
                    "reading them again is paid again",
                    f"batch-pipeline rollback {key} --with-later",
                ),
            ),
        )
    url = context.settings.database_url.get_secret_value()
    try:
        removed = remove_rows(url, target, tuple(later))
    except OpenSums as error:
        raise _rested_on(context, target.source_system, str(error)) from None
    keys = (key, *later)
    kept = (
        sum(_changed_by(context, one) for one in keys)
        if migrations.imported_earlier(ledger, key, target.source_system)
        else 0
    )
    for one in keys:
        migrations.mark_rolled_back(ledger, one)
    return RolledBack(keys, removed, kept)


def _require_imported(context: Context) -> None:
    ledger, key = context.ledger, context.key
    at = migrations.rolled_back_at(ledger, key)
    if at is not None:
        raise LedgerConflict(f"migration {key} was rolled back at {at:%Y-%m-%d %H:%M} UTC already")
    if migrations.standing(ledger, key).state not in {"imported", "erased"}:
        raise LedgerConflict(
            f"migration {key} is not imported, so there is nothing to roll back: `batch-pipeline run {key}` brings "
            f"it to its end, `batch-pipeline cancel {key}` stops it"
        )


def _rested_on(context: Context, system: str, why: str) -> NeedsPerson:
    """Rows an earlier migration brought were moved onto rows of this one, and stay in its way."""
    earlier = migrations.imported_earlier(context.ledger, context.key, system)
    if not earlier:
        return NeedsPerson(f"migration {context.key}: {why}; nothing was removed")
    return NeedsPerson(
        f"migration {context.key}: rows of {', '.join(earlier)} name rows of it since it was imported ({why}); "
        "nothing was removed",
        (
            WayOut(
                f"take {earlier[0]} and everything after it out at once",
                "reading them again is paid again",
                f"batch-pipeline rollback {earlier[0]} --with-later",
            ),
        ),
    )


def _changed_by(context: Context, key: str) -> int:
    tables = migrations.report(context.ledger, key).get("imported_records", {})
    return sum(int(counts.get("updated", 0)) for counts in tables.values())
