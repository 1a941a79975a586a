"""Which family a model belongs to, which body it takes, and what its provider refuses per record.

Refusals found at build time cost nothing; found by the provider they arrive as a job that is
Completed with every record in error, and paid for.
"""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from batch_pipeline.errors import ConfigurationError

Family = Literal[
    "claude", "nova", "llama", "mistral", "deepseek", "qwen", "openai_oss", "gemma", "minimax", "moonshot"
]  # fmt: skip
InvocationType = Literal["InvokeModel", "Converse"]

_PREFIXES: Final[tuple[tuple[str, Family], ...]] = (
    ("anthropic.claude", "claude"),
    ("amazon.nova", "nova"),
    ("meta.llama", "llama"),
    ("mistral.", "mistral"),
    ("deepseek.", "deepseek"),
    ("qwen.", "qwen"),
    ("openai.gpt-oss", "openai_oss"),
    ("google.gemma", "gemma"),
    ("minimax.", "minimax"),
    ("moonshot", "moonshot"),
)

# Regions of inference profiles seen in front of a model id (contracts/bedrock.md section 2.2).
_PROFILE: Final = re.compile(r"(?:us|us-gov|eu|apac|au|jp|ca|sa|global)\.(?=[a-z])")
_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:bedrock:[a-z0-9-]*:[0-9]{0,12}:(?:foundation-model|inference-profile)/([^/]+)"
)


def base_model(model_id: str) -> str:
    """The bare model id behind a profile id or an ARN.

    >>> base_model("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0")
    'amazon.nova-lite-v1:0'
    """
    arn = _ARN.fullmatch(model_id)
    return _PROFILE.sub("", arn.group(1) if arn else model_id, count=1)


def family_of(model_id: str) -> Family:
    """The family of a bare id, a geographic or global profile id, or an ARN of either.

    Raises ConfigurationError for a model whose body we do not know. An application inference
    profile's ARN ends in an opaque id that names no model, so it cannot be placed either.
    """
    model = base_model(model_id)
    for prefix, family in _PREFIXES:
        if model.startswith(prefix):
            return family
    raise ConfigurationError(
        "provider.model",
        model_id,
        "give the id, profile id or ARN of a "
        + ", ".join(prefix.rstrip(".") for prefix, _ in _PREFIXES)
        + " model",
    )


def invocation_type(family: Family) -> InvocationType:
    """Claude takes its own body; every other family takes Converse: one body and one usage record."""
    return "InvokeModel" if family == "claude" else "Converse"


@dataclass(frozen=True)
class ModelCap:
    """What one model refuses per record, however its own documentation reads."""

    prefix: str
    max_output_tokens: int | None
    takes_temperature: bool
    source: str
    seen: date


_FIELD: Final = "contracts/bedrock.md section 5, per-model request traps (field report)"
_SEEN: Final = date(2026, 11, 30)

CAPS: Final[tuple[ModelCap, ...]] = (
    ModelCap("amazon.nova-micro", 10_000, True, _FIELD, _SEEN),
    ModelCap("amazon.nova-2-lite", 65_535, True, _FIELD, _SEEN),
    ModelCap("meta.llama4", 8_192, True, _FIELD, _SEEN),
    ModelCap("qwen.qwen3-32b", 32_768, True, _FIELD, _SEEN),
    ModelCap("openai.gpt-oss", 128_000, True, _FIELD, _SEEN),
    ModelCap("deepseek.r1", 32_768, True, "contracts/bedrock.md section 5, DeepSeek R1 body", _SEEN),
    ModelCap("anthropic.claude-opus-5", None, False, _FIELD, _SEEN),
)


def cap_of(model_id: str) -> ModelCap | None:
    """The caps known for a model, or None: nothing known is not nothing refused."""
    model = base_model(model_id)
    # Anthropic and Vertex name a Claude model without its maker, the gateway before a slash
    names = (model, f"anthropic.{model}", model.replace("/", "."))
    return next((cap for cap in CAPS if any(name.startswith(cap.prefix) for name in names)), None)


def check_caps(
    model_id: str, max_tokens: int, temperature: float | None = None, top_p: float | None = None
) -> None:
    """Refuse what the model would refuse in every record. Raises ConfigurationError naming the cap."""
    if max_tokens < 1:
        raise ConfigurationError("provider.max_tokens", max_tokens, "give at least 1")
    if temperature is not None and top_p is not None:
        raise ConfigurationError("provider.top_p", top_p, "give temperature or top_p, models refuse both")
    cap = cap_of(model_id)
    if cap is None:
        return
    if cap.max_output_tokens is not None and max_tokens > cap.max_output_tokens:
        raise ConfigurationError(
            "provider.max_tokens",
            max_tokens,
            f"{base_model(model_id)} gives at most {cap.max_output_tokens} output tokens",
        )
    if not cap.takes_temperature and (temperature is not None or top_p is not None):
        field, value = ("temperature", temperature) if temperature is not None else ("top_p", top_p)
        raise ConfigurationError(
            f"provider.{field}",
            value,
            f"{base_model(model_id)} refuses temperature and top_p: leave both out",
        )
