"""From one model of a cascade to the next: what its answers, once parsed, do not hold.

Between parsing and the import. An answer that cannot be used and a request the provider refused for what it
says go on; what the model says about the document itself (no CV, unreadable) is an answer and stays.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from batch_pipeline.answers.classify import BAD_INPUT
from batch_pipeline.errors import NeedsPerson, WayOut
from batch_pipeline.ledger import escalation, migrations
from batch_pipeline.ledger.escalation import Unusable
from batch_pipeline.stages.context import Context

# So many documents, and not one answer of use: the model or its settings are wrong, and the next one costs more.
_MOST_IN_VAIN = 20


def escalate(context: Context) -> Mapping[str, int]:
    """Owe to the next model what the last parse shows to be of no use; safe to repeat.

    Call after `parse`, with no document owed or under way. Nothing is changed where no model is left.

    Returns:
        How many documents went on, by the model they are owed to now.

    Raises:
        NeedsPerson: the first model answered nothing of use at all; asked once.
    """
    last = len(context.migration.cascade)
    if not last:
        return {}
    rising = _rising(context, last)
    _stop_where_the_first_model_is_of_no_use(context, rising)
    risen = escalation.escalate(context.ledger, context.key, rising, last)
    if risen:
        migrations.progressed(context.ledger, context.key)
    by_model: Counter[str] = Counter()
    for tier, count in risen.items():
        by_model[context.tiers[tier].migration.provider.model] += count
    return by_model


def _rising(context: Context, last: int) -> list[Unusable]:
    failed = (
        pl.scan_parquet(context.workspace.parsed / "*.parquet")
        .filter(pl.col("status") == "failed")
        .join(
            pl.scan_parquet(context.workspace.documents).select("record_id", "needs_vision"), on="record_id"
        )
        .select("record_id", "model", "reason", "needs_vision")
        .collect()
    )
    refused_otherwise = {
        row["record_id"]
        for row in context.ledger.sql.execute(
            "select record_id from document where migration = %s and (tier >= %s or (state = 'failed' "
            "and (error_code is null or error_code <> all(%s))))",
            (context.key, last, list(BAD_INPUT)),
        )
    }
    return [
        Unusable(record_id, model, reason, "on_demand" if needs_vision else "batch")
        for record_id, model, reason, needs_vision in failed.iter_rows()
        if context.task.is_of_the_model(reason) and record_id not in refused_otherwise
    ]


def _stop_where_the_first_model_is_of_no_use(context: Context, rising: Sequence[Unusable]) -> None:
    rows = context.ledger.sql.execute(
        "select record_id from document where migration = %s and tier = 0 and withdrawn_at is null",
        (context.key,),
    )
    asked = {row["record_id"] for row in rows}
    in_vain = [one for one in rising if one.record_id in asked]
    if len(in_vain) < max(_MOST_IN_VAIN, len(asked)):
        return
    reasons = Counter(one.reason for one in in_vain)
    said = ", ".join(f"{count} x {reason}" for reason, count in sorted(reasons.items()))
    following = context.tiers[1].migration.provider.model
    why = (
        f"none of {len(in_vain)} answers of {context.migration.provider.model} could be used ({said}); "
        f"nothing was sent to {following}"
    )
    if migrations.hold_once(context.ledger, context.key, "the first model is of no use", why):
        raise NeedsPerson(
            f"migration {context.key}: {why}",
            (
                WayOut(
                    f"ask {following} about all of them",
                    f"{len(in_vain)} documents are paid at its price",
                    f"batch-pipeline resume {context.key}",
                ),
            ),
        )
