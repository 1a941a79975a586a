"""What Bedrock refuses per record or per call: shapes, unknown keys, caps, features batch has not.

Sources: contract sections 1 to 5 (AWS user guide pages and field reports named there). Messages follow
field reports where one is known.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from batch_pipeline.local.emulator.body_rules import (
    EXTRA_INPUT,
    EXTRANEOUS_KEY,
    NO_CACHING,
    REQUIRED_KEY,
    BodyError,
    Context,
    check_cap,
    check_sampling,
    messages_of,
    refuse_extra,
    union_blocks,
)
from batch_pipeline.local.emulator.converse_checks import check_converse
from batch_pipeline.local.emulator.models import Family

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
_NOVA_BLOCKS: Final = frozenset({"text", "image", "document", "video", "toolUse", "toolResult", "cachePoint"})


def _claude(body: dict[str, Any], context: Context) -> None:
    refuse_extra(body, _CLAUDE, EXTRA_INPUT)
    if "anthropic_version" not in body:
        raise BodyError(400, "anthropic_version: Field required")
    if body["anthropic_version"] != "bedrock-2023-05-31":
        raise BodyError(400, "anthropic_version: Input should be 'bedrock-2023-05-31'")
    if "max_tokens" not in body:
        raise BodyError(400, "max_tokens: Field required")
    check_cap(body["max_tokens"], context, "max_tokens")
    check_sampling(body.get("temperature"), body.get("top_p"), context)
    blocks = _claude_blocks(body.get("system"), "system")
    for index, message in enumerate(messages_of(body)):
        if message["role"] not in ("user", "assistant"):
            raise BodyError(400, f"messages.{index}.role: Input should be 'user' or 'assistant'")
        blocks += _claude_blocks(message["content"], f"messages.{index}.content")
    if not context.batch:
        return
    unknowns = context.rules.unknowns
    if unknowns.claude_cache_control == "reject" and any("cache_control" in block for block in blocks):
        raise BodyError(403, NO_CACHING)
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
    refuse_extra(body, _NOVA, EXTRANEOUS_KEY)
    inference = body.get("inferenceConfig") or {}
    refuse_extra(inference, _NOVA_INFERENCE, EXTRANEOUS_KEY)
    check_cap(
        inference.get("maxTokens", inference.get("max_new_tokens")), context, "inferenceConfig.maxTokens"
    )
    check_sampling(inference.get("temperature"), inference.get("topP"), context)
    for index, message in enumerate(messages_of(body)):
        union_blocks(message["content"], _NOVA_BLOCKS, f"messages.{index}.content")
    if "system" in body:
        union_blocks(body["system"], {"text"}, "system")


def _llama(body: dict[str, Any], context: Context) -> None:
    refuse_extra(body, _LLAMA, EXTRANEOUS_KEY)
    _prompt(body)
    check_cap(body.get("max_gen_len"), context, "max_gen_len")
    check_sampling(body.get("temperature"), body.get("top_p"), context)


def _prompt(body: Mapping[str, Any]) -> None:
    if not isinstance(body.get("prompt"), str) or not body["prompt"]:
        raise BodyError(400, REQUIRED_KEY.format(key="prompt"))


def _mistral(body: dict[str, Any], context: Context) -> None:
    if "prompt" in body:
        refuse_extra(body, _MISTRAL_TEXT, EXTRANEOUS_KEY)
        _prompt(body)
        check_cap(body.get("max_tokens"), context, "max_tokens")
    else:
        _chat(body, context)


def _deepseek(body: dict[str, Any], context: Context) -> None:
    refuse_extra(body, _DEEPSEEK, EXTRANEOUS_KEY)
    _prompt(body)
    check_cap(body.get("max_tokens"), context, "max_tokens")
    if body.get("max_tokens", 1) > 32_768:
        raise BodyError(400, "max_tokens: Input should be less than or equal to 32768")


def _chat(body: dict[str, Any], context: Context) -> None:
    for key in ("model", "modelId", "anthropic_version", "inferenceConfig"):
        if key in body:
            raise BodyError(400, EXTRA_INPUT.format(key=key))
    asked = body.get("max_tokens", body.get("max_completion_tokens"))
    check_cap(asked, context, "max_tokens")
    for index, message in enumerate(messages_of(body)):
        content = message["content"]
        if content is None or isinstance(content, str):
            continue
        if not isinstance(content, list):
            raise BodyError(400, f"messages.{index}.content: Input should be a string or a list")
        for place, block in enumerate(content):
            if not isinstance(block, dict) or "type" not in block:
                raise BodyError(400, f"messages.{index}.content.{place}.type: Field required")


def _titan(body: dict[str, Any], _context: Context) -> None:
    refuse_extra(body, _TITAN, EXTRANEOUS_KEY)
    if not isinstance(body.get("inputText"), str) or not body["inputText"]:
        raise BodyError(400, REQUIRED_KEY.format(key="inputText"))
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


def check(body: Any, context: Context) -> None:
    """Refuse what the model or batch would refuse; the first finding counts."""
    if not isinstance(body, dict):
        raise BodyError(400, "Malformed input request, please reformat your input and try again.")
    if context.invocation_type == "Converse":
        check_converse(body, context)
    else:
        _INVOKE[context.model.family](body, context)
