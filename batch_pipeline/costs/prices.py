"""What a token costs, by model, region prefix and route: dated, with its source, unknown where unknown.

The figures are those of the contracts and of public list prices as they were well known at the date
given. They are data to be renewed, not a promise: a report says which date it used, and a model that
is not here has no price, never a guessed one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, Literal

Route = Literal["batch", "on_demand"]


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens. `region` is a profile prefix ("us", "global") or "" for a bare id.

    A batch price of None is unknown: half of on-demand holds for supported models only.
    """

    model: str
    region: str
    on_demand_input: Decimal
    on_demand_output: Decimal
    batch_input: Decimal | None
    batch_output: Decimal | None
    source: str
    seen: date


def _half_in_batch(model: str, region: str, used_in: str, used_out: str, source: str, seen: date) -> Price:
    one_in, one_out = Decimal(used_in), Decimal(used_out)
    return Price(model, region, one_in, one_out, one_in / 2, one_out / 2, source, seen)


_CONTRACT: Final = "contracts/bedrock.md section 2.2 (field report); batch at 50 % by the same section"
_LIST: Final = "public list price for this profile; batch at 50 % by contracts/bedrock.md section 2.2"
_SEEN: Final = date(2026, 11, 30)
_KNOWN: Final = date(2025, 10, 31)

PRICES: Final[tuple[Price, ...]] = (
    _half_in_batch("amazon.nova-2-lite", "global", "0.15", "1.25", _CONTRACT, _SEEN),
    _half_in_batch("amazon.nova-2-lite", "us", "0.1595", "1.3255", _CONTRACT, _SEEN),
    _half_in_batch("amazon.nova-micro", "us", "0.035", "0.14", _LIST, _KNOWN),
    _half_in_batch("amazon.nova-lite", "us", "0.06", "0.24", _LIST, _KNOWN),
    _half_in_batch("amazon.nova-pro", "us", "0.80", "3.20", _LIST, _KNOWN),
    _half_in_batch("anthropic.claude-haiku-4-5", "global", "1.00", "5.00", _LIST, _KNOWN),
    _half_in_batch("anthropic.claude-sonnet-4-5", "global", "3.00", "15.00", _LIST, _KNOWN),
)


def price_of(model_id: str, table: tuple[Price, ...] = PRICES) -> Price | None:
    """The price of a bare or profile id, or None where the table does not hold that very region.

    Global and geographic profiles of one model cost differently, so none stands in for another.
    """
    head, _, rest = model_id.partition(".")
    region, model = (head, rest) if _is_region(head) else ("", model_id)
    found = [price for price in table if price.region == region and _names(model, price.model)]
    return max(found, key=lambda price: len(price.model), default=None)


_REGIONS: Final = frozenset({"us", "us-gov", "eu", "apac", "au", "jp", "ca", "sa", "global"})


def _is_region(head: str) -> bool:
    return head in _REGIONS


def _names(model: str, prefix: str) -> bool:
    """`prefix` itself or a dated version of it: nova-lite is no price of nova-lite-2."""
    rest = model.removeprefix(prefix)
    return rest != model and (not rest or rest.startswith(("-v", "-20", ":")))


def rates(price: Price, route: Route) -> Mapping[str, Decimal | None]:
    """Input and output rate of a route."""
    if route == "batch":
        return {"input": price.batch_input, "output": price.batch_output}
    return {"input": price.on_demand_input, "output": price.on_demand_output}
