"""What Gemini answers with, at the Gemini API and on Vertex (contracts/providers.md sections 2.3 and 2.4)."""

import json
from typing import Any

import pytest

from batch_pipeline.answers.envelope import Answer, Corrupt, read
from batch_pipeline.requests.bodies import RequestBuilder, framed
from batch_pipeline.requests.digests import document_digest, text_digests
from batch_pipeline.requests.file_blocks import FileBlock
from batch_pipeline.tasks.base import Stop

BUILDER = RequestBuilder.for_model("gemini-2.5-flash", "Read it.", 1000, "gemini")


def found(output: dict[str, Any]) -> Answer | Any:
    return read(json.dumps({"recordId": "cv-1", "modelOutput": output}).encode())


def spoken(parts: list[dict[str, Any]], reason: str = "STOP") -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": reason}]}


def test_thoughts_are_no_part_of_what_was_said_and_all_other_parts_are() -> None:
    """Bug case 14 of contracts/providers.md: only the first part of an answer was read."""
    answer = found(spoken([{"text": "Hm.", "thought": True}, {"text": '{"a":'}, {"text": "1}"}]))
    assert (answer.text, answer.stop) == ('{"a":1}', "end")


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "truncated"),
        ("SAFETY", "filtered"),
        ("RECITATION", "filtered"),
        ("SPII", "filtered"),
        ("PROHIBITED_CONTENT", "filtered"),
        ("MALFORMED_FUNCTION_CALL", "malformed"),
        ("OTHER", "unknown"),
        ("A_NEW_ONE", "unknown"),
    ],
)
def test_why_it_stopped(reason: str, stop: Stop) -> None:
    assert found(spoken([{"text": "{"}], reason)).stop == stop


@pytest.mark.parametrize("candidate", [{"finishReason": "SAFETY"}, {"content": {}, "finishReason": "SAFETY"}])
def test_a_withheld_answer_has_no_content(candidate: dict[str, Any]) -> None:
    answer = found({"candidates": [candidate]})
    assert (answer.text, answer.stop) == ("", "filtered")


def test_a_blocked_prompt_is_an_answer_that_was_filtered() -> None:
    usage = {"promptTokenCount": 9, "totalTokenCount": 9}
    answer = found({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage})
    assert (answer.text, answer.stop) == ("", "filtered")
    assert (answer.input_tokens, answer.output_tokens) == (9, 0)


@pytest.mark.parametrize("output", [{"candidates": []}, {}, {"candidates": [{}, {}]}])
def test_what_says_nothing_or_two_things_is_no_answer(output: dict[str, Any]) -> None:
    assert isinstance(found(output), Corrupt)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"promptTokenCount": 9, "candidatesTokenCount": 4, "totalTokenCount": 13}, (9, 4)),
        (
            {
                "promptTokenCount": 9,
                "candidatesTokenCount": 4,
                "thoughtsTokenCount": 5,
                "totalTokenCount": 18,
            },
            (9, 9),
        ),
        ({"promptTokenCount": 9, "thoughtsTokenCount": 5, "totalTokenCount": 14}, (9, 5)),
        ({"promptTokenCount": 9, "cachedContentTokenCount": 8, "candidatesTokenCount": 1}, (9, 1)),
        ({"promptTokenCount": 9, "totalTokenCount": 14}, (9, None)),
        ({}, (None, None)),
        (None, (None, None)),
    ],
    ids=["plain", "thoughts are paid", "only thoughts", "cached is within", "unsaid", "empty", "none"],
)
def test_tokens_are_counted_or_unknown(
    usage: dict[str, Any] | None, tokens: tuple[int | None, int | None]
) -> None:
    """Bug case 15: counters that are not there are unknown, and no zero."""
    answer = found({**spoken([{"text": "{}"}]), **({"usageMetadata": usage} if usage is not None else {})})
    assert (answer.input_tokens, answer.output_tokens) == tokens
    assert answer.cached_tokens == (usage or {}).get("cachedContentTokenCount", 0)


def test_an_echo_has_the_digest_of_what_was_sent_however_it_is_written() -> None:
    sent = BUILDER.text("Ada\u2028Example")
    (digest,) = text_digests("Read it.", [framed("Ada\u2028Example")])
    assert document_digest(sent) == digest
    echo = {
        "system_instruction": {"role": None, **sent["systemInstruction"]},
        "generationConfig": {},
        "contents": sent["contents"],
    }
    assert document_digest(json.dumps(echo).encode()) == digest
    assert document_digest(BUILDER.text("Anna")) != digest


def test_a_shown_file_is_part_of_the_digest_under_either_name() -> None:
    sent = BUILDER.vision([FileBlock("image/png", b"1")])
    assert document_digest(sent) != document_digest(BUILDER.vision([FileBlock("image/png", b"2")]))
    echo = json.dumps(sent).replace("inlineData", "inline_data").encode()
    assert document_digest(echo) == document_digest(sent)


def test_a_body_without_a_question_is_none() -> None:
    with pytest.raises(ValueError, match="no request body"):
        document_digest(b'{"contents": []}')
