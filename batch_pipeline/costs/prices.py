"""What a token costs, by provider, model, region prefix and route: dated, with its source, unknown where unknown.

The figures are data to be renewed, not a promise: a report says which source and date it used, and a
model that is not here has no price, never a guessed one. A test compares the rates with a public price
library. They are those of the provider itself: what another server of its protocol asks is not known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, Literal

from batch_pipeline.provider_settings import Kind

Route = Literal["batch", "on_demand"]


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens. `region` is a profile prefix of Bedrock ("us", "global"), else "".

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
    kind: Kind = "bedrock"
    # What a token read from a prompt cache, or written to one for an hour, costs as a part of an input token's
    # price on the same route. None is unknown.
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


def _half_in_batch(model: str, region: str, used_in: str, used_out: str, source: str, seen: date) -> Price:
    one_in, one_out = Decimal(used_in), Decimal(used_out)
    return Price(model, region, one_in, one_out, one_in / 2, one_out / 2, source, seen)


def _listed(
    kind: Kind,
    model: str,
    used_in: str,
    used_out: str,
    *,
    halved: bool = True,
    cache: tuple[str | None, str | None] = (None, None),
) -> Price:
    """Rates of a provider that sells its own models; `halved`: the public data has a batch price, and it is
    half. Where it has none it gives the on-demand price again, which is no batch price. `cache`: read, written."""
    one_in, one_out = Decimal(used_in), Decimal(used_out)
    batch_in, batch_out = (one_in / 2, one_out / 2) if halved else (None, None)
    read, written = (None if part is None else Decimal(part) for part in cache)
    return Price(
        model,
        "",
        one_in,
        one_out,
        batch_in,
        batch_out,
        "genai-prices 0.2.3",
        _SEEN,
        kind,
        cache_read=read,
        cache_write=written,
    )


# Anthropic: a tenth to read, twice to write for an hour. OpenAI caches by itself and bills no writing; where the
# part is another one in batch (gpt-4.1-mini, gpt-4o-mini) it is left unknown.
_ANTHROPIC: Final = ("0.1", "2")
_OPENAI: Final = ("0.1", None)


_PUBLIC: Final = "genai-prices 0.2.3; batch at 50 % by contracts/bedrock.md section 2.2"
_SEEN: Final = date(2026, 11, 30)
# Profiles of one continent cost the same; the public data calls them "regional".
_GEOGRAPHIES: Final = ("us", "eu", "apac", "au", "jp")

PRICES: Final[tuple[Price, ...]] = (
    _half_in_batch("amazon.nova-2-lite", "global", "0.30", "2.50", _PUBLIC, _SEEN),
    _half_in_batch("amazon.nova-micro", "", "0.035", "0.14", _PUBLIC, _SEEN),
    _half_in_batch("amazon.nova-lite", "", "0.06", "0.24", _PUBLIC, _SEEN),
    _half_in_batch("amazon.nova-pro", "", "0.80", "3.20", _PUBLIC, _SEEN),
    _half_in_batch("anthropic.claude-3-haiku", "", "0.25", "1.25", _PUBLIC, _SEEN),
    _half_in_batch("anthropic.claude-haiku-4-5", "global", "1.00", "5.00", _PUBLIC, _SEEN),
    _half_in_batch("anthropic.claude-sonnet-4-5", "global", "3.00", "15.00", _PUBLIC, _SEEN),
    # A field report gives these batch rates (contracts/bedrock.md section 2.2), less than half of on-demand.
    Price(
        "amazon.nova-2-lite",
        "us",
        Decimal("0.33"),
        Decimal("2.75"),
        Decimal("0.1595"),
        Decimal("1.3255"),
        "genai-prices 0.2.3; batch by contracts/bedrock.md section 2.2 (field report)",
        _SEEN,
    ),
    *(
        _half_in_batch(model, geography, used_in, used_out, _PUBLIC, _SEEN)
        for geography in _GEOGRAPHIES
        for model, used_in, used_out in (
            ("anthropic.claude-haiku-4-5", "1.10", "5.50"),
            ("anthropic.claude-sonnet-4-5", "3.30", "16.50"),
        )
    ),
    _listed("openai", "gpt-5", "1.25", "10.00", cache=_OPENAI),
    _listed("openai", "gpt-5-mini", "0.25", "2.00", cache=_OPENAI),
    _listed("openai", "gpt-5-nano", "0.05", "0.40", cache=_OPENAI),
    _listed("openai", "gpt-5.4-mini", "0.75", "4.50", cache=_OPENAI),
    _listed("openai", "gpt-5.5", "5.00", "30.00", cache=_OPENAI),
    _listed("openai", "gpt-4.1-mini", "0.40", "1.60"),
    _listed("openai", "gpt-4o-mini", "0.15", "0.60"),
    _listed("anthropic", "claude-haiku-4-5", "1.00", "5.00", cache=_ANTHROPIC),
    _listed("anthropic", "claude-sonnet-4-5", "3.00", "15.00", cache=_ANTHROPIC),
    _listed("anthropic", "claude-sonnet-5", "2.00", "10.00", cache=_ANTHROPIC),
    _listed("anthropic", "claude-opus-5", "5.00", "25.00", cache=_ANTHROPIC),
    _listed("gemini", "gemini-2.5-flash-lite", "0.10", "0.40"),
    _listed("gemini", "gemini-2.5-flash", "0.30", "2.50"),
    _listed("gemini", "gemini-3.1-flash-lite", "0.25", "1.50"),
    _listed("gemini", "gemini-3.5-flash", "1.50", "9.00", halved=False),
    # the public data has one price for both of Google's services; Claude's on Vertex depends on the region
    _listed("vertex", "gemini-2.5-flash-lite", "0.10", "0.40"),
    _listed("vertex", "gemini-2.5-flash", "0.30", "2.50"),
    _listed("vertex", "gemini-3.1-flash-lite", "0.25", "1.50"),
    _listed("vertex", "gemini-3.5-flash", "1.50", "9.00", halved=False),
)


def price_of(model_id: str, kind: Kind = "bedrock") -> Price | None:
    """The price of a bare or profile id, or None where the table does not hold that very region.

    Global and geographic profiles of one model cost differently, so none stands in for another.
    """
    head, _, rest = model_id.partition(".")
    region, model = (head, rest) if kind == "bedrock" and _is_region(head) else ("", model_id)
    found = [
        price
        for price in PRICES
        if (price.kind, price.region) == (kind, region) and _names(model, price.model)
    ]
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
