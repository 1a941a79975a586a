"""Model ids: which family and base model they name, and what that model refuses."""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from batch_pipeline.local.emulator.aws_errors import AwsError
from batch_pipeline.local.emulator.rules import Models

Family = Literal["claude", "nova", "llama", "mistral", "deepseek_r1", "chat", "titan_embed"]

_FAMILIES: Final[tuple[tuple[str, Family], ...]] = (
    ("anthropic.", "claude"),
    ("amazon.nova", "nova"),
    ("amazon.titan-embed", "titan_embed"),
    ("meta.llama", "llama"),
    ("mistral.", "mistral"),
    ("deepseek.r1", "deepseek_r1"),
    ("deepseek.", "chat"),
    ("qwen.", "chat"),
    ("openai.", "chat"),
    ("google.", "chat"),
    ("minimax.", "chat"),
    ("moonshot", "chat"),
    ("nvidia.", "chat"),
    ("zai.", "chat"),
)
_GEOGRAPHY: Final = re.compile(r"^(?:us|us-gov|eu|apac|au|jp|ca|global)\.(?=[a-z0-9-]+\.)")
_RESOURCE: Final = re.compile(
    r"^arn:aws[^:]*:bedrock:[^:]*:[^:]*:"
    r"(foundation-model|inference-profile|application-inference-profile|custom-model)/(.+)$"
)


@dataclass(frozen=True)
class Model:
    """A model id resolved."""

    given: str
    base: str
    family: Family
    by_profile: bool

    def max_output_tokens(self, rules: Models) -> int | None:
        caps = [cap for prefix, cap in rules.max_output_tokens.items() if self.base.startswith(prefix)]
        return min(caps, default=None)


def resolve(model_id: str, rules: Models) -> Model:
    """Find base model and family; an id nobody knows is a ValidationException."""
    name, kind = model_id, ""
    if found := _RESOURCE.match(model_id):
        kind, name = found[1], found[2]
    if kind == "application-inference-profile":
        if name not in rules.application_profiles:
            raise AwsError("ValidationException", "The provided model identifier is invalid.")
        name = rules.application_profiles[name]
    if kind == "custom-model":
        name = name.split("/")[0]
    base = _GEOGRAPHY.sub("", name)
    family = next((family for prefix, family in _FAMILIES if base.startswith(prefix)), None)
    if family is None:
        raise AwsError("ValidationException", "The provided model identifier is invalid.")
    return Model(model_id, base, family, base != name or kind.endswith("inference-profile"))


def require_batch_support(model: Model, rules: Models) -> None:
    """Refuse what cannot go in batch, with AWS' words."""
    if model.base.startswith(rules.unsupported):
        raise AwsError("ValidationException", "Batch inference is not supported for the requested model.")
    require_profile(model, rules)


def require_profile(model: Model, rules: Models) -> None:
    if not model.by_profile and model.base.startswith(rules.profile_only):
        raise AwsError(
            "ValidationException",
            f"Invocation of model ID {model.given} with on-demand throughput isn't supported. Retry your "
            "request with the ID or ARN of an inference profile that contains this model.",
        )


def foundation_model(model_id: str, region: str, rules: Models) -> dict[str, Any]:
    """GetFoundationModel: takes bare ids and foundation-model ARNs only."""
    bare = model_id.rpartition("/")[2]
    model = resolve(bare, rules)
    if model.by_profile:
        raise AwsError("ValidationException", "The provided model identifier is invalid.")
    profiles_only = bare.startswith(rules.profile_only)
    return {
        "modelDetails": {
            "modelArn": f"arn:aws:bedrock:{region}::foundation-model/{bare}",
            "modelId": bare,
            "inferenceTypesSupported": ["INFERENCE_PROFILE"] if profiles_only else ["ON_DEMAND"],
            "modelLifecycle": {"status": "ACTIVE"},
        }
    }
