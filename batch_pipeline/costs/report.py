"""Usage from the answers -> what a migration cost, and what batch and dedup saved.

Everything is counted from usage the provider reported. What was not reported, or has no known price,
is said to be unknown and is no zero: a sum with an unknown part is itself unknown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from batch_pipeline.costs.prices import Price, Route, rates

_MILLION: Final = Decimal(1_000_000)
_CENT_OF_CENT: Final = Decimal("0.0001")


@dataclass(frozen=True)
class Usage:
    """Tokens of one route. `answers_without_usage` are answers whose tokens nobody reported; cached and written
    tokens are part of the input tokens."""

    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    answers_without_usage: int = 0
    cached_tokens: int = 0
    cache_written_tokens: int = 0


@dataclass(frozen=True)
class CostReport:
    """Money is US dollars, rounded to a hundredth of a cent; None is unknown, and `unknown` says why."""

    usage: Mapping[Route, Usage]
    money: Mapping[Route, Decimal | None]
    total: Decimal | None
    saved_by_batch: Decimal | None  # against the same tokens on-demand
    saved_by_dedup: Decimal | None  # against asking once per reference, by the mean cost of a document
    saved_by_cache: Decimal | None  # against the same tokens read anew; below zero where writing cost more
    per_document: Decimal | None
    price_source: str | None
    unknown: tuple[str, ...]


def cost(
    usage: Mapping[Route, Usage],
    prices: Mapping[Route, Price | None],
    *,
    documents: int,
    references: int,
) -> CostReport:
    """The report of one migration. `documents` are distinct ones asked about, `references` the
    attachments that show them. `prices` holds the price of the model that answered on each route.

    Savings are estimates of what did not happen, made from what did: the same tokens at the
    on-demand rate, and the mean cost of a document for each reference that needed no request.
    """
    unknown = _unknown(usage, prices)
    money = {route: _money(used, prices[route], route) for route, used in usage.items()}
    total = _sum(money.values())
    on_demand = _sum(_money(used, prices[route], "on_demand") for route, used in usage.items())
    each = total / documents if total is not None and documents else None
    return CostReport(
        usage=dict(usage),
        money={route: _rounded(amount) for route, amount in money.items()},
        total=_rounded(total),
        saved_by_batch=None if total is None or on_demand is None else _rounded(on_demand - total),
        saved_by_dedup=None if each is None else _rounded(each * max(0, references - documents)),
        saved_by_cache=_rounded(_sum(_saved(used, prices[route], route) for route, used in usage.items())),
        per_document=_rounded(each),
        price_source=_source(prices),
        unknown=unknown,
    )


def _source(prices: Mapping[Route, Price | None]) -> str | None:
    known = sorted({f"{price.source} ({price.seen.isoformat()})" for price in prices.values() if price})
    return "; ".join(known) or None


def _unknown(usage: Mapping[Route, Usage], prices: Mapping[Route, Price | None]) -> tuple[str, ...]:
    notes = [
        f"{used.answers_without_usage} of {used.answers} {route} answers report no usage"
        for route, used in usage.items()
        if used.answers_without_usage
    ]
    price = prices["batch"]
    if any(used.answers and prices[route] is None for route, used in usage.items()):
        notes.append("the price table does not hold this model in this region")
    elif price is not None and price.batch_input is None and usage.get("batch", Usage()).answers:
        notes.append("the batch price of this model is unknown")
    if any(_cache_is_unpriced(used, prices[route]) for route, used in usage.items()):
        notes.append("the price of tokens in a prompt cache is unknown")
    return tuple(notes)


def _cache_is_unpriced(used: Usage, price: Price | None) -> bool:
    if price is None:
        return False
    read, written = price.cache_read is None, price.cache_write is None
    return bool((used.cached_tokens and read) or (used.cache_written_tokens and written))


def _money(used: Usage, price: Price | None, route: Route) -> Decimal | None:
    if not used.answers:
        return Decimal(0)
    saved = _saved(used, price, route)
    if price is None or used.answers_without_usage or saved is None:
        return None
    rate = rates(price, route)
    if rate["input"] is None or rate["output"] is None:
        return None
    return (used.input_tokens * rate["input"] + used.output_tokens * rate["output"]) / _MILLION - saved


def _saved(used: Usage, price: Price | None, route: Route) -> Decimal | None:
    """What reading from a prompt cache saved, less what writing to it cost more."""
    if not (used.cached_tokens or used.cache_written_tokens):
        return Decimal(0)
    if price is None or _cache_is_unpriced(used, price):
        return None
    rate = rates(price, route)["input"]
    if rate is None:
        return None
    read = used.cached_tokens * (1 - (price.cache_read or 0))
    written = used.cache_written_tokens * ((price.cache_write or 1) - 1)
    return (read - written) * rate / _MILLION


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _rounded(amount: Decimal | None) -> Decimal | None:
    return None if amount is None else amount.quantize(_CENT_OF_CENT, ROUND_HALF_EVEN)
