"""Models, their bodies and their caps."""

import pytest

from batch_pipeline.errors import ConfigurationError, TerminalError
from batch_pipeline.requests.families import Family, base_model, check_caps, family_of, invocation_type
from batch_pipeline.requests.record_ids import check_record_id, record_id


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("anthropic.claude-haiku-4-5-20251001-v1:0", "claude"),
        ("global.anthropic.claude-sonnet-4-6", "claude"),
        ("us.amazon.nova-2-lite-v1:0", "nova"),
        ("apac.amazon.nova-micro-v1:0", "nova"),
        ("us.meta.llama4-scout-17b-instruct-v1:0", "llama"),
        ("mistral.mistral-large-2407-v1:0", "mistral"),
        ("us.deepseek.r1-v1:0", "deepseek"),
        ("qwen.qwen3-32b-v1:0", "qwen"),
        ("openai.gpt-oss-120b-1:0", "openai_oss"),
        ("google.gemma-3-12b-it", "gemma"),
        ("arn:aws:bedrock:eu-central-1::foundation-model/amazon.nova-lite-v1:0", "nova"),
        (
            "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/"
            "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "claude",
        ),
    ],
)
def test_every_way_to_name_a_model_gives_its_family(model: str, family: Family) -> None:
    assert family_of(model) == family
    assert invocation_type(family) == ("InvokeModel" if family == "claude" else "Converse")


@pytest.mark.parametrize(
    "model",
    [
        "",
        "gpt-4o",
        "xx.amazon.nova-lite-v1:0",
        "us.us.amazon.nova-lite-v1:0",
        "amazon.titan-embed-text-v2:0",
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123def456",
        "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abc123def456",
    ],
)
def test_an_unknown_model_names_the_field(model: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        family_of(model)
    assert raised.value.field == "provider.model"


def test_a_profile_leads_to_its_base_model() -> None:
    assert base_model("eu.amazon.nova-lite-v1:0") == "amazon.nova-lite-v1:0"


def test_more_output_than_the_model_gives_is_refused_before_anything_is_sent() -> None:
    """F3."""
    with pytest.raises(ConfigurationError, match="at most 8192"):
        check_caps("us.meta.llama4-maverick-17b-instruct-v1:0", 30_000)
    check_caps("us.meta.llama4-maverick-17b-instruct-v1:0", 8_192)


def test_temperature_and_top_p_together_are_refused() -> None:
    """F2."""
    with pytest.raises(ConfigurationError, match=r"provider\.top_p"):
        check_caps("anthropic.claude-haiku-4-5-20251001-v1:0", 4_096, 0, 0.9)


def test_a_model_that_takes_no_temperature_gets_none() -> None:
    with pytest.raises(ConfigurationError, match=r"provider\.temperature"):
        check_caps("us.anthropic.claude-opus-5-v1:0", 4_096, 0)


def test_a_record_id_is_made_from_content_and_legal_everywhere() -> None:
    name = record_id("0" * 32)
    assert name == "cv-" + "0" * 32
    assert check_record_id(name) == name


@pytest.mark.parametrize("value", ["", "a" * 65, "a b", "a/b", "ä", "a\n"])
def test_an_id_a_provider_could_refuse_is_refused(value: str) -> None:
    with pytest.raises(TerminalError):
        check_record_id(value)


@pytest.mark.parametrize("md5", ["", "0" * 31, "A" * 32, "0" * 31 + "\n"])
def test_only_an_md5_makes_a_record_id(md5: str) -> None:
    with pytest.raises(TerminalError):
        record_id(md5)
