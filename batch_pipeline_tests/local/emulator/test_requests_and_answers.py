"""Per-request errors, family envelopes, answer and record faults: alike in batch and on demand."""

import base64
import json
from io import BytesIO
from typing import Any

import pytest
from botocore.exceptions import ClientError
from reportlab.pdfgen.canvas import Canvas

from batch_pipeline_tests.local.emulator.conftest import CLAUDE, NOVA, Bench, claude_record, converse_record

TEXT = "Ada Lovelace\nEngineer\nada@example.com\nMARKER-7"
CLAUDE_BODY = claude_record(1, TEXT)["modelInput"]
CONVERSE_BODY = converse_record(1)["modelInput"]
CHAT_BODY = {"messages": [{"role": "user", "content": TEXT}], "max_tokens": 1000}


def invoke(api: Bench, body: Any, model: str = CLAUDE) -> Any:
    answer = api.client("bedrock-runtime").invoke_model(modelId=model, body=json.dumps(body))
    assert answer["ResponseMetadata"]["HTTPHeaders"]["x-amzn-bedrock-input-token-count"]
    return json.loads(answer["body"].read())


def refused(call: Any) -> tuple[int, str]:
    with pytest.raises(ClientError) as caught:
        call()
    return caught.value.response["ResponseMetadata"]["HTTPStatusCode"], caught.value.response["Error"][
        "Message"
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"anthropic_version": None}, "anthropic_version: Field required"),
        ({"model": "x"}, "model: Extra inputs are not permitted"),
        ({"modelId": "x"}, "modelId: Extra inputs are not permitted"),
        ({"temperature": 0.1, "top_p": 0.9}, "cannot both be specified"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"messages": CONVERSE_BODY["messages"]}, "messages.0.content.0.type: Field required"),
        ({"messages": []}, "at least one message"),
    ],
)
def test_a_claude_body_with_a_mistake_is_refused(api: Bench, change: dict[str, Any], words: str) -> None:
    body = {k: v for k, v in (CLAUDE_BODY | change).items() if v is not None}
    status, message = refused(lambda: invoke(api, body))
    assert (status, words in message) == (400, True), message
    assert api.get("meter")["requests"] == 0


@pytest.mark.parametrize(
    ("model", "body", "words"),
    [
        (
            "amazon.nova-micro-v1:0",
            CONVERSE_BODY | {"inferenceConfig": {"maxTokens": 10_001}},
            "model limit of 10000",
        ),
        (
            "us.meta.llama4-scout-17b-instruct-v1:0",
            {"prompt": "x", "max_gen_len": 30_000},
            "model limit of 8192",
        ),
        (NOVA, CHAT_BODY, "extraneous key [max_tokens]"),
        (NOVA, {"messages": CLAUDE_BODY["messages"]}, "Extra inputs are not permitted"),
        ("qwen.qwen3-32b-v1:0", CHAT_BODY | {"model": "x"}, "Extra inputs"),
        ("qwen.qwen3-32b-v1:0", {"messages": CONVERSE_BODY["messages"]}, "type: Field required"),
        ("meta.llama3-70b-instruct-v1:0", {"messages": []}, "extraneous key [messages]"),
        ("anthropic.claude-opus-5-v1:0", CLAUDE_BODY | {"temperature": 0.2}, "not supported"),
        ("acme.unknown-v1:0", CHAT_BODY, "model identifier is invalid"),
    ],
)
def test_every_family_refuses_another_family_s_body(api: Bench, model: str, body: Any, words: str) -> None:
    status, message = refused(lambda: invoke(api, body, model))
    assert (status, words in message) == (400, True), message


def read_answer(family: str, output: Any) -> str:
    paths: dict[str, Any] = {
        "claude": lambda o: o["content"][0]["text"],
        "nova": lambda o: o["output"]["message"]["content"][0]["text"],
        "llama": lambda o: o["generation"],
        "chat": lambda o: o["choices"][0]["message"]["content"],
        "mistral_text": lambda o: o["outputs"][0]["text"],
        "deepseek": lambda o: o["choices"][0]["text"],
    }
    return str(paths[family](output))


FAMILIES = [
    ("claude", CLAUDE, CLAUDE_BODY),
    ("nova", NOVA, {"messages": [{"role": "user", "content": [{"text": TEXT}]}]}),
    ("llama", "us.meta.llama4-scout-17b-instruct-v1:0", {"prompt": TEXT, "max_gen_len": 1000}),
    ("chat", "mistral.mistral-large-2407-v1:0", CHAT_BODY),
    ("mistral_text", "mistral.mixtral-8x7b-instruct-v0:1", {"prompt": TEXT, "max_tokens": 1000}),
    ("deepseek", "us.deepseek.r1-v1:0", {"prompt": TEXT, "max_tokens": 1000}),
    ("chat", "qwen.qwen3-32b-v1:0", CHAT_BODY),
    ("chat", "openai.gpt-oss-120b-1:0", CHAT_BODY),
]


@pytest.mark.parametrize(("family", "model", "body"), FAMILIES)
def test_each_family_answers_in_its_envelope(api: Bench, family: str, model: str, body: Any) -> None:
    answer = json.loads(read_answer(family, invoke(api, body, model)))
    assert answer["basics"]["email"] == "ada@example.com"
    assert "MARKER-7" in json.dumps(answer)


def test_model_ids_with_slashes_and_colons_reach_the_runtime(api: Bench) -> None:
    arn = f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.{CLAUDE}"
    assert invoke(api, CLAUDE_BODY, arn)["stop_reason"] == "end_turn"


def test_embeddings_have_unit_length(api: Bench) -> None:
    vector = invoke(api, {"inputText": "x", "dimensions": 256}, "amazon.titan-embed-text-v2:0")["embedding"]
    assert len(vector) == 256
    assert abs(sum(v * v for v in vector) - 1) < 1e-9


def test_a_forced_tool_comes_as_a_tool_call(api: Bench) -> None:
    tools = {"tools": [{"name": "save", "input_schema": {}}], "tool_choice": {"type": "tool", "name": "save"}}
    output = invoke(api, CLAUDE_BODY | tools)
    assert (output["stop_reason"], output["content"][0]["input"]["basics"]["name"]) == (
        "tool_use",
        "Ada Lovelace",
    )


def test_an_answer_over_max_tokens_is_cut(api: Bench) -> None:
    output = invoke(api, CLAUDE_BODY | {"max_tokens": 5})
    assert (output["stop_reason"], output["usage"]["output_tokens"]) == ("max_tokens", 5)


def test_converse_limits_hold_on_demand(api: Bench) -> None:
    runtime = api.client("bedrock-runtime")

    def converse(content: list[Any]) -> Any:
        return runtime.converse(modelId=NOVA, messages=[{"role": "user", "content": content}])

    document = {"document": {"format": "pdf", "name": "cv", "source": {"bytes": b"%PDF"}}}
    image = {"image": {"format": "png", "source": {"bytes": b"x"}}}
    assert "text block" in refused(lambda: converse([document]))[1]
    assert "too many images" in refused(lambda: converse([{"text": "x"}] + [image] * 21))[1]
    assert "too many documents" in refused(lambda: converse([{"text": "x"}] + [document] * 6))[1]
    named = {"document": document["document"] | {"name": "cv_1.pdf"}}
    assert "document file name" in refused(lambda: converse([{"text": "x"}, named]))[1]
    assert "blank" in refused(lambda: converse([{"text": "  "}]))[1]
    answer = converse([{"text": "read this"}, document])
    assert answer["output"]["message"]["content"][0]["text"] == '{"unreadable":true}'


def test_on_demand_calls_are_metered_by_the_digest_of_their_body(api: Bench) -> None:
    invoke(api, CLAUDE_BODY)
    assert api.get("meter")["paid_more_than_once"] == {}
    invoke(api, dict(reversed(CLAUDE_BODY.items())))
    meter = api.get("meter?detail=records")
    assert meter["on_demand"]["requests"] == 2
    assert list(meter["digests"].values()) == [{"batch": 0, "on_demand": 2}]
    assert len(meter["paid_more_than_once"]) == 1


def test_capacity_and_injected_errors_come_on_demand_too(api: Bench) -> None:
    api.faults(api={"no_capacity_next": 1}, records=[{"code": 429, "times": 1}])
    assert refused(lambda: invoke(api, CLAUDE_BODY))[0] == 503
    assert refused(lambda: invoke(api, CLAUDE_BODY))[0] == 429
    assert invoke(api, CLAUDE_BODY)
    assert api.get("meter")["requests"] == 1


@pytest.mark.parametrize(
    ("style", "stop", "starts"),
    [
        ("fenced", "end_turn", "```json\n{"),
        ("prose", "end_turn", "Here is"),
        ("truncated", "max_tokens", "{"),
        ("refused", "refusal", "I'm sorry"),
        ("invented", "end_turn", '{"basics":{"name":"John Doe"'),
    ],
)
def test_answers_can_come_as_models_at_times_give_them(
    api: Bench, style: str, stop: str, starts: str
) -> None:
    api.faults(answers=[{"style": style}])
    output = invoke(api, CLAUDE_BODY)
    assert output["stop_reason"] == stop
    assert output["content"][0]["text"].startswith(starts)


def test_a_filtered_answer_has_no_text(api: Bench) -> None:
    api.faults(answers=[{"style": "filtered"}])
    runtime = api.client("bedrock-runtime")
    answer = runtime.converse(modelId=NOVA, messages=[{"role": "user", "content": [{"text": TEXT}]}])
    assert (answer["stopReason"], answer["output"]["message"]["content"]) == ("content_filtered", [])


def test_a_pdf_and_an_image_block_are_read_or_called_unreadable(api: Bench) -> None:
    page = BytesIO()
    canvas = Canvas(page)
    for number, line in enumerate(TEXT.split("\n")):
        canvas.drawString(72, 720 - 20 * number, line)
    canvas.save()
    block = {
        "type": "document",
        "source": {
            "type": "base64",
            "media_type": "application/pdf",
            "data": base64.b64encode(page.getvalue()).decode(),
        },
    }
    message = {"role": "user", "content": [block, {"type": "text", "text": "Read this CV."}]}
    output = invoke(api, CLAUDE_BODY | {"messages": [message]})
    assert json.loads(output["content"][0]["text"])["basics"]["email"] == "ada@example.com"


@pytest.mark.servers
def test_per_record_errors_of_a_batch_leave_the_job_completed(bench: Bench) -> None:
    good = [converse_record(n) for n in range(100)]
    bad = [
        (converse_record(200, toolConfig={"tools": []}), 400),
        (
            converse_record(
                201,
                messages=[{"role": "user", "content": [{"text": "x"}, {"cachePoint": {"type": "default"}}]}],
            ),
            403,
        ),
        (converse_record(202, modelId="x"), 400),
        (converse_record(203, inferenceConfig={"maxTokens": 70_000}), 200),
        (converse_record(204, messages=CLAUDE_BODY["messages"]), 400),
        (converse_record(205, guardrailConfig={}), 400),
        (converse_record(206, anthropic_version="bedrock-2023-05-31"), 400),
    ]
    job = bench.run([*good, *(record for record, _ in bad)], modelId=NOVA, modelInvocationType="Converse")
    assert bench.job(job)["status"] == "Completed"
    lines = {line["recordId"]: line for line in bench.lines(job)}
    for record, code in bad:
        line = lines[record["recordId"]]
        assert line.get("error", {}).get("errorCode", 200) == code, line
        assert line["modelInput"] == record["modelInput"]
    assert bench.job(job)["errorRecordCount"] == 6


@pytest.mark.servers
def test_injected_record_errors_go_away_after_their_times(bench: Bench) -> None:
    bench.faults(
        records=[
            {"code": 429, "record_ids": ["cv-000001"], "times": 1},
            {"code": 500, "record_ids": ["cv-000002"]},
            {"code": 503, "rate": 0.1},
        ]
    )
    records = [claude_record(n) for n in range(200)]
    lines = {line["recordId"]: line for line in bench.lines(bench.run(records))}
    assert lines["cv-000001"]["error"]["errorCode"] == 429
    assert lines["cv-000001"]["error"]["retryable"] is True
    assert lines["cv-000002"]["error"]["errorCode"] == 500
    codes = [line["error"]["errorCode"] for line in lines.values() if "error" in line]
    assert 8 <= codes.count(503) <= 35
    again = {line["recordId"]: line for line in bench.lines(bench.run(records))}
    assert "error" not in again["cv-000001"] or again["cv-000001"]["error"]["errorCode"] == 503
    assert again["cv-000002"]["error"]["errorCode"] == 500


@pytest.mark.servers
def test_claude_cache_control_in_batch_is_a_switch(bench: Bench) -> None:
    cached = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    records = [claude_record(n, system=[cached]) for n in range(100)]
    assert bench.job(bench.run(records))["errorRecordCount"] == 100
    bench.rules(unknowns={"claude_cache_control": "accept"})
    assert bench.job(bench.run(records))["errorRecordCount"] == 0
