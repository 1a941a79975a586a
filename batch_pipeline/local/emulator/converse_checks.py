"""What Converse refuses, live and in batch (shapes of botocore 1.44.8; contract sections 1 to 5)."""

from typing import Any, Final

from batch_pipeline.local.emulator.body_rules import (
    EXTRA_INPUT,
    NO_CACHING,
    BodyError,
    Context,
    check_cap,
    check_sampling,
    messages_of,
    refuse_extra,
    union_blocks,
)

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
_DOCUMENT_NAME: Final = frozenset(" -()[]")
MAX_IMAGES: Final = 20
MAX_DOCUMENTS: Final = 5
MAX_IMAGE_BYTES: Final = 3_750_000
MAX_DOCUMENT_BYTES: Final = 4_500_000


def check_converse(body: dict[str, Any], context: Context) -> None:
    refuse_extra(body, _CONVERSE, EXTRA_INPUT)
    if context.model.family == "titan_embed":
        raise BodyError(400, "This action doesn't support the model that you provided.")
    if context.batch:
        for feature in ("toolConfig", "guardrailConfig"):
            if body.get(feature) is not None:
                raise BodyError(400, f"{feature} is not supported in batch inference with Converse.")
    inference = body.get("inferenceConfig") or {}
    refuse_extra(inference, ("maxTokens", "temperature", "topP", "stopSequences"), EXTRA_INPUT)
    check_cap(inference.get("maxTokens"), context, "inferenceConfig.maxTokens")
    check_sampling(inference.get("temperature"), inference.get("topP"), context)
    blocks: list[dict[str, Any]] = []
    if body.get("system"):
        blocks += union_blocks(body["system"], ("text", "guardContent", "cachePoint"), "system")
    for index, message in enumerate(messages_of(body)):
        if message["role"] not in ("user", "assistant"):
            raise BodyError(400, f"messages.{index}.role: Input should be 'user' or 'assistant'")
        content = union_blocks(message["content"], CONVERSE_BLOCKS, f"messages.{index}.content")
        _message_limits(content, index)
        blocks += content
    if context.batch and any(block.get("cachePoint") is not None for block in blocks):
        raise BodyError(403, NO_CACHING)


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
