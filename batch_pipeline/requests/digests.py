"""What a request says about its document, as one SHA-256.

A provider echoes every request in its answer, re-serialised as it likes. The digest is made from
the meaning (system prompt, text blocks, file bytes, in order), so key order, escapes and explicit
nulls do not change it, and an answer to another text than the one we sent is caught.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec

_FRAME: Final = b"\x00"


class _Source(msgspec.Struct):
    data: str | None = None  # Claude
    bytes: str | None = None  # Converse


class _File(msgspec.Struct):
    source: _Source | None = None


class _Block(msgspec.Struct):
    text: str | None = None
    source: _Source | None = None
    image: _File | None = None
    document: _File | None = None


class _Message(msgspec.Struct):
    content: list[_Block] | str


class _Inline(msgspec.Struct):
    data: str | None = None


class _Part(msgspec.Struct):
    text: str | None = None
    inlineData: _Inline | None = None  # noqa: N815
    inline_data: _Inline | None = None  # the same in an echo that was written by proto's names


class _Turn(msgspec.Struct):
    parts: list[_Part] = []


class _Body(msgspec.Struct):
    """A body names either messages, or contents: Gemini's."""

    messages: list[_Message] = []
    system: list[_Block] | str | None = None
    contents: list[_Turn] = []
    systemInstruction: _Turn | None = None  # noqa: N815
    system_instruction: _Turn | None = None


_DECODER: Final = msgspec.json.Decoder(_Body)


def prompt_hash(prompt: str) -> str:
    """The version of a prompt: a hash, so that it cannot be forgotten when a word changes."""
    return hashlib.sha256(prompt.encode()).hexdigest()[:16]


@lru_cache(maxsize=8)
def _seed(prompt: str) -> Any:
    """A running hash that has read the prompt version; copy it, never update it."""
    return hashlib.sha256(prompt_hash(prompt).encode("ascii"))


def _feed(running: Any, kind: bytes, content: bytes) -> None:
    running.update(b"%b%d%b" % (kind, len(content), _FRAME))
    running.update(content)


def text_digests(prompt: str, texts: Iterable[str]) -> list[str]:
    """The digest of each request that shows one framed text, in order."""
    seed = _seed(prompt)
    digests = []
    for text in texts:
        running = seed.copy()
        content = text.encode()
        running.update(b"t%d\x00" % len(content))
        running.update(content)
        digests.append(running.hexdigest())
    return digests


def document_digest(model_input: bytes | dict[str, Any]) -> str:
    """The digest of a request, from what we send or from a provider's echo of it.

    Raises ValueError where `model_input` is no request body at all.
    """
    try:
        if isinstance(model_input, dict):
            body = msgspec.convert(model_input, _Body)
        else:
            body = _DECODER.decode(model_input)
    except msgspec.MsgspecError as error:
        raise ValueError("no request body") from error
    if not body.messages and not body.contents:
        raise ValueError("no request body")
    running = _seed(_prompt(body)).copy()
    for message in body.messages:
        blocks = [_Block(text=message.content)] if isinstance(message.content, str) else message.content
        for block in blocks:
            if block.text is not None:
                _feed(running, b"t", block.text.encode())
            file = block.image or block.document
            source = file.source if file else block.source
            if source is not None:
                _feed(running, b"f", (source.data or source.bytes or "").encode())
    for part in (part for turn in body.contents for part in turn.parts):
        if part.text is not None:
            _feed(running, b"t", part.text.encode())
        shown = part.inlineData or part.inline_data
        if shown is not None:
            _feed(running, b"f", (shown.data or "").encode())
    return str(running.hexdigest())


def _prompt(body: _Body) -> str:
    said = body.systemInstruction or body.system_instruction
    if said is not None:
        return "".join(part.text or "" for part in said.parts)
    system = body.system or ""
    return system if isinstance(system, str) else "".join(block.text or "" for block in system)
