"""The requests file: every text, valid, sorted, the same bytes every time."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_pipeline.errors import TerminalError
from batch_pipeline.requests import jsonl
from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.requests.digests import document_digest
from batch_pipeline.requests.jsonl import write_requests

MODELS = ["us.anthropic.claude-haiku-4-5-20251001-v1:0", "us.amazon.nova-lite-v1:0"]
BREAKS = '\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\x00\x7f"\\</document>\U0001f600\u202e'


def md5(number: int) -> str:
    return f"{number * 7919 % 65_536:04x}" + "0" * 28


def write(folder: Path, model: str, parts: list[list[tuple[str, str]]]) -> tuple[Path, pl.DataFrame]:
    paths = []
    for number, part in enumerate(parts):
        path = folder / f"part-{number}.parquet"
        pl.DataFrame(part, schema={"md5": pl.String, "text": pl.String}, orient="row").write_parquet(path)
        paths.append(path)
    documents = pl.DataFrame({"md5": sorted({name for part in parts for name, _ in part})})
    builder = RequestBuilder.for_model(model, 'Lies „das" hier.\n', 1_000)
    index = write_requests(paths, documents, builder, folder / "out.jsonl", folder / "index.parquet")
    return folder / "out.jsonl", index


@given(st.lists(st.text(st.one_of(st.sampled_from(BREAKS), st.characters(exclude_categories=["Cs"])), min_size=1), min_size=1, max_size=12))  # fmt: skip
@settings(max_examples=60)
@pytest.mark.parametrize("model", MODELS)
def test_any_text_is_one_line_equal_to_the_single_request(
    tmp_path_factory: pytest.TempPathFactory, model: str, texts: list[str]
) -> None:
    """F7."""
    folder = tmp_path_factory.mktemp("requests")
    rows = [(md5(number), text) for number, text in enumerate(texts)]
    out, index = write(folder, model, [rows[::2], rows[1::2]])
    builder = RequestBuilder.for_model(model, 'Lies „das" hier.\n', 1_000)
    lines = out.read_bytes().split(b"\n")
    assert lines.pop() == b""
    expected = [builder.line(f"cv-{name}", builder.text(text)) for name, text in sorted(rows)]
    assert [json.loads(line) for line in lines] == expected
    assert index["record_id"].to_list() == [line["recordId"] for line in expected]
    assert index["request_digest"].to_list() == [document_digest(line["modelInput"]) for line in expected]


def test_offsets_and_lengths_name_each_line_with_its_line_feed(tmp_path: Path) -> None:
    out, index = write(tmp_path, MODELS[0], [[(md5(n), f"Text {n} \u2028") for n in range(50)]])
    content = out.read_bytes()
    for row in index.iter_rows(named=True):
        line = content[row["offset"] : row["offset"] + row["length"]]
        assert line.endswith(b"\n")
        assert json.loads(line)["recordId"] == row["record_id"]
    assert index["length"].sum() == len(content)
    assert pl.read_parquet(tmp_path / "index.parquet").equals(index)


def test_the_same_texts_in_other_parts_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(md5(n), f"Text {n} " * 30) for n in range(200)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, _ = write(tmp_path / "a", MODELS[1], [rows])
    monkeypatch.setattr(jsonl, "BATCH_ROWS", 7)
    monkeypatch.setattr(jsonl, "BATCH_BYTES", 500)
    second, _ = write(tmp_path / "b", MODELS[1], [rows[150:], [], rows[:150], rows[10:20]])
    assert first.read_bytes() == second.read_bytes()


def test_texts_of_documents_that_are_not_batched_are_left_out(tmp_path: Path) -> None:
    part = tmp_path / "part.parquet"
    pl.DataFrame({"md5": [md5(1), md5(2)], "text": ["one", "two"]}).write_parquet(part)
    builder = RequestBuilder.for_model(MODELS[0], "Read it.", 1_000)
    index = write_requests(
        [part], pl.DataFrame({"md5": [md5(2)]}), builder, tmp_path / "out", tmp_path / "index"
    )
    assert index["md5"].to_list() == [md5(2)]


def test_a_document_without_text_stops_it_and_leaves_no_file(tmp_path: Path) -> None:
    part = tmp_path / "part.parquet"
    pl.DataFrame({"md5": [md5(1)], "text": ["one"]}).write_parquet(part)
    builder = RequestBuilder.for_model(MODELS[0], "Read it.", 1_000)
    documents = pl.DataFrame({"md5": [md5(1), md5(2)]})
    with pytest.raises(TerminalError, match="1 of 2 batched documents have no text"):
        write_requests([part], documents, builder, tmp_path / "out", tmp_path / "index")
    assert [path.name for path in tmp_path.iterdir()] == ["part.parquet"]


@pytest.mark.parametrize("md5s", [[md5(1), md5(1)], [md5(1).upper() + "F"], [None], ["x"]])
def test_documents_without_an_identity_of_their_own_are_refused(
    tmp_path: Path, md5s: list[str | None]
) -> None:
    builder = RequestBuilder.for_model(MODELS[0], "Read it.", 1_000)
    documents = pl.DataFrame({"md5": md5s}, schema={"md5": pl.String})
    with pytest.raises(TerminalError, match=f"of {len(md5s)} documents"):
        write_requests([], documents, builder, tmp_path / "out", tmp_path / "index")


def test_no_documents_give_an_empty_file(tmp_path: Path) -> None:
    builder = RequestBuilder.for_model(MODELS[0], "Read it.", 1_000)
    none = pl.DataFrame(schema={"md5": pl.String})
    index = write_requests([], none, builder, tmp_path / "out", tmp_path / "index")
    assert index.is_empty()
    assert (tmp_path / "out").read_bytes() == b""
