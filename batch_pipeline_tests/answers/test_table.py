"""A job's output becomes one outcome per record, whatever the output holds."""

import io
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from batch_pipeline.answers.envelope import wrap
from batch_pipeline.answers.lines import Line, iter_lines
from batch_pipeline.answers.messages import without_content
from batch_pipeline.answers.table import Expected, Settlement, parsed_schema, write_parsed
from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.requests.digests import document_digest
from batch_pipeline.tasks.base import Failure
from batch_pipeline.tasks.cv.parser import CvTask

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
BUILDER = RequestBuilder.for_model(MODEL, "Read it.", 1_000)
TASK = CvTask()


def request(number: int) -> dict[str, Any]:
    return BUILDER.text(f"CV {number}")


def name(number: int) -> str:
    return f"cv-{number:032x}"


def sent(count: int) -> dict[str, Expected]:
    return {
        name(number): Expected(f"{number:032x}", document_digest(request(number))) for number in range(count)
    }


def answered(number: int, text: str | None = None, stop: str = "end_turn", about: int | None = None) -> bytes:
    said = text if text is not None else json.dumps({"basics": {"name": f"P {number}"}})
    output = {
        "content": [{"type": "text", "text": said}],
        "stop_reason": stop,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }
    return wrap(name(number), request(number if about is None else about), output)


def refused(number: int, code: int) -> bytes:
    error = {"errorCode": code, "errorMessage": "no"}
    return json.dumps({"modelInput": request(number), "error": error, "recordId": name(number)}).encode()


def settle(folder: Path, raw: list[bytes], count: int) -> tuple[Settlement, pl.DataFrame]:
    out = folder / "parsed.parquet"
    lines = iter_lines(io.BytesIO(b"\n".join(raw) + b"\n"))
    found = write_parsed(lines, sent(count), out, task=TASK, model=MODEL, digest_of=document_digest)
    assert found.sent == count
    return found, pl.read_parquet(out)


def test_shuffled_answers_land_on_their_own_documents(tmp_path: Path) -> None:
    """F6."""
    raw = [answered(number) for number in range(100)]
    random.Random(7).shuffle(raw)
    found, table = settle(tmp_path, raw, 100)
    assert found.by_outcome == {"parsed": 100}
    assert (found.input_tokens, found.output_tokens) == (10_000, 1_000)
    for row in table.iter_rows(named=True):
        assert json.loads(row["json_resume"])["basics"]["name"] == f"P {int(row['md5'], 16)}"
    assert table.schema == parsed_schema(TASK)
    assert found.outcomes["record_id"].is_sorted()


def test_what_is_parsed_may_be_made_from_an_answer_or_refused(tmp_path: Path) -> None:
    out = tmp_path / "parsed.parquet"

    def restored(record_id: str, text: str) -> str | Failure:
        return text.replace("P 0", "Ana") if record_id == name(0) else Failure("invented", "made up")

    lines = iter_lines(io.BytesIO(b"\n".join([answered(0), answered(1)])))
    found = write_parsed(
        lines, sent(2), out, task=TASK, model=MODEL, digest_of=document_digest, restored=restored
    )
    assert found.by_reason == {"invented": 1}
    rows = pl.read_parquet(out).rows_by_key("record_id", named=True, unique=True)
    assert json.loads(rows[name(0)]["json_resume"])["basics"]["name"] == "Ana"
    assert rows[name(1)]["json_resume"] is None


def test_a_completed_job_in_which_every_record_failed_imports_nothing(tmp_path: Path) -> None:
    """F1."""
    found, table = settle(tmp_path, [refused(n, 400) for n in range(100)], 100)
    assert found.by_outcome == {"error_permanent": 100}
    assert found.outcomes["message"].unique().to_list() == ["no"]
    assert table["status"].unique().to_list() == ["failed"]
    assert table["reason"].unique().to_list() == ["provider_error"]


def test_what_is_worth_another_attempt_has_no_final_row(tmp_path: Path) -> None:
    found, table = settle(tmp_path, [answered(0), refused(1, 429)], 3)
    assert found.by_outcome == {"parsed": 1, "error_retryable": 1, "missing": 1}
    assert table["record_id"].to_list() == [name(0)]


def test_a_truncated_or_filtered_answer_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    """F37."""
    raw = [
        answered(0, '{"basics":{"name":"A"', stop="max_tokens"),
        answered(1, '{"basics":{"name":"A"}}', stop="max_tokens"),
        answered(2, "", stop="content_filtered"),
        answered(3, "I cannot.", stop="refusal"),
    ]
    found, table = settle(tmp_path, raw, 4)
    assert found.by_outcome == {"failed": 4}
    assert found.by_reason == {"truncated": 2, "filtered": 1, "refused": 1}
    assert table["json_resume"].null_count() == 4
    assert table["input_tokens"].to_list() == [100] * 4


def test_an_answer_to_another_request_is_not_an_answer(tmp_path: Path) -> None:
    found, table = settle(tmp_path, [answered(0, about=1), answered(1)], 2)
    assert found.echo_mismatches == 1
    assert found.by_outcome == {"missing": 1, "parsed": 1}
    assert found.by_reason == {"echo_mismatch": 1}
    assert table["record_id"].to_list() == [name(1)]


def test_a_right_line_after_a_wrong_echo_counts(tmp_path: Path) -> None:
    found, _ = settle(tmp_path, [answered(0, about=5), answered(0)], 1)
    assert (found.by_outcome, found.echo_mismatches) == ({"parsed": 1}, 1)


@pytest.mark.parametrize("reverse", [False, True])
def test_of_two_lines_the_one_that_parses_wins_in_any_order(tmp_path: Path, reverse: bool) -> None:
    raw = [answered(0, "no JSON"), answered(0), refused(0, 500)]
    found, table = settle(tmp_path, raw[::-1] if reverse else raw, 1)
    assert found.by_outcome == {"parsed": 1}
    assert found.duplicates == 2
    assert table["status"].to_list() == ["parsed"]


def test_the_first_of_two_good_answers_wins(tmp_path: Path) -> None:
    second = answered(0, '{"basics":{"name":"Second"}}')
    found, table = settle(tmp_path, [answered(0), second], 1)
    assert found.duplicates == 1
    assert "P 0" in table["json_resume"][0]


def test_foreign_and_corrupt_lines_are_counted_and_change_nothing(tmp_path: Path) -> None:
    raw = [b"{", answered(7), answered(0), answered(1)[:-40], b'{"recordId":"' + name(1).encode() + b'"}']
    found, _ = settle(tmp_path, raw, 2)
    assert (found.unknown_ids, found.corrupt) == (1, 3)
    assert found.by_outcome == {"parsed": 1, "missing": 1}
    assert found.by_reason == {"corrupt": 1}


def test_unknown_usage_is_counted_as_unknown(tmp_path: Path) -> None:
    """F28."""
    raw = wrap(name(0), request(0), {"content": [{"type": "text", "text": '{"basics":{"name":"A"}}'}]})
    found, table = settle(tmp_path, [raw], 1)
    assert (found.usage_unknown, found.input_tokens) == (1, 0)
    assert table["input_tokens"].to_list() == [None]


def test_an_empty_output_leaves_every_record_missing(tmp_path: Path) -> None:
    found, table = settle(tmp_path, [], 3)
    assert found.by_outcome == {"missing": 3}
    assert table.is_empty()


def test_a_table_cut_off_by_an_error_is_not_there(tmp_path: Path) -> None:
    def lines() -> Any:
        yield Line(answered(0))
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError):
        write_parsed(
            lines(), sent(1), tmp_path / "p.parquet", task=TASK, model=MODEL, digest_of=document_digest
        )
    assert list(tmp_path.iterdir()) == []


def test_thousands_of_rows_keep_their_order_and_number(tmp_path: Path) -> None:
    found, table = settle(tmp_path, [answered(number) for number in range(4_500)], 4_500)
    assert found.by_outcome == {"parsed": 4_500}
    assert table["record_id"].to_list() == [name(number) for number in range(4_500)]


def test_a_message_keeps_field_names_and_loses_quoted_content() -> None:
    message = "messages.0: Input 'Anna Berg, born 1980' at \"content.0.text\" for anna@example.org"
    assert without_content(message) == "messages.0: Input '…' at \"content.0.text\" for …"
    assert len(without_content("x" * 5_000)) == 300
