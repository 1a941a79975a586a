"""Usage from the answers -> what a migration cost, and what batch and dedup saved.

Everything is counted from usage the provider reported. What was not reported, or has no known price,
is said to be unknown and is no zero: a sum with an unknown part is itself unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import groupby
from typing import Final

from batch_pipeline.costs.prices import Price, Route, rates

_MILLION: Final = Decimal(1_000_000)
_CENT_OF_CENT: Final = Decimal("0.0001")


@dataclass(frozen=True)
class Usage:
    """Tokens of some answers. `answers_without_usage` are answers whose tokens nobody reported; cached and
    written tokens are part of the input tokens."""

    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    answers_without_usage: int = 0
    cached_tokens: int = 0
    cache_written_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.answers + other.answers,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.answers_without_usage + other.answers_without_usage,
            self.cached_tokens + other.cached_tokens,
            self.cache_written_tokens + other.cache_written_tokens,
        )


@dataclass(frozen=True)
class Used:
    """What one model answered on one route, usable or not, and what it costs there."""

    route: Route
    model: str
    usage: Usage
    price: Price | None
    tier: int = 0  # of a cascade: one model may stand at several

    def money(self, route: Route) -> Decimal | None:
        """What these tokens cost at the rate of a route; None is unknown."""
        used = self.usage
        if not used.answers:
            return Decimal(0)
        saved = self.saved_by_cache(route)
        if self.price is None or used.answers_without_usage or saved is None:
            return None
        rate = rates(self.price, route)
        if rate["input"] is None or rate["output"] is None:
            return None
        return (used.input_tokens * rate["input"] + used.output_tokens * rate["output"]) / _MILLION - saved

    def saved_by_cache(self, route: Route) -> Decimal | None:
        """What reading from a prompt cache saved, less what writing to it cost more."""
        used, price = self.usage, self.price
        if not (used.cached_tokens or used.cache_written_tokens):
            return Decimal(0)
        if price is None or self.cache_is_unpriced:
            return None
        rate = rates(price, route)["input"]
        if rate is None:
            return None
        read = used.cached_tokens * (1 - (price.cache_read or 0))
        written = used.cache_written_tokens * ((price.cache_write or 1) - 1)
        return (read - written) * rate / _MILLION

    @property
    def cache_is_unpriced(self) -> bool:
        """Whether the model's price is known and that of its cached tokens is not."""
        used, price = self.usage, self.price
        if price is None:
            return False
        return bool(
            (used.cached_tokens and price.cache_read is None)
            or (used.cache_written_tokens and price.cache_write is None)
        )


@dataclass(frozen=True)
class CostReport:
    """Money is US dollars, rounded to a hundredth of a cent; None is unknown, and `unknown` says why."""

    usage: Mapping[Route, Usage]
    money: Mapping[Route, Decimal | None]
    by_model: Sequence[tuple[Used, Decimal | None]]
    total: Decimal | None
    saved_by_batch: Decimal | None  # against the same tokens on-demand
    saved_by_dedup: Decimal | None  # against asking once per reference, by the mean cost of a document
    saved_by_cache: Decimal | None  # against the same tokens read anew; below zero where writing cost more
    per_document: Decimal | None
    price_source: str | None
    unknown: tuple[str, ...]


def cost(every: Iterable[Used], *, documents: int, references: int) -> CostReport:
    """The report of one migration: everything its models answered. `documents` are distinct ones asked about,
    `references` the attachments that show them.

    Savings are estimates of what did not happen, made from what did: the same tokens at the
    on-demand rate, and the mean cost of a document for each reference that needed no request.
    """
    used = sorted(every, key=lambda one: (one.route, one.tier, one.model))
    by_route = {route: tuple(group) for route, group in groupby(used, key=lambda one: one.route)}
    money = {route: _sum(one.money(route) for one in group) for route, group in by_route.items()}
    total = _sum(money.values())
    on_demand = _sum(one.money("on_demand") for one in used)
    each = total / documents if total is not None and documents else None
    return CostReport(
        usage={route: sum((one.usage for one in group), Usage()) for route, group in by_route.items()},
        money={route: _rounded(amount) for route, amount in money.items()},
        by_model=[(one, _rounded(one.money(one.route))) for one in used],
        total=_rounded(total),
        saved_by_batch=None if total is None or on_demand is None else _rounded(on_demand - total),
        saved_by_dedup=None if each is None else _rounded(each * max(0, references - documents)),
        saved_by_cache=_rounded(_sum(one.saved_by_cache(one.route) for one in used)),
        per_document=_rounded(each),
        price_source=_source(used),
        unknown=_unknown(used),
    )


def _source(used: Sequence[Used]) -> str | None:
    prices = (one.price for one in used)
    known = sorted({f"{price.source} ({price.seen.isoformat()})" for price in prices if price})
    return "; ".join(known) or None


def _unknown(used: Sequence[Used]) -> tuple[str, ...]:
    several = len({one.model for one in used}) > 1
    notes = []
    for one in used:
        model = one.model if several else "this model"
        if one.usage.answers_without_usage:
            by = f" by {one.model}" if several else ""
            notes.append(
                f"{one.usage.answers_without_usage} of {one.usage.answers} {one.route} answers{by} report no usage"
            )
        if one.usage.answers and one.price is None:
            notes.append(f"the price table does not hold {model} in this region")
        elif one.usage.answers and one.route == "batch" and one.price and one.price.batch_input is None:
            notes.append(f"the batch price of {model} is unknown")
        if one.cache_is_unpriced:
            notes.append(
                f"the price of tokens in a prompt cache{f' of {one.model}' if several else ''} is unknown"
            )
    return tuple(dict.fromkeys(notes))


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _rounded(amount: Decimal | None) -> Decimal | None:
    return None if amount is None else amount.quantize(_CENT_OF_CENT, ROUND_HALF_EVEN)
