"""What every check of a request body shares: its error, its context, its common rules."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from batch_pipeline.local.emulator.aws_errors import RETRYABLE
from batch_pipeline.local.emulator.job import InvocationType
from batch_pipeline.local.emulator.models import Model
from batch_pipeline.local.emulator.rules import Rules


class BodyError(Exception):
    """One request refused."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message
        self.retryable = code in RETRYABLE
        super().__init__(f"{code}: {message}")


@dataclass(frozen=True)
class Context:
    """What a body is judged by."""

    model: Model
    invocation_type: InvocationType
    batch: bool
    rules: Rules


NO_CACHING: Final = (
    "You invoked an unsupported model or your request did not allow prompt caching. "
    "See the documentation for more information."
)


def refuse_extra(body: Mapping[str, Any], allowed: Iterable[str], wording: str) -> None:
    for key in body:
        if key not in allowed:
            raise BodyError(400, wording.format(key=key))


EXTRA_INPUT: Final = "{key}: Extra inputs are not permitted"
EXTRANEOUS_KEY: Final = (
    "Malformed input request: #: extraneous key [{key}] is not permitted, please reformat your input and "
    "try again."
)
REQUIRED_KEY: Final = (
    "Malformed input request: #: required key [{key}] not found, please reformat your input and try again."
)


def check_cap(asked: Any, context: Context, field: str) -> None:
    if asked is None:
        return
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        raise BodyError(400, f"{field}: Input should be greater than or equal to 1")
    cap = context.model.max_output_tokens(context.rules.models)
    if cap is not None and asked > cap:
        raise BodyError(
            400,
            f"The maximum tokens you requested exceeds the model limit of {cap}. Try again with a maximum "
            f"tokens value that is lower than {cap}.",
        )


def check_sampling(temperature: Any, top_p: Any, context: Context) -> None:
    models = context.rules.models
    for name, value in (("temperature", temperature), ("top_p", top_p)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise BodyError(400, f"{name}: Input should be between 0 and 1")
        if value != 1 and context.model.base.startswith(models.no_sampling):
            raise BodyError(400, f"`{name}` is not supported by this model.")
    both = temperature is not None and top_p is not None
    if both and context.model.base.startswith(models.temperature_xor_top_p):
        raise BodyError(
            400, "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        )


def messages_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BodyError(400, "messages: at least one message is required")
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or "role" not in message or "content" not in message:
            raise BodyError(400, f"messages.{index}: role and content are required")
    return messages


def union_blocks(content: Any, members: Iterable[str], place: str) -> list[dict[str, Any]]:
    """Blocks that are unions: exactly one known member each."""
    if not isinstance(content, list) or not content:
        raise BodyError(400, f"{place}: a list of content blocks is required")
    for index, block in enumerate(content):
        if not isinstance(block, dict):
            raise BodyError(400, f"{place}.{index}: a content block is an object")
        given = [name for name, value in block.items() if value is not None]
        for name in given:
            if name not in members:
                raise BodyError(400, f"{place}.{index}.{name}: Extra inputs are not permitted")
        if len(given) != 1:
            raise BodyError(400, f"{place}.{index}: exactly one member must be set, found {len(given)}")
        if "text" in given and not (isinstance(block["text"], str) and block["text"].strip()):
            raise BodyError(
                400,
                f"The text field in the ContentBlock object at {place}.{index} is blank. Add text to the "
                "text field, and try again.",
            )
    return content
