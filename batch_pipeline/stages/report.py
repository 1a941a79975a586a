"""`cost_report`: tokens and money, from the usage the answers themselves report."""

from collections.abc import Mapping
from typing import Any

from batch_pipeline.costs.prices import Route
from batch_pipeline.costs.report import Usage, Used, cost
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


def used(context: Context) -> list[Used]:
    """What every model answered on every route: each paid answer, of use or not."""
    rows = context.ledger.sql.execute(
        """
        select tier, route, model, count(*)::integer as answers,
          coalesce(sum(input_tokens), 0)::bigint as input_tokens,
          coalesce(sum(output_tokens), 0)::bigint as output_tokens,
          sum(cached_tokens)::bigint as cached, sum(cache_written_tokens)::bigint as written,
          (count(*) filter (where input_tokens is null or output_tokens is null))::integer as without_usage
        from (
          select j.tier, 'batch' as route, j.model, d.input_tokens, d.output_tokens, d.cached_tokens,
            d.cache_written_tokens
          from job_document d join job j on j.id = d.job
          where d.migration = %(key)s and d.outcome = 'answered'
          union all
          select tier, 'on_demand', model, input_tokens, output_tokens, cached_tokens, cache_written_tokens
          from on_demand_call
          where migration = %(key)s and state = 'answered'
        ) answer group by tier, route, model order by tier, route, model
        """,
        {"key": context.key},
    )
    return [
        Used(
            row["route"],
            row["model"],
            Usage(
                row["answers"],
                row["input_tokens"],
                row["output_tokens"],
                row["without_usage"],
                row["cached"],
                row["written"],
            ),
            context.tiers[row["tier"]].price(row["route"], row["model"]),
            row["tier"],
        )
        for row in rows
    ]


def cost_report(context: Context) -> Mapping[str, Any]:
    """Figures for people, kept in the ledger's report of the migration; those of each model beside them."""
    asked = documents.settlement(context.ledger, context.key).total
    kept = migrations.report(context.ledger, context.key)
    references = kept.get("deduped_cvs", {}).get("cv_references", asked)
    report = cost(used(context), documents=asked, references=references)
    figures: dict[str, Any] = {}
    for route, counted in report.usage.items():
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
        "tokens_never_sent_(estimate)": _never_sent(report.usage, asked, references),
        "per_document": _dollars(report.per_document),
        "price_source": report.price_source or "none known",
        "unknown": "; ".join([*report.unknown, *_not_counted(context)]) or "nothing",
    }
    by_model = [
        {
            "model": one.model,
            "cascade": one.tier,
            "route": one.route,
            "answers": one.usage.answers,
            "input_tokens": one.usage.input_tokens,
            "output_tokens": one.usage.output_tokens,
            "cached_input_tokens": one.usage.cached_tokens,
            "cache_written_tokens": one.usage.cache_written_tokens,
            "cost": _dollars(amount),
        }
        for one, amount in report.by_model
    ]
    migrations.keep_report(context.ledger, context.key, {"cost": figures, "cost_by_model": by_model})
    return figures


def _not_counted(context: Context) -> list[str]:
    if not any(here.batch_requests.cache_prompt for here in context.tiers):
        return []
    return ["what the calls cost that wrote the prompt to the cache before a batch (no CV, no answer)"]


def _never_sent(used: Mapping[Route, Usage], documents: int, references: int) -> int:
    """Input tokens of references that needed no request, by the mean of those that did."""
    sent = sum(counted.input_tokens for counted in used.values())
    return round(sent / documents * max(0, references - documents)) if documents else 0


def _dollars(amount: object) -> str:
    return "unknown" if amount is None else f"{amount} USD"
