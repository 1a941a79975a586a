"""One output line of every family, and every way it can be wrong."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_pipeline.answers.classify import code_of, worth_another_attempt
from batch_pipeline.answers.envelope import Answer, Corrupt, RecordError, read, wrap

CV = '{"basics":{"name":"Zoë"}}'


def line(output: Any, **more: Any) -> bytes:
    whole = {"modelInput": {"messages": []}, "modelOutput": output, "recordId": "cv-1"} | more
    return json.dumps(whole, ensure_ascii=False).encode()


CLAUDE_USAGE = {
    "input_tokens": 5,
    "output_tokens": 9,
    "cache_creation_input_tokens": 2,
    "cache_read_input_tokens": 3,
}
CONVERSE_USAGE = {
    "inputTokens": 10,
    "outputTokens": 9,
    "totalTokens": 19,
    "cacheReadInputTokens": None,
    "cacheWriteInputTokens": 0,
}
OPENAI_USAGE = {"prompt_tokens": 10, "completion_tokens": 9, "total_tokens": 19}


def converse(*content: Any, stop: str = "end_turn") -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop,
        "usage": CONVERSE_USAGE,
        "metrics": {"latencyMs": 812},
        "trace": None,
        "additionalModelResponseFields": None,
    }


def chat(message: dict[str, Any], stop: str = "stop", usage: Any = OPENAI_USAGE) -> dict[str, Any]:
    return {
        "id": "x",
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
        "usage": usage,
    }


FAMILIES: dict[str, tuple[dict[str, Any], tuple[int | None, int | None]]] = {
    "claude text": (
        {
            "type": "message",
            "content": [{"type": "text", "text": CV}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": CLAUDE_USAGE,
        },
        (10, 9),
    ),
    "claude thinking first": (
        {
            "content": [
                {"type": "thinking", "thinking": "{", "signature": "s"},
                {"type": "text", "text": CV},
            ],
            "stop_reason": "end_turn",
            "usage": CLAUDE_USAGE,
        },
        (10, 9),
    ),
    "claude tool": (
        {
            "content": [
                {"type": "text", "text": "Here it is:"},
                {"type": "tool_use", "id": "1", "name": "cv", "input": {"basics": {"name": "Zoë"}}},
            ],
            "stop_reason": "tool_use",
            "usage": CLAUDE_USAGE,
        },
        (10, 9),
    ),
    "nova": (
        {
            "output": {"message": {"role": "assistant", "content": [{"text": CV}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 10, "outputTokens": 9, "totalTokens": 19},
        },
        (10, 9),
    ),
    "converse with nulls": (
        converse({"text": CV, "image": None, "toolUse": None, "reasoningContent": None}),
        (10, 9),
    ),
    "converse reasoning first": (
        converse(
            {"text": None, "reasoningContent": {"reasoningText": {"text": "{", "signature": None}}},
            {"text": CV, "reasoningContent": None},
        ),
        (10, 9),
    ),
    "llama": (
        {
            "generation": CV,
            "prompt_token_count": 10,
            "generation_token_count": 9,
            "stop_reason": "stop",
        },
        (10, 9),
    ),
    "mistral chat": (chat({"role": "assistant", "content": CV, "tool_calls": None}, usage=None), (None, None)),
    "mistral chat with stop_reason": (
        {"choices": [{"index": 0, "message": {"content": CV}, "stop_reason": "stop"}]},
        (None, None),
    ),
    "mistral text": ({"outputs": [{"text": CV, "stop_reason": "stop"}]}, (None, None)),
    "deepseek r1": ({"choices": [{"text": f"<think>{{</think>\n{CV}", "stop_reason": "stop"}]}, (None, None)),
    "openai chat": (chat({"role": "assistant", "content": CV}), (10, 9)),
    "gpt-oss": (chat({"content": f"<reasoning>is {{}} a CV?</reasoning>{CV}"}), (10, 9)),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_gives_the_same_answer(name: str) -> None:
    """F5, F24, F28."""
    output, tokens = FAMILIES[name]
    found = read(line(output))
    assert isinstance(found, Answer)
    assert json.loads(found.text) == json.loads(CV)
    assert found.stop in ("end", "tool_use")
    assert (found.input_tokens, found.output_tokens) == tokens
    assert json.loads(found.model_input) == {"messages": []}


@pytest.mark.parametrize("name", FAMILIES)
def test_an_on_demand_response_reads_as_its_batch_line_does(name: str) -> None:
    output, _ = FAMILIES[name]
    response = output | {"ResponseMetadata": {"RequestId": "x", "HTTPStatusCode": 200}}
    request = {"messages": []}
    by_mapping = read(wrap("cv-1", request, response))
    by_body = read(wrap("cv-1", json.dumps(request).encode(), json.dumps(output).encode()))
    batch = read(line(output))
    for found in (by_mapping, by_body):
        assert isinstance(found, Answer)
        assert isinstance(batch, Answer)
        assert (found.stop, found.input_tokens) == (batch.stop, batch.input_tokens)
        assert json.loads(found.text) == json.loads(batch.text)


@pytest.mark.parametrize(
    ("given_stop", "stop"),
    [
        ("max_tokens", "truncated"),
        ("length", "truncated"),
        ("model_context_window_exceeded", "truncated"),
        ("refusal", "refused"),
        ("content_filtered", "filtered"),
        ("guardrail_intervened", "filtered"),
        ("malformed_model_output", "malformed"),
        ("something_new", "unknown"),
        (None, "unknown"),
    ],
)
def test_every_stop_has_one_name(given_stop: str | None, stop: str) -> None:
    """F37."""
    found = read(line({"content": [{"type": "text", "text": "x"}], "stop_reason": given_stop}))
    assert isinstance(found, Answer)
    assert found.stop == stop


def test_an_answer_that_ended_inside_its_reasoning_says_nothing() -> None:
    found = read(line(chat({"content": '<reasoning>maybe {"basics":{}}'}, stop="length")))
    assert isinstance(found, Answer)
    assert (found.text, found.stop) == ("", "truncated")


@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        (CLAUDE_USAGE, (10, 3, 2)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}, (10, 4, 0)),
        ({"prompt_tokens": 10, "prompt_tokens_details": None}, (10, 0, 0)),
        ({"inputTokens": 4, "cacheReadInputTokens": 6, "cacheWriteInputTokens": 0}, (10, 6, 0)),
    ],
    ids=["claude", "openai", "openai without details", "converse"],
)
def test_cached_tokens_are_part_of_the_input_wherever_a_provider_counts_them(
    usage: dict[str, Any], wanted: tuple[int, int, int]
) -> None:
    output = {"content": [{"type": "text", "text": CV}], "stop_reason": "end_turn", "usage": usage}
    found = read(wrap("cv-1", {}, output))
    assert isinstance(found, Answer)
    assert (found.input_tokens, found.cached_tokens, found.cache_written_tokens) == wanted


def test_usage_that_is_not_reported_is_unknown_and_never_zero() -> None:
    """F28."""
    for usage in (
        None,
        {},
        {"tokens": 5},
        {"input_tokens": "5"},
        {"input_tokens": -1},
        {"input_tokens": True},
    ):
        found = read(line({"content": [{"type": "text", "text": "x"}], "usage": usage}))
        assert isinstance(found, Answer)
        assert (found.input_tokens, found.output_tokens) == (None, None)


@pytest.mark.parametrize("code", [400, "400", 400.0, "ValidationException"])
@pytest.mark.parametrize("inside", [False, True])
def test_an_error_is_read_wherever_it_stands_and_however_its_code_is_written(code: Any, inside: bool) -> None:
    error = {"errorCode": code, "errorMessage": "Extra inputs are not permitted"}
    found = read(line(error) if inside else line(None, error=error))
    assert found == RecordError("cv-1", "400", "Extra inputs are not permitted", False, False)


def test_an_expired_record_is_worth_another_attempt_whatever_its_code() -> None:
    error = {"errorCode": 400, "errorMessage": "late", "expired": True, "retryable": False}
    found = read(line(None, error=error))
    assert isinstance(found, RecordError)
    assert (found.expired, found.retryable) == (True, True)


def test_the_providers_own_retryable_is_only_a_hint() -> None:
    found = read(line(None, error={"errorCode": 403, "errorMessage": "no", "retryable": True}))
    assert isinstance(found, RecordError)
    assert not found.retryable


@pytest.mark.parametrize(
    ("code", "again"),
    [(400, 0), (403, 0), (404, 0), (408, 1), (424, 1), (429, 1), (500, 1), (503, 1), (599, 1), (600, 0), (None, 1)],
)  # fmt: skip
def test_codes_worth_another_attempt(code: int | None, again: int) -> None:
    assert worth_another_attempt(code, expired=False) == bool(again)
    assert code_of(True) is None


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"modelOutput":{"generation":"x"}}',
        b'{"recordId":"","modelOutput":{"generation":"x"}}',
        b'{"recordId":7,"modelOutput":{"generation":"x"}}',
        b'{"recordId":"a"}',
        b'{"recordId":"a","modelOutput":{}}',
        b'{"recordId":"a","modelOutput":{"generation":"x","outputs":[{"text":"y"}]}}',
        b'{"recordId":"a","modelOutput":{"generation":5}}',
        b'{"recordId":"a","modelOutput":{"choices":[]}}',
        b'{"recordId":"a","modelOutput":{"generation":"x"},"error":{"errorCode":500}}',
        line({"generation": "x"})[:-1],
        b'{"a":' * 100_000,
    ],
)
def test_a_line_that_says_nothing_certain_is_corrupt(broken: bytes) -> None:
    assert isinstance(read(broken), Corrupt)


def test_a_corrupt_line_still_names_its_record_where_it_can() -> None:
    assert read(b'{"recordId":"a","modelOutput":{"generation":5}}') == Corrupt(
        "Expected `str | null`, got `int` - at `$.modelOutput.generation`", "a"
    )


def test_half_a_surrogate_pair_does_not_lose_a_paid_answer() -> None:
    raw = rb'{"recordId":"a","modelInput":{},"modelOutput":{"generation":"x \ud83d y \ud83d\ude00 \\ud83d \ude00"}}'
    found = read(raw)
    assert isinstance(found, Answer)
    assert found.text == "x \ufffd y \U0001f600 \\ud83d \ufffd"


@given(st.binary(max_size=400))
def test_no_bytes_crash_the_reader(raw: bytes) -> None:
    read(raw)


@given(st.data())
@settings(max_examples=300)
def test_no_damage_to_a_real_line_crashes_the_reader(data: st.DataObject) -> None:
    raw = bytearray(line(FAMILIES[data.draw(st.sampled_from(sorted(FAMILIES)))][0]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        if not raw:
            break
    assert isinstance(read(bytes(raw)), Answer | RecordError | Corrupt)
