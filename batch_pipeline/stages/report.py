"""`cost_report`: tokens and money, from the usage the answers themselves report."""

from collections.abc import Mapping
from typing import Any

from batch_pipeline.costs.prices import Route
from batch_pipeline.costs.report import Usage, cost
from batch_pipeline.ledger import documents, migrations
from batch_pipeline.stages.context import Context

# in the order people read them; the ledger keeps no order
FIGURES = (
    "total_cost",
    "saved_by_batch_against_on-demand",
    "saved_by_dedup_(estimate)",
    "saved_by_prompt_cache",
    "tokens_never_sent_(estimate)",
    "per_document",
    *(
        f"{route}_{what}"
        for route in ("batch", "on_demand")
        for what in (
            "answers",
            "input_tokens",
            "output_tokens",
            "cached_input_tokens",
            "cache_written_tokens",
            "cost",
        )
    ),
    "price_source",
    "unknown",
)


def usage(context: Context) -> dict[Route, Usage]:
    """Tokens by route, over every answer that was paid."""
    rows = context.ledger.sql.execute(
        """
        select 'batch' as route, input_tokens, output_tokens, cached_tokens, cache_written_tokens from job_document
        where migration = %(key)s and outcome = 'answered'
        union all
        select 'on_demand', input_tokens, output_tokens, cached_tokens, cache_written_tokens from document
        where migration = %(key)s and answered_by_call is not null
        """,
        {"key": context.key},
    )
    sums: dict[Route, list[int]] = {}
    for row in rows:
        counted = sums.setdefault(row["route"], [0, 0, 0, 0, 0, 0])
        counted[0] += 1
        counted[1] += row["input_tokens"] or 0
        counted[2] += row["output_tokens"] or 0
        counted[3] += row["input_tokens"] is None or row["output_tokens"] is None
        counted[4] += row["cached_tokens"]
        counted[5] += row["cache_written_tokens"]
    return {route: Usage(*counted) for route, counted in sums.items()}


def cost_report(context: Context) -> Mapping[str, Any]:
    """Figures for people, kept in the ledger's report of the migration."""
    used = usage(context)
    asked = documents.settlement(context.ledger, context.key).total
    kept = migrations.report(context.ledger, context.key)
    references = kept.get("deduped_cvs", {}).get("cv_references", asked)
    report = cost(
        used,
        context.prices,
        documents=asked,
        references=references,
    )
    figures: dict[str, Any] = {}
    for route, counted in used.items():
        figures |= {
            f"{route}_answers": counted.answers,
            f"{route}_input_tokens": counted.input_tokens,
            f"{route}_output_tokens": counted.output_tokens,
            f"{route}_cached_input_tokens": counted.cached_tokens,
            f"{route}_cache_written_tokens": counted.cache_written_tokens,
            f"{route}_cost": _dollars(report.money[route]),
        }
    figures |= {
        "total_cost": _dollars(report.total),
        "saved_by_batch_against_on-demand": _dollars(report.saved_by_batch),
        "saved_by_dedup_(estimate)": _dollars(report.saved_by_dedup),
        "saved_by_prompt_cache": _dollars(report.saved_by_cache),
        "tokens_never_sent_(estimate)": _never_sent(used, asked, references),
        "per_document": _dollars(report.per_document),
        "price_source": report.price_source or "none known",
        "unknown": "; ".join([*report.unknown, *_not_counted(context)]) or "nothing",
    }
    migrations.keep_report(context.ledger, context.key, {"cost": figures})
    return figures


def _not_counted(context: Context) -> list[str]:
    if not context.batch_requests.cache_prompt:
        return []
    return ["what the calls cost that wrote the prompt to the cache before a batch (no CV, no answer)"]


def _never_sent(used: Mapping[Route, Usage], documents: int, references: int) -> int:
    """Input tokens of references that needed no request, by the mean of those that did."""
    sent = sum(counted.input_tokens for counted in used.values())
    return round(sent / documents * max(0, references - documents)) if documents else 0


def _dollars(amount: object) -> str:
    return "unknown" if amount is None else f"{amount} USD"
