"""What a migration will come to, from the requests as they would be sent. Nothing is sent."""

from decimal import Decimal
from typing import Any

from batch_pipeline.costs.prices import rates
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.dedup import dedup
from batch_pipeline.stages.raw import read_raw
from batch_pipeline.stages.shards import write_plan

# Measured on our own prompt and answers: UTF-8 bytes per token of CV text, and tokens of one answer.
_BYTES_PER_TOKEN = 3
_ANSWER_TOKENS = 900


def estimate(context: Context) -> dict[str, Any]:
    """Counts are exact; tokens and money are estimates and say so."""
    with context.ledger.exclusive(f"files of {context.key}"):
        read_raw(context)
        deduped = dedup(context)
        made = write_plan(context)
    batch = made.lines.height - len(made.left)
    tokens = made.bytes // _BYTES_PER_TOKEN
    answers = batch * _ANSWER_TOKENS
    figures: dict[str, Any] = {
        "references": deduped.references,
        "distinct CVs": made.cvs.height + made.reused,
        "read before or of a text asked about already, not sent": made.reused,
        "by batch": batch,
        "on demand": made.cvs.height - batch,
        "jobs": len(made.shards),
        "bytes to upload": made.bytes,
        "input tokens of batch, estimated": tokens,
        "output tokens of batch, estimated": answers,
    }
    price = context.price("batch", context.migration.provider.model)
    figures |= _of_the_cascade(context, tokens / batch if batch else 0)
    if price is None:
        return {**figures, "cost, estimated": "unknown: the price table does not hold this model"}
    rate = rates(price, "batch")
    if rate["input"] is None or rate["output"] is None:
        return {**figures, "cost, estimated": "unknown: no batch price of this model is known"}
    cost = (tokens * rate["input"] + answers * rate["output"]) / Decimal(1_000_000)
    return {**figures, "cost of batch, estimated": f"{cost:.2f} USD ({price.source}, {price.seen})"}


def _of_the_cascade(context: Context, tokens: float) -> dict[str, Any]:
    """How many go on nobody knows; what each of them costs at a later model can be said."""
    said = {}
    for here in context.tiers[1:]:
        model = here.migration.provider.model
        price = here.price("batch", model)
        rate = rates(price, "batch") if price else {"input": None, "output": None}
        if rate["input"] is None or rate["output"] is None:
            each = "unknown"
        else:
            dollars = (Decimal(tokens) * rate["input"] + _ANSWER_TOKENS * rate["output"]) / Decimal(1_000_000)
            each = f"{dollars:.4f} USD"
        said[f"each CV that goes on to {model} in batch, estimated"] = each
    return said
