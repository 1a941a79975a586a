"""A family's request body -> PromptRequest. Only bodies that passed `body_checks` come here."""

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any

from batch_pipeline.local.emulator.body_rules import BodyError, Context
from batch_pipeline.local.emulator.engines.contract import Attachment, PromptRequest


def read_prompt(body: dict[str, Any], context: Context) -> PromptRequest:
    """The question in a body, free of its family's shape."""
    family = context.model.family
    if context.invocation_type == "Converse" or family == "nova":
        return _union_style(body, context)
    if "messages" in body:
        return _typed_blocks(body, context)
    return PromptRequest(
        model_id=context.model.given,
        system="",
        text=body.get("prompt") or body.get("inputText", ""),
        max_tokens=body.get("max_gen_len") or body.get("max_tokens"),
        temperature=body.get("temperature"),
    )


def _union_style(body: dict[str, Any], context: Context) -> PromptRequest:
    """Converse and Nova: blocks are unions, limits are camelCase."""
    texts: list[str] = []
    attachments: list[Attachment] = []
    for block in _user_blocks(body):
        if block.get("text") is not None:
            texts.append(block["text"])
        for kind in ("image", "document"):
            if (part := block.get(kind)) is not None:
                source = part["source"]
                if source.get("text") is not None:
                    texts.append(source["text"])
                else:
                    content = _decode(source["bytes"]) if source.get("bytes") is not None else None
                    form = part.get("format", "pdf")
                    attachments.append(Attachment("image" if kind == "image" else "document", form, content))
    inference = body.get("inferenceConfig") or {}
    tool = ((body.get("toolConfig") or {}).get("toolChoice") or {}).get("tool") or {}
    return PromptRequest(
        model_id=context.model.given,
        system="\n".join(part.get("text") or "" for part in body.get("system") or ()),
        text="\n".join(texts),
        attachments=tuple(attachments),
        max_tokens=inference.get("maxTokens") or inference.get("max_new_tokens"),
        temperature=inference.get("temperature"),
        schema=_converse_schema(body),
        forced_tool=tool.get("name"),
    )


def _converse_schema(body: dict[str, Any]) -> dict[str, Any] | None:
    text_format = (body.get("outputConfig") or {}).get("textFormat") or {}
    schema = ((text_format.get("structure") or {}).get("jsonSchema") or {}).get("schema")
    if schema is None:
        return None
    try:
        parsed = json.loads(schema)
    except (TypeError, ValueError) as error:
        raise BodyError(400, "outputConfig.textFormat: the schema is not JSON text") from error
    if not isinstance(parsed, dict):
        raise BodyError(400, "outputConfig.textFormat: the schema is not an object")
    return parsed


def _typed_blocks(body: dict[str, Any], context: Context) -> PromptRequest:
    """Claude and the OpenAI style: blocks carry a `type`."""
    system = [_plain(body["system"])] if body.get("system") else []
    system += [_plain(m["content"]) for m in body["messages"] if m["role"] in ("system", "developer")]
    texts: list[str] = []
    attachments: list[Attachment] = []
    for block in _user_blocks(body):
        kind = block["type"]
        if kind == "text":
            texts.append(block["text"])
        elif kind in ("image", "document"):
            source = block.get("source") or {}
            if source.get("type") == "text":
                texts.append(source.get("data", ""))
                continue
            form = str(source.get("media_type", "application/pdf")).rsplit("/", 1)[-1]
            content = _decode(source["data"]) if source.get("data") is not None else None
            attachments.append(Attachment("image" if kind == "image" else "document", form, content))
        elif kind == "image_url":
            url = str((block.get("image_url") or {}).get("url", ""))
            head, _, data = url.partition(",")
            form = head.removeprefix("data:").split(";")[0].rsplit("/", 1)[-1] or "png"
            attachments.append(Attachment("image", form, _decode(data) if data else None))
    return PromptRequest(
        model_id=context.model.given,
        system="\n".join(system),
        text="\n".join(texts),
        attachments=tuple(attachments),
        max_tokens=body.get("max_tokens") or body.get("max_completion_tokens"),
        temperature=body.get("temperature"),
        schema=_typed_schema(body),
        forced_tool=_typed_tool(body),
    )


def _typed_schema(body: dict[str, Any]) -> dict[str, Any] | None:
    wanted = (body.get("output_config") or {}).get("format") or {}
    if isinstance(wanted.get("schema"), dict):
        return dict(wanted["schema"])
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    return schema if isinstance(schema, dict) else None


def _typed_tool(body: dict[str, Any]) -> str | None:
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        name = choice.get("name") or (choice.get("function") or {}).get("name")
        if isinstance(name, str):
            return name
    required = choice in ("any", "required") or (isinstance(choice, dict) and choice.get("type") == "any")
    tools = body.get("tools") or []
    if required and tools:
        first = tools[0]
        name = first.get("name") or (first.get("function") or {}).get("name")
        return name if isinstance(name, str) else None
    return None


def _user_blocks(body: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for message in body["messages"]:
        if message["role"] != "user":
            continue
        if isinstance(message["content"], str):
            yield {"type": "text", "text": message["content"]}
        else:
            yield from message["content"] or ()


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or () if isinstance(block, dict))


def _decode(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise BodyError(400, "The bytes of an image or document are not valid base64.") from error
