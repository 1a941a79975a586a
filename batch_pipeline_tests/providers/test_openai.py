"""The OpenAI adapter: what its contract suite cannot say for every provider."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from batch_pipeline.answers.envelope import Answer, RecordError, read
from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.local.ports import free_ports
from batch_pipeline.local.processes import ServerProcess
from batch_pipeline.providers.contract import LostAnswer, RefusedAnswer
from batch_pipeline.providers.job_names import job_name
from batch_pipeline.providers.openai import OpenAIBatch
from batch_pipeline.providers.openai_lines import our_line
from batch_pipeline_tests.providers.fakes.core import Core
from batch_pipeline_tests.providers.fakes.openai import KEY, MODEL, OpenAISkin
from batch_pipeline_tests.providers.fakes.skin import running
from batch_pipeline_tests.providers.openai_place import (
    BODY,
    LONG_AGO,
    ended,
    lines_of,
    provider,
    ready,
    request,
    sent,
    shard,
)
from batch_pipeline_tests.providers.silent_server import NO_JSON, silent_server


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENAI_PROJECT_ID", "OPENAI_ORG_ID", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Core(0)


@pytest.fixture
def acme(core: Core) -> Iterator[OpenAIBatch]:
    with running(OpenAISkin(), core) as url:
        yield provider(f"{url}/v1")


def test_only_this_migrations_files_are_erased(acme: OpenAIBatch, core: Core) -> None:
    """Names that begin alike are of another migration; an upload no job names is ours all the same."""
    other = provider(str(acme.client.base_url), "acme-2026")
    mine = sent(acme, "acme")
    sent(other, "acme-2026", "1")
    acme.upload(job_name("acme", "2" * 64, 1), shard(1), 0)
    for job in list(core.jobs):
        acme.report(job)
    assert len(core.files) == 5
    done = acme.erase([mine], LONG_AGO)
    assert (done.listed, done.deleted, done.left) == (3, 3, 0)
    assert "batch records" in done.kept[0]
    left = {file["filename"] for file in core.files.values()}
    assert job_name("acme-2026", "1" * 64, 1) + ".jsonl" in left
    assert len(left) == 2
    assert acme.erase([mine], LONG_AGO).listed == 0


def test_a_job_the_ledger_forgot_is_erased_by_its_stamp(acme: OpenAIBatch, core: Core) -> None:
    sent(acme, "acme")
    assert acme.erase([], LONG_AGO).deleted == 2
    assert core.files == {}


def test_a_job_under_way_is_stopped_and_not_erased(acme: OpenAIBatch, core: Core) -> None:
    core.job_seconds = 100
    job = sent(acme, "acme")
    with pytest.raises(TransientError, match="1 jobs of migration acme are still under way"):
        acme.erase([], LONG_AGO)
    assert acme.report(job).status == "Stopped"
    assert acme.erase([], LONG_AGO).left == 0


def test_a_job_is_found_by_its_token_alone(acme: OpenAIBatch) -> None:
    job = sent(acme, "acme")
    name = job_name("acme", "0" * 64, 1)
    found = acme.find(request(acme, name), LONG_AGO)
    assert found is not None
    assert (found.provider_id, found.name) == (job, name)
    assert acme.find(request(acme, job_name("acme", "0" * 64, 2)), LONG_AGO) is None
    assert acme.find(request(acme, name), datetime.now(UTC) + timedelta(hours=1)) is None


def test_a_new_process_finds_the_upload_of_the_old_one(acme: OpenAIBatch) -> None:
    name = job_name("acme", "0" * 64, 1)
    acme.upload(name, shard(1, 2), 0)
    again = provider(str(acme.client.base_url))
    assert lines_of(again, again.create(request(again, name)))
    nothing = job_name("acme", "1" * 64, 1)
    with pytest.raises(TransientError, match="its upload is not there"):
        again.create(request(again, nothing))


def test_an_upload_expires_by_itself_should_nobody_erase_it(acme: OpenAIBatch, core: Core) -> None:
    assert acme.section.files_expire_days == 30
    acme.upload("bp-acme", shard(1), 0)
    acme.discard("bp-acme")
    assert core.files == {}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            {"response": {"status_code": 400, "body": {"error": {"message": "no"}}}, "error": None},
            ("400", False),
        ),
        ({"response": {"status_code": 503, "body": '{"error": {"message": "no"}}'}}, ("503", True)),
        ({"response": None, "error": {"code": "request_timeout", "message": "slow"}}, ("408", True)),
        ({"response": None, "error": {"code": "new_word", "message": "?"}}, ("new_word", True)),
        (
            {"response": {"status_code": 429, "body": {"error": {"code": "insufficient_quota"}}}},
            ("402", True),
        ),
        (
            {
                "response": {
                    "status_code": 400,
                    "body": {"error": {"message": "Your credit balance is too low"}},
                }
            },
            ("402", True),
        ),
        ({"response": None, "error": None}, ("no_response", True)),
        ({"error": {"type": "request_failed", "message": "no"}}, ("request_failed", True)),
    ],
)
def test_a_failure_is_one_however_it_is_written(line: dict[str, Any], wanted: tuple[str, bool]) -> None:
    made = our_line(json.dumps({"custom_id": "cv-1", **line}).encode())
    assert made is not None
    found = read(made)
    assert isinstance(found, RecordError)
    assert (found.code, found.retryable) == wanted


@pytest.mark.parametrize("code", ["batch_expired", "batch_cancelled"])
def test_what_never_began_has_no_line(code: str) -> None:
    line = {"custom_id": "cv-1", "response": None, "error": {"code": code, "message": "x"}}
    assert our_line(json.dumps(line).encode()) is None


@pytest.mark.parametrize("as_text", [False, True], ids=["object", "text, as OGX writes it"])
@pytest.mark.parametrize("content", ['{"basics":{}}', "\ud83d half of a pair", "line\u2028break"])
def test_an_answer_is_read_as_it_was_given(as_text: bool, content: str) -> None:
    body: Any = {
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }
    line = {
        "custom_id": "cv-1",
        "response": {"status_code": 200, "body": json.dumps(body) if as_text else body},
    }
    made = our_line(json.dumps(line).encode())
    assert made is not None
    found = read(made)
    assert isinstance(found, Answer)
    assert (found.input_tokens, found.output_tokens, found.stop) == (7, 3, "end")
    assert found.text == content.replace("\ud83d", "\ufffd")


def test_what_is_no_result_goes_on_to_be_counted() -> None:
    for odd in (b"{", b"[]", b'{"custom_id": 7}', b'{"a": 1}'):
        assert our_line(odd) == odd


def test_a_refused_connection_is_no_doubt(core: Core) -> None:
    away = provider("http://127.0.0.1:9/v1")
    away._uploaded["n"] = "file-1"
    with pytest.raises(TransientError, match="nothing was sent"):
        away.create(request(away, "n"))
    with pytest.raises(TransientError, match="nothing was sent"):
        away.answer(MODEL, "chat_completions", BODY)
    assert [check.passed for check in away.preflight(MODEL, {})] == [False, True]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"HTTP/1.1 502 Bad\r\ncontent-length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\ncontent-type: text/html\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}",
        NO_JSON,
    ],
    ids=["cut", "a bad gateway", "cut in the body", "a proxy's page", "no job named", "no JSON"],
)
def test_an_answer_that_never_came_whole_is_a_doubt(core: Core, answer: bytes | None) -> None:
    with silent_server(answer) as url:
        lost = provider(f"{url}/v1")
        lost._uploaded["n"] = "file-1"
        with pytest.raises(LostAnswer):
            lost.create(request(lost, "n"))


def test_a_look_whose_answer_is_no_json_is_repeated_later(core: Core) -> None:
    with silent_server(NO_JSON) as url, pytest.raises(TransientError, match="status of batch_1"):
        provider(f"{url}/v1").report("batch_1")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"HTTP/1.1 500 Bad\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]",
    ],
)
def test_a_single_call_without_an_answer_may_have_been_paid(core: Core, answer: bytes | None) -> None:
    with silent_server(answer) as url, pytest.raises(LostAnswer):
        provider(f"{url}/v1").answer(MODEL, "chat_completions", BODY)


def test_a_wrong_key_is_refused_for_good(acme: OpenAIBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    wrong = provider(str(acme.client.base_url))
    assert wrong.account != acme.account
    with pytest.raises(TerminalError, match="invalid_api_key"):
        wrong.upload("n", shard(1), 0)
    with pytest.raises(RefusedAnswer) as refused:
        wrong.answer(MODEL, "chat_completions", BODY)
    assert refused.value.code == 401
    failed = [check for check in wrong.preflight(MODEL, {}) if not check.passed]
    assert failed
    assert "OPENAI_API_KEY" in failed[0].detail


def test_no_key_is_a_setting_that_is_missing(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        provider("http://127.0.0.1:9/v1")


def test_a_page_of_jobs_is_not_the_last(acme: OpenAIBatch, core: Core) -> None:
    first = sent(acme, "acme")
    file = next(iter(core.files))
    for number in range(150):
        core.accept("batch_", [], {"input_file_id": file, "errors": [], "metadata": {"n": str(number)}})
    found = acme.find(request(acme, job_name("acme", "0" * 64, 1)), LONG_AGO)
    assert found is not None
    assert found.provider_id == first
    assert len(list(acme.reports(LONG_AGO))) == 151


def test_nothing_of_aws_is_even_loaded() -> None:
    """A migration elsewhere needs no bucket: neither boto3 nor its credentials."""
    code = (
        "import sys; from batch_pipeline.stages import headless, courier; "
        "from batch_pipeline.providers import openai; "
        "print([name for name in ('boto3', 'botocore', 'dagster') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_independent_server_runs_a_job_from_upload_to_erasure(core: Core, tmp_path: Path) -> None:
    """llmock knows nothing of us. It lists no files (405) and does not say `completed` at once."""
    port = free_ports(1)[0]
    command = [sys.executable, "-m", "llmock.cli", "serve", "--port", str(port), "--response-style", "echo"]
    server = ServerProcess("llmock", command, tmp_path / "log", tmp_path, stop_seconds=10)
    with server:
        server.wait_ready(lambda: ready(f"http://127.0.0.1:{port}/v1/models"), 60)
        away = provider(f"http://127.0.0.1:{port}/v1")
        assert all(check.passed for check in away.preflight(MODEL, {}))
        name = job_name("acme", "0" * 64, 1)
        away.upload(name, shard(1, 2, 3), 0)
        job = away.create(request(away, name))
        found = away.find(request(away, name), LONG_AGO)
        assert found is not None
        assert found.provider_id == job
        assert ended(away, job).status == "Completed"
        answers = lines_of(away, job)
        assert sorted(answer.record_id for answer in answers) == [f"cv-{n:032x}" for n in (1, 2, 3)]
        assert all(isinstance(answer, Answer) for answer in answers)
        assert away.answer(MODEL, "chat_completions", BODY)["choices"]
        assert away.erase([job], LONG_AGO).left == 0
