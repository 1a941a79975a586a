"""What no request body may hold, checked once per builder, before anything is written.

Each of these passes the Create call and then fails every record of the paid job.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from batch_pipeline.errors import PreflightError
from batch_pipeline.requests.families import InvocationType

_REASON: Final[Mapping[str, str]] = {
    "model": "the job names the model; 'Extra inputs are not permitted' in a record (F21)",
    "modelId": "the job names the model; 'Extra inputs are not permitted' in a record (F21)",
    "stream": "a batch record cannot stream",
    "cachePoint": "prompt caching fails batch records with 403 (F25)",
    "cache_control": "prompt caching fails batch records with 403 (F25)",
    "tools": "answers are plain JSON text; tools fail Converse batch records",
    "tool_choice": "answers are plain JSON text; tools fail Converse batch records",
    "toolConfig": "tools fail Converse batch records with 400",
    "guardrailConfig": "guardrails are not served in batch",
    "serviceTier": "the service tier cannot be chosen in batch",
    "requestMetadata": "request metadata is not served in batch",
}
_NATIVE: Final = frozenset(
    {
        "anthropic_version",
        "max_tokens",
        "system",
        "messages",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "thinking",
        "output_config",
    }
)
_CONVERSE: Final = frozenset(
    {"messages", "system", "inferenceConfig", "additionalModelRequestFields", "outputConfig"}
)


def check_model_input(model_input: Mapping[str, Any], invocation: InvocationType) -> None:
    """Raises PreflightError naming the first key or shape that the provider would refuse."""
    for key in _keys(model_input):
        if key in _REASON:
            raise PreflightError(f"modelInput holds {key!r}: {_REASON[key]}")
    allowed = _NATIVE if invocation == "InvokeModel" else _CONVERSE
    unknown = sorted(model_input.keys() - allowed)
    if unknown:
        raise PreflightError(f"modelInput of a {invocation} job holds {unknown[0]!r}, which it does not take")
    sampling = model_input if invocation == "InvokeModel" else model_input.get("inferenceConfig", {})
    if "temperature" in sampling and ({"top_p", "topP"} & sampling.keys()):
        raise PreflightError("modelInput holds temperature and top_p; models refuse both together (F2)")
    _check_shape(model_input, invocation)


def _check_shape(model_input: Mapping[str, Any], invocation: InvocationType) -> None:
    if invocation == "InvokeModel" and model_input.get("anthropic_version") != "bedrock-2023-05-31":
        raise PreflightError("modelInput lacks anthropic_version; every record would fail (F1)")
    if not isinstance(model_input.get("messages"), Sequence) or not model_input["messages"]:
        raise PreflightError("modelInput holds no message")
    for message in model_input["messages"]:
        for block in message["content"]:
            typed = "type" in block
            if typed != (invocation == "InvokeModel"):
                raise PreflightError(
                    f"a content block {'has' if typed else 'has no'} type: "
                    f"this is not the body of a {invocation} job (F4)"
                )


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
