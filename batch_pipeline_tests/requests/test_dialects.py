"""Bodies of the other providers: the shape each API documents, the same text in all of them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from batch_pipeline.provider_settings import Kind
from batch_pipeline.requests.bodies import RequestBuilder, framed
from batch_pipeline.requests.dialects.base import VISION_TEXT
from batch_pipeline.requests.file_blocks import FileBlock
from batch_pipeline.requests.jsonl import write_requests

MODELS: list[tuple[Kind, str, str]] = [
    ("openai", "gpt-5-mini", "chat_completions"),
    ("anthropic", "claude-haiku-4-5", "messages"),
    ("gemini", "gemini-2.5-flash", "generate_content"),
    ("vertex", "gemini-2.5-flash", "generate_content"),
    ("vertex", "claude-haiku-4-5@20251001", "raw_predict"),
    ("vercel", "openai/gpt-5-mini", "gateway"),
]
PDF = FileBlock("application/pdf", b"%PDF-1.7")
PNG = FileBlock("image/png", b"\x89PNG")


def builder(kind: Kind, model: str) -> RequestBuilder:
    return RequestBuilder.for_model(model, 'Read "it".', 4_096, kind)


@pytest.mark.parametrize(("kind", "model", "dialect"), MODELS)
def test_lines_by_columns_are_those_of_the_single_request(
    tmp_path: Path, kind: Kind, model: str, dialect: str
) -> None:
    made = builder(kind, model)
    assert made.dialect.name == dialect
    texts = {f"{n:032x}": f'Ada "{n}"\n\u2028 \x00 \\ </document>' for n in range(3)}
    pl.DataFrame({"md5": list(texts), "text": list(texts.values())}).write_parquet(tmp_path / "part")
    write_requests(
        [tmp_path / "part"], pl.DataFrame({"md5": list(texts)}), made, tmp_path / "out", tmp_path / "index"
    )
    lines = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert lines == [made.line(f"cv-{md5}", made.text(text)) for md5, text in texts.items()]


@pytest.mark.parametrize(("kind", "model", "dialect"), MODELS)
def test_no_body_names_its_model_and_each_limits_its_answer(kind: Kind, model: str, dialect: str) -> None:
    body = json.dumps(builder(kind, model).text("Ada"))
    assert '"model"' not in body
    assert "4096" in body


def test_openai_takes_plain_strings_and_no_temperature() -> None:
    body = builder("openai", "gpt-5-mini").text("Ada")
    assert body == {
        "max_completion_tokens": 4096,
        "response_format": {"type": "json_object"},
        "messages": [
            {"role": "system", "content": 'Read "it".'},
            {"role": "user", "content": framed("Ada")},
        ],
    }


def test_only_bedrock_and_vertex_name_a_version_in_claudes_body() -> None:
    assert "anthropic_version" not in builder("anthropic", "claude-haiku-4-5").text("Ada")
    vertex = builder("vertex", "claude-haiku-4-5@20251001").text("Ada")
    assert vertex["anthropic_version"] == "vertex-2023-10-16"


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-opus-5-20260801"])
def test_a_model_that_refuses_a_temperature_gets_none_under_any_name(model: str) -> None:
    assert "temperature" not in builder("anthropic", model).text("Ada")
    assert "temperature" not in builder("vercel", f"anthropic/{model}").text("Ada")
    assert builder("vertex", "claude-haiku-4-5@20251001").text("Ada")["temperature"] == 0


def test_anthropics_own_api_is_told_no_temperature() -> None:
    """Version 2026-10-21 refuses one in every record, whatever the model and even the default."""
    assert set(builder("anthropic", "claude-haiku-4-5").text("Ada")) == {"max_tokens", "system", "messages"}


def shown(body: dict[str, Any], kind: Kind) -> list[Any]:
    """The blocks of the user's message."""
    if kind in {"gemini", "vertex"}:
        return list(body["contents"][0]["parts"])
    return list((body.get("messages") or body["prompt"])[-1]["content"])


@pytest.mark.parametrize(("kind", "model", "dialect"), [one for one in MODELS if one[2] != "raw_predict"])
def test_a_file_is_shown_before_the_sentence_about_it(kind: Kind, model: str, dialect: str) -> None:
    blocks = shown(builder(kind, model).vision([PNG, PDF]), kind)
    assert len(blocks) == 3
    assert PNG.base64 in json.dumps(blocks[0])
    assert PDF.base64 in json.dumps(blocks[1])
    assert blocks[2]["text"] == VISION_TEXT


def test_openai_gets_images_and_files_as_data_urls() -> None:
    blocks = shown(builder("openai", "gpt-5-mini").vision([PNG, PDF]), "openai")
    assert blocks[0] == {"type": "image_url", "image_url": {"url": PNG.data_url}}
    assert blocks[1] == {"type": "file", "file": {"filename": "document-2.pdf", "file_data": PDF.data_url}}
