"""What Bedrock refuses per record or per call: shapes, unknown keys, caps, features batch has not.

Sources: contract sections 1 to 5 (AWS user guide pages and field reports named there) and the Converse
shapes of botocore 1.44.8. Messages follow field reports where one is known.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from batch_pipeline.local.emulator.aws_errors import RETRYABLE
from batch_pipeline.local.emulator.job import InvocationType
from batch_pipeline.local.emulator.models import Family, Model
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


_CLAUDE: Final = frozenset(
    {
        "anthropic_version", "anthropic_beta", "max_tokens", "system", "messages", "temperature", "top_p",
        "top_k", "stop_sequences", "tools", "tool_choice", "thinking", "output_config",
    }
)  # fmt: skip
_NOVA: Final = frozenset({"schemaVersion", "system", "messages", "inferenceConfig", "toolConfig"})
_NOVA_INFERENCE: Final = frozenset(
    {"maxTokens", "max_new_tokens", "temperature", "topP", "topK", "stopSequences", "reasoningConfig"}
)
_LLAMA: Final = frozenset({"prompt", "max_gen_len", "temperature", "top_p", "images"})
_MISTRAL_TEXT: Final = frozenset({"prompt", "max_tokens", "temperature", "top_p", "top_k", "stop"})
_DEEPSEEK: Final = frozenset({"prompt", "temperature", "top_p", "max_tokens", "stop"})
_TITAN: Final = frozenset({"inputText", "dimensions", "normalize", "embeddingTypes"})
_CONVERSE: Final = frozenset(
    {
        "messages", "system", "inferenceConfig", "toolConfig", "guardrailConfig",
        "additionalModelRequestFields", "promptVariables", "additionalModelResponseFieldPaths",
        "requestMetadata", "performanceConfig", "serviceTier", "outputConfig",
    }
)  # fmt: skip
CONVERSE_BLOCKS: Final = (
    "text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint",
    "reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval",
)  # fmt: skip
_NOVA_BLOCKS: Final = frozenset({"text", "image", "document", "video", "toolUse", "toolResult", "cachePoint"})
_NO_CACHING: Final = (
    "You invoked an unsupported model or your request did not allow prompt caching. "
    "See the documentation for more information."
)
_DOCUMENT_NAME: Final = frozenset(" -()[]")
MAX_IMAGES: Final = 20
MAX_DOCUMENTS: Final = 5
MAX_IMAGE_BYTES: Final = 3_750_000
MAX_DOCUMENT_BYTES: Final = 4_500_000


def check(body: Any, context: Context) -> None:
    """Refuse what the model or batch would refuse; the first finding counts."""
    if not isinstance(body, dict):
        raise BodyError(400, "Malformed input request, please reformat your input and try again.")
    if context.invocation_type == "Converse":
        _converse(body, context)
    else:
        _INVOKE[context.model.family](body, context)


def _extra(body: Mapping[str, Any], allowed: Iterable[str], wording: str) -> None:
    for key in body:
        if key not in allowed:
            raise BodyError(400, wording.format(key=key))


_PYDANTIC: Final = "{key}: Extra inputs are not permitted"
_MALFORMED: Final = (
    "Malformed input request: #: extraneous key [{key}] is not permitted, please reformat your input and "
    "try again."
)
_REQUIRED: Final = (
    "Malformed input request: #: required key [{key}] not found, please reformat your input and try again."
)


def _cap(asked: Any, context: Context, field: str) -> None:
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


def _sampling(temperature: Any, top_p: Any, context: Context) -> None:
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


def _messages(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BodyError(400, "messages: at least one message is required")
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or "role" not in message or "content" not in message:
            raise BodyError(400, f"messages.{index}: role and content are required")
    return messages


def _claude(body: dict[str, Any], context: Context) -> None:
    _extra(body, _CLAUDE, _PYDANTIC)
    if "anthropic_version" not in body:
        raise BodyError(400, "anthropic_version: Field required")
    if body["anthropic_version"] != "bedrock-2023-05-31":
        raise BodyError(400, "anthropic_version: Input should be 'bedrock-2023-05-31'")
    if "max_tokens" not in body:
        raise BodyError(400, "max_tokens: Field required")
    _cap(body["max_tokens"], context, "max_tokens")
    _sampling(body.get("temperature"), body.get("top_p"), context)
    blocks = _claude_blocks(body.get("system"), "system")
    for index, message in enumerate(_messages(body)):
        if message["role"] not in ("user", "assistant"):
            raise BodyError(400, f"messages.{index}.role: Input should be 'user' or 'assistant'")
        blocks += _claude_blocks(message["content"], f"messages.{index}.content")
    if not context.batch:
        return
    unknowns = context.rules.unknowns
    if unknowns.claude_cache_control == "reject" and any("cache_control" in block for block in blocks):
        raise BodyError(403, _NO_CACHING)
    if unknowns.claude_pdf_by_s3 == "reject" and any(map(_by_reference, blocks)):
        raise BodyError(400, "source.type: Input should be 'base64'")


def _by_reference(block: dict[str, Any]) -> bool:
    """Whether an image or document is named instead of sent."""
    source = block.get("source")
    return (
        block.get("type") in ("document", "image")
        and isinstance(source, dict)
        and source.get("type") not in ("base64", "text", "content")
    )


def _claude_blocks(content: Any, place: str) -> list[dict[str, Any]]:
    if content is None and place == "system":
        return []
    if isinstance(content, str):
        if not content and place != "system":
            raise BodyError(400, f"{place}: text content blocks must be non-empty")
        return []
    if not isinstance(content, list):
        raise BodyError(400, f"{place}: Input should be a valid list")
    for index, block in enumerate(content):
        if not isinstance(block, dict) or "type" not in block:
            raise BodyError(400, f"{place}.{index}.type: Field required")
        if block["type"] == "text" and not block.get("text"):
            raise BodyError(400, f"{place}: text content blocks must be non-empty")
    return content


def _nova(body: dict[str, Any], context: Context) -> None:
    _extra(body, _NOVA, _MALFORMED)
    inference = body.get("inferenceConfig") or {}
    _extra(inference, _NOVA_INFERENCE, _MALFORMED)
    _cap(inference.get("maxTokens", inference.get("max_new_tokens")), context, "inferenceConfig.maxTokens")
    _sampling(inference.get("temperature"), inference.get("topP"), context)
    for index, message in enumerate(_messages(body)):
        _union_blocks(message["content"], _NOVA_BLOCKS, f"messages.{index}.content")
    if "system" in body:
        _union_blocks(body["system"], {"text"}, "system")


def _union_blocks(content: Any, members: Iterable[str], place: str) -> list[dict[str, Any]]:
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


def _llama(body: dict[str, Any], context: Context) -> None:
    _extra(body, _LLAMA, _MALFORMED)
    _prompt(body)
    _cap(body.get("max_gen_len"), context, "max_gen_len")
    _sampling(body.get("temperature"), body.get("top_p"), context)


def _prompt(body: Mapping[str, Any]) -> None:
    if not isinstance(body.get("prompt"), str) or not body["prompt"]:
        raise BodyError(400, _REQUIRED.format(key="prompt"))


def _mistral(body: dict[str, Any], context: Context) -> None:
    if "prompt" in body:
        _extra(body, _MISTRAL_TEXT, _MALFORMED)
        _prompt(body)
        _cap(body.get("max_tokens"), context, "max_tokens")
    else:
        _chat(body, context)


def _deepseek(body: dict[str, Any], context: Context) -> None:
    _extra(body, _DEEPSEEK, _MALFORMED)
    _prompt(body)
    _cap(body.get("max_tokens"), context, "max_tokens")
    if body.get("max_tokens", 1) > 32_768:
        raise BodyError(400, "max_tokens: Input should be less than or equal to 32768")


def _chat(body: dict[str, Any], context: Context) -> None:
    for key in ("model", "modelId", "anthropic_version", "inferenceConfig"):
        if key in body:
            raise BodyError(400, _PYDANTIC.format(key=key))
    asked = body.get("max_tokens", body.get("max_completion_tokens"))
    _cap(asked, context, "max_tokens")
    for index, message in enumerate(_messages(body)):
        content = message["content"]
        if content is None or isinstance(content, str):
            continue
        if not isinstance(content, list):
            raise BodyError(400, f"messages.{index}.content: Input should be a string or a list")
        for place, block in enumerate(content):
            if not isinstance(block, dict) or "type" not in block:
                raise BodyError(400, f"messages.{index}.content.{place}.type: Field required")


def _titan(body: dict[str, Any], _context: Context) -> None:
    _extra(body, _TITAN, _MALFORMED)
    if not isinstance(body.get("inputText"), str) or not body["inputText"]:
        raise BodyError(400, _REQUIRED.format(key="inputText"))
    if body.get("dimensions", 1024) not in (256, 512, 1024):
        raise BodyError(400, "dimensions: Input should be 256, 512 or 1024")


_INVOKE: Final[dict[Family, Callable[[dict[str, Any], Context], None]]] = {
    "claude": _claude,
    "nova": _nova,
    "llama": _llama,
    "mistral": _mistral,
    "deepseek_r1": _deepseek,
    "chat": _chat,
    "titan_embed": _titan,
}


def _converse(body: dict[str, Any], context: Context) -> None:
    _extra(body, _CONVERSE, _PYDANTIC)
    if context.model.family == "titan_embed":
        raise BodyError(400, "This action doesn't support the model that you provided.")
    if context.batch:
        for feature in ("toolConfig", "guardrailConfig"):
            if body.get(feature) is not None:
                raise BodyError(400, f"{feature} is not supported in batch inference with Converse.")
    inference = body.get("inferenceConfig") or {}
    _extra(inference, ("maxTokens", "temperature", "topP", "stopSequences"), _PYDANTIC)
    _cap(inference.get("maxTokens"), context, "inferenceConfig.maxTokens")
    _sampling(inference.get("temperature"), inference.get("topP"), context)
    blocks: list[dict[str, Any]] = []
    if body.get("system"):
        blocks += _union_blocks(body["system"], ("text", "guardContent", "cachePoint"), "system")
    for index, message in enumerate(_messages(body)):
        if message["role"] not in ("user", "assistant"):
            raise BodyError(400, f"messages.{index}.role: Input should be 'user' or 'assistant'")
        content = _union_blocks(message["content"], CONVERSE_BLOCKS, f"messages.{index}.content")
        _message_limits(content, index)
        blocks += content
    if context.batch and any(block.get("cachePoint") is not None for block in blocks):
        raise BodyError(403, _NO_CACHING)


def _message_limits(content: list[dict[str, Any]], index: int) -> None:
    """At most 20 images of 3.75 MB and 5 documents of 4.5 MB a message, a text beside a document."""
    images = [block["image"] for block in content if block.get("image") is not None]
    documents = [block["document"] for block in content if block.get("document") is not None]
    if len(images) > MAX_IMAGES:
        raise BodyError(400, f"messages.{index}.content: too many images: {len(images)} > {MAX_IMAGES}")
    if len(documents) > MAX_DOCUMENTS:
        raise BodyError(
            400, f"messages.{index}.content: too many documents: {len(documents)} > {MAX_DOCUMENTS}"
        )
    if documents and not any(block.get("text") for block in content):
        raise BodyError(400, "A text block must be included when a document is sent.")
    for image in images:
        _size(image, MAX_IMAGE_BYTES, "image")
    for document in documents:
        _size(document, MAX_DOCUMENT_BYTES, "document")
        name = document.get("name", "") if isinstance(document, dict) else ""
        if not isinstance(name, str) or not 1 <= len(name) <= 200:
            raise BodyError(400, "document.name: 1 to 200 characters are required")
        if "  " in name or not all(letter.isalnum() or letter in _DOCUMENT_NAME for letter in name):
            raise BodyError(
                400,
                "The document file name can only contain alphanumeric characters, whitespace characters, "
                "hyphens, parentheses, and square brackets. The name can't contain more than one consecutive "
                "whitespace character.",
            )


def _size(block: Any, most: int, kind: str) -> None:
    source = block.get("source") if isinstance(block, dict) else None
    if not isinstance(source, dict) or not source:
        raise BodyError(400, f"{kind}.source: Field required")
    data = source.get("bytes")
    if isinstance(data, str) and len(data) * 3 // 4 > most:
        raise BodyError(400, f"The {kind} exceeds the maximum size of {most} bytes.")
