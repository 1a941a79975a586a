"""Money from reported usage: exact where known, unknown where not, never zero for unknown."""

from dataclasses import replace
from decimal import Decimal

import pytest
from genai_prices import Usage as Asked
from genai_prices import calc_price, data
from genai_prices.types import ModelPrice

from batch_pipeline.costs.prices import PRICES, Price, price_of
from batch_pipeline.costs.report import Usage, Used, cost

HAIKU = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
BATCH = Usage(answers=1_000, input_tokens=2_000_000, output_tokens=1_000_000)


def batch(usage: Usage = BATCH, model: str = HAIKU) -> Used:
    return Used("batch", model, usage, price_of(model))


def on_demand(usage: Usage, model: str = HAIKU) -> Used:
    return Used("on_demand", model, usage, price_of(model))


def test_each_route_costs_what_its_own_model_costs() -> None:
    ten = replace(BATCH, answers=10)
    sonnet = "global.anthropic.claude-sonnet-4-5-20250929-v1:0"
    found = cost([batch(), on_demand(ten, sonnet)], documents=1_010, references=1_010)
    assert found.money == {"batch": Decimal("3.5000"), "on_demand": Decimal("21.0000")}
    unknown = cost([batch(), on_demand(ten, "us.moonshot.kimi-k3-v1:0")], documents=1_010, references=1_010)
    assert unknown.total is None
    assert unknown.unknown == ("the price table does not hold us.moonshot.kimi-k3-v1:0 in this region",)


def test_models_of_a_cascade_are_counted_apart_and_summed_by_route() -> None:
    lite = "amazon.nova-lite-v1:0"
    few = Usage(answers=100, input_tokens=200_000, output_tokens=100_000)
    found = cost([batch(few), batch(BATCH, lite)], documents=1_000, references=1_000)
    assert [(one.model, amount) for one, amount in found.by_model] == [
        (lite, Decimal("0.1800")),
        (HAIKU, Decimal("0.3500")),
    ]
    assert found.usage == {"batch": Usage(1_100, 2_200_000, 1_100_000)}
    assert found.money == {"batch": Decimal("0.5300")}
    assert found.total == Decimal("0.5300")
    unpriced = cost([batch(few, "us.moonshot.kimi-k3-v1:0"), batch()], documents=1_000, references=1_000)
    assert dict(unpriced.money) == {"batch": None}
    assert [amount for _, amount in unpriced.by_model] == [Decimal("3.5000"), None]


def test_batch_costs_half_and_the_report_says_what_it_saved() -> None:
    single = Usage(answers=10, input_tokens=20_000, output_tokens=10_000)
    found = cost([batch(), on_demand(single)], documents=1_010, references=2_020)
    assert found.money == {"batch": Decimal("3.5000"), "on_demand": Decimal("0.0700")}
    assert found.total == Decimal("3.5700")
    assert found.saved_by_batch == Decimal("3.5000")
    assert found.saved_by_dedup == Decimal("3.5700")
    assert found.unknown == ()
    assert found.price_source


def test_answers_without_usage_make_the_money_unknown_and_never_zero() -> None:
    """F28."""
    found = cost([batch(replace(BATCH, answers_without_usage=3))], documents=1_000, references=1_000)
    assert found.money == {"batch": None}
    assert found.total is None
    assert found.saved_by_batch is None
    assert found.unknown == ("3 of 1000 batch answers report no usage",)


def test_a_model_without_a_price_has_tokens_and_no_money() -> None:
    found = cost([batch(BATCH, "us.moonshot.kimi-k3-v1:0")], documents=1_000, references=1_000)
    assert found.usage["batch"].input_tokens == 2_000_000
    assert found.total is None
    assert found.unknown == ("the price table does not hold this model in this region",)


def test_an_unknown_batch_price_is_not_half_of_on_demand() -> None:
    known = price_of(HAIKU)
    assert known is not None
    price = replace(known, batch_input=None, batch_output=None)
    found = cost([replace(batch(), price=price)], documents=1_000, references=1_000)
    assert found.total is None
    assert found.unknown == ("the batch price of this model is unknown",)


CACHED = replace(BATCH, cached_tokens=1_000_000, cache_written_tokens=500_000)


def test_cached_tokens_have_prices_of_their_own() -> None:
    """Of 2 M input tokens 1 M are read at a tenth and 0.5 M written at twice the batch price of 0.50 USD."""
    haiku = price_of("claude-haiku-4-5", "anthropic")
    found = cost([Used("batch", "m", CACHED, haiku)], documents=1_000, references=1_000)
    assert found.money == {"batch": Decimal("3.3000")}  # 0.05 + 0.50 + 0.25 + 2.50
    assert found.saved_by_cache == Decimal("0.2000")
    assert found.saved_by_batch == Decimal("3.3000")
    unread = replace(CACHED, cached_tokens=0)
    loss = cost([Used("batch", "m", unread, haiku)], documents=1_000, references=1_000)
    assert loss.saved_by_cache == Decimal("-0.2500"), "what is written and never read costs more"


def test_cached_tokens_without_a_price_make_the_money_unknown() -> None:
    found = cost([batch(CACHED)], documents=1_000, references=1_000)
    assert found.money == {"batch": None}
    assert found.saved_by_cache is None
    assert found.unknown == ("the price of tokens in a prompt cache is unknown",)


def test_nothing_asked_costs_nothing() -> None:
    found = cost([], documents=0, references=0)
    assert found.total == Decimal("0.0000")
    assert found.per_document is None


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("global.amazon.nova-2-lite-v1:0", "0.30"),
        ("us.amazon.nova-2-lite-v1:0", "0.33"),
        ("amazon.nova-lite-v1:0", "0.06"),
        ("eu.amazon.nova-lite-v1:0", None),
        ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", "1.10"),
        ("amazon.nova-2-lite-v1:0", None),
        ("us.amazon.nova-lite-2-v1:0", None),
    ],
)
def test_a_price_holds_for_its_own_region_and_model_only(model: str, known: str | None) -> None:
    price = price_of(model)
    assert (price and price.on_demand_input) == (known and Decimal(known))


def test_every_price_has_a_source_and_a_date() -> None:
    assert all(price.source and price.seen for price in PRICES)
    assert len({(price.kind, price.model, price.region) for price in PRICES}) == len(PRICES)


def test_a_price_of_one_provider_is_no_price_of_another() -> None:
    assert price_of("claude-haiku-4-5-20251001", "anthropic") is not None
    assert price_of("claude-haiku-4-5-20251001", "vertex") is None
    assert price_of("gpt-5-mini-2025-08-07", "openai") == price_of("gpt-5-mini", "openai")
    assert price_of("gpt-5-pro", "openai") is None


@pytest.mark.parametrize(
    "price", [price for price in PRICES if price.kind != "bedrock"], ids=lambda price: price.model
)
def test_listed_prices_are_those_of_the_public_price_data_on_both_routes(price: Price) -> None:
    """Where the data knows no batch price it gives the on-demand one again: that is unknown, not equal."""
    sells = {"gemini": "google", "vertex": "google"}.get(price.kind, price.kind)
    asked = Asked(input_tokens=1000, output_tokens=1000)
    single = calc_price(asked, price.model, provider_id=sells)
    batch = calc_price(asked, price.model, provider_id=sells, price_context={"processing": "batch"})
    assert (single.input_price * 1000, single.output_price * 1000) == (
        price.on_demand_input,
        price.on_demand_output,
    )
    halves = (batch.input_price * 1000, batch.output_price * 1000)
    known = halves != (price.on_demand_input, price.on_demand_output)
    assert (price.batch_input, price.batch_output) == (halves if known else (None, None))


@pytest.mark.parametrize(
    "price", [price for price in PRICES if price.cache_read is not None], ids=lambda price: price.model
)
@pytest.mark.parametrize("context", [None, {"processing": "batch"}], ids=["on demand", "batch"])
def test_cached_tokens_cost_the_part_the_public_price_data_says(
    price: Price, context: dict[str, str] | None
) -> None:
    def rate(**usage: int) -> Decimal:
        asked = Asked(input_tokens=1000, **usage)
        found = calc_price(asked, price.model, provider_id=price.kind, price_context=context)
        return found.input_price

    assert rate(cache_read_tokens=1000) == price.cache_read * rate()
    if price.cache_write is not None:
        written = rate(cache_write_tokens=1000, cache_write_1h_tokens=1000)
        assert written == price.cache_write * rate()


@pytest.mark.parametrize(
    "price",
    [price for price in PRICES if price.kind == "bedrock"],
    ids=lambda price: f"{price.region}.{price.model}",
)
def test_on_demand_prices_are_those_of_the_public_price_data(price: Price) -> None:
    bedrock = next(provider for provider in data.providers if provider.id == "aws")
    place = {"": ("", "regional."), "global": ("global.",)}.get(price.region, ("regional.",))
    published = {
        (model.prices.input_mtok, model.prices.output_mtok)
        for model in bedrock.models
        for start in place
        if model.id.startswith(f"{start}{price.model}-") and isinstance(model.prices, ModelPrice)
    }
    assert published == {(price.on_demand_input, price.on_demand_output)}
