"""The reader as an engine: find the CV in the prompt, read it, answer JSON."""

import re
from typing import Final

import msgspec

from batch_pipeline.local.emulator.engines.contract import (
    EngineAnswer,
    PromptRequest,
    estimate_tokens,
    prompt_tokens,
)
from batch_pipeline.local.emulator.engines.documents import UnreadableDocument, document_text
from batch_pipeline.local.emulator.engines.reader.resume import lost_lines, read_resume

_OPEN: Final = re.compile(r"(?:^|\n)[ \t]*<document\b[^>\n]*>[ \t]*\n?")
_OPEN_INLINE: Final = re.compile(r"<document\b[^>\n]*>")


class ReaderEngine:
    """Same question, same answer: `{...resume}`, `{"not_a_cv": kind}` or `{"unreadable": true}`."""

    concurrency = 1

    def answer(self, request: PromptRequest) -> EngineAnswer:
        text = answer_text(request)
        return EngineAnswer(text, "end_turn", prompt_tokens(request), estimate_tokens(text))


def answer_text(request: PromptRequest) -> str:
    """The answer as JSON text."""
    try:
        parts = [document_text(attachment) for attachment in request.attachments]
    except UnreadableDocument:
        return '{"unreadable":true}'
    source = "\n".join(parts) if parts else document_in(request.text)
    if not source.strip():
        return '{"unreadable":true}'
    return read_to_json(source)


def read_to_json(source: str) -> str:
    """Text of a document -> the answer as JSON text."""
    resume = read_resume(source)
    if isinstance(resume, str):
        return msgspec.json.encode({"not_a_cv": resume}).decode()
    answer = msgspec.json.encode(resume).decode()
    if lost := lost_lines(source, answer):
        basics = resume.setdefault("basics", {})
        basics["summary"] = "\n".join([*filter(None, [basics.get("summary")]), *lost])
        answer = msgspec.json.encode(resume).decode()
    return answer


def document_in(text: str) -> str:
    """What stands between the prompt's document tags; the whole text where there are none.

    The tag on a line of its own wins over one named in the instructions.
    """
    end = text.rfind("</document>")
    opening = _OPEN.search(text) or _OPEN_INLINE.search(text)
    if opening is None:
        return text
    return text[opening.end() : end] if end >= opening.end() else text[opening.end() :]
