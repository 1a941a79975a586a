"""The Anthropic adapter: what its contract suite cannot say for every provider.

Cases are those of contracts/providers.md section 5, by number.
"""

import io
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from batch_pipeline.answers.envelope import Answer, RecordError, read
from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.local.ports import free_ports
from batch_pipeline.local.processes import ServerProcess
from batch_pipeline.provider_settings import AnthropicProvider
from batch_pipeline.providers.anthropic import AnthropicBatches, open_provider
from batch_pipeline.providers.anthropic_lines import batch_body, first_custom_id, job_mark, our_line
from batch_pipeline.providers.contract import (
    JobRequest,
    LostAnswer,
    NotYetKnown,
    OutputFile,
    RefusedAnswer,
    ResultsGone,
)
from batch_pipeline.providers.job_names import job_name
from batch_pipeline.providers.registry import Setup
from batch_pipeline.providers.wire_lines import Request, split_lines
from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.settings import Settings
from batch_pipeline.stages.report import cost_report
from batch_pipeline_tests.providers.fakes.anthropic import CACHED, KEY, MODEL, AnthropicSkin
from batch_pipeline_tests.providers.fakes.core import Core
from batch_pipeline_tests.providers.fakes.skin import running
from batch_pipeline_tests.providers.migration_place import Place
from batch_pipeline_tests.providers.silent_server import NO_JSON, silent_server

LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
BODY = RequestBuilder.for_model(MODEL, "Answer in JSON.", 1000, "anthropic").text("Ada Example\nEngineer")
SETTINGS = Settings.model_validate({"database_url": "postgresql://nowhere"})
MARK = job_mark("0123456789abcdef", "acme")


def provider(url: str, key: str = "acme", **more: Any) -> AnthropicBatches:
    section = AnthropicProvider(kind="anthropic", model=MODEL, base_url=url, **more)
    made = open_provider(Setup(section, SETTINGS, key))
    assert isinstance(made, AnthropicBatches)
    return made


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Core:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return Core(0)


@pytest.fixture
def acme(core: Core) -> Iterator[AnthropicBatches]:
    with running(AnthropicSkin(), core) as url:
        yield provider(url)


def shard(*numbers: int) -> io.BytesIO:
    lines = [json.dumps({"recordId": f"cv-{n:032x}", "modelInput": BODY}) for n in numbers]
    return io.BytesIO("\n".join(lines).encode())


def request(of: AnthropicBatches, digit: str = "0", records: int = 1) -> JobRequest:
    name = job_name(of.key, digit * 64, 1)
    uris = (of.input_uri(name), of.output_uri(name))
    return JobRequest(name, digit * 64, MODEL, "messages", *uris, 24, records)


def sent(of: AnthropicBatches, digit: str = "0", *numbers: int) -> str:
    asked = request(of, digit)
    of.upload(asked.name, shard(*(numbers or (1,))), 0)
    return of.create(asked)


def lines_of(of: AnthropicBatches, provider_id: str) -> list[Any]:
    found = []
    for file in of.outputs("", provider_id):
        with of.open(file) as stream:
            found += [read(line) for line in stream.read(1 << 20).splitlines()]
    return found


def test_every_custom_id_names_its_job_its_migration_and_its_record() -> None:
    """Case 11: within the strictest rule known, and no two alike."""
    requests = [Request(f"cv-{n:032x}", b'{"max_tokens":1}') for n in range(3)]
    body = json.loads(b"".join(batch_body(requests, MARK, MODEL)))
    ids = [one["custom_id"] for one in body["requests"]]
    assert ids[0].startswith("01234567-")
    assert ids[0].endswith(f"-cv-{0:032x}")
    assert all(len(one) <= 64 for one in ids)
    assert len(set(ids)) == 3
    assert body["requests"][0]["params"] == {"model": MODEL, "max_tokens": 1}


def test_a_lost_job_is_found_by_its_first_result_and_by_nothing_else(acme: AnthropicBatches) -> None:
    """Cases 1 and 3."""
    job = sent(acme, "0")
    found = acme.find(request(acme, "0"), LONG_AGO)
    assert found is not None
    assert (found.provider_id, found.status) == (job, "Completed")
    assert acme.find(request(acme, "1"), LONG_AGO) is None
    assert acme.find(request(acme, "0", records=2), LONG_AGO) is None
    assert acme.find(request(acme, "0"), LONG_AGO, known={job}) is None
    assert acme.find(request(acme, "0"), datetime.now(UTC) + timedelta(hours=1)) is None


def test_a_batch_under_way_that_may_be_it_is_waited_for(acme: AnthropicBatches, core: Core) -> None:
    """Nothing tells whose it is before it has ended, so nothing may be sent."""
    core.job_seconds = 100
    job = sent(acme, "0")
    with pytest.raises(NotYetKnown, match="1 batches of 1 requests are under way"):
        acme.find(request(acme, "1"), LONG_AGO)
    assert acme.find(request(acme, "1"), LONG_AGO, known={job}) is None
    assert acme.find(request(acme, "1", records=7), LONG_AGO) is None
    core.job_seconds = 0
    assert acme.find(request(acme, "1"), LONG_AGO) is None


def test_a_batch_whose_results_cannot_be_read_is_never_taken_for_another_one(
    acme: AnthropicBatches, core: Core
) -> None:
    sent(acme, "0")
    core.faults.results_gone = True
    with pytest.raises(TerminalError, match="may be job"):
        acme.find(request(acme, "0"), LONG_AGO)


def test_an_unreadable_first_result_does_not_hide_whose_job_it_is(acme: AnthropicBatches, core: Core) -> None:
    asked = request(acme, "0", records=2)
    acme.upload(asked.name, shard(1, 2), 0)
    job = acme.create(asked)
    core.faults.corrupt_lines = 1
    found = acme.find(asked, LONG_AGO)
    assert found is not None
    assert found.provider_id == job


def test_a_page_of_batches_is_not_the_last(acme: AnthropicBatches, core: Core) -> None:
    first = sent(acme, "0")
    for _ in range(150):
        core.accept("msgbatch_", [], {"ids": {}, "wrong": {}})
    found = acme.find(request(acme, "0"), LONG_AGO)
    assert found is not None
    assert found.provider_id == first
    assert len(list(acme.reports(LONG_AGO))) == 151


def test_results_are_read_from_our_own_address_alone(acme: AnthropicBatches, core: Core) -> None:
    """`results_url` leads to another host, and would take the credential there."""
    job = sent(acme, "0", 1, 2)
    assert "elsewhere.invalid" in str(acme.client.messages.batches.retrieve(job).results_url)
    assert sorted(answer.record_id for answer in lines_of(acme, job)) == [f"cv-{n:032x}" for n in (1, 2)]


def test_the_body_of_a_create_call_is_streamed_with_its_length_and_sent_once(
    acme: AnthropicBatches, core: Core
) -> None:
    """Case 3: the fake refuses a body without a length."""
    sent(acme, "0", *range(1, 200))
    assert core.meter.create_calls == 1
    with pytest.raises(TransientError, match="not here any more"):
        acme.create(request(acme, "0"))


def test_a_busy_service_is_asked_once(acme: AnthropicBatches, core: Core) -> None:
    """Case 3: the SDK repeats a create call three times unless it is told not to."""
    core.faults.error_before_accept = 5
    with pytest.raises(LostAnswer):
        sent(acme, "0")
    assert core.meter.create_calls == 1


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n", b"\r\n\r\n"])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_results_are_read_whatever_their_line_ends_and_wherever_they_are_cut(
    ending: bytes, size: int
) -> None:
    """Cases 7 and 8: the SDK's own reader stops at a blank line and at a CRLF between two pieces."""
    names = ["Zoë Ünsal", "山田"]
    data = b"".join(
        json.dumps(
            {"custom_id": f"{MARK}cv-{n}", "result": {"type": "succeeded", "message": message(name)}},
            ensure_ascii=False,
        ).encode()
        + ending
        for n, name in enumerate(names)
    )
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    found = [read(our_line(line, "acme") or b"") for line in split_lines(chunks)]
    assert [(one.record_id, one.text) for one in found if isinstance(one, Answer)] == [
        (f"cv-{n}", name) for n, name in enumerate(names)
    ]
    assert first_custom_id(chunks) == f"{MARK}cv-0"


def message(text: str, stop: str = "end_turn", **usage: int) -> dict[str, Any]:
    return {
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "usage": {"input_tokens": 7, "output_tokens": 3, **usage},
    }


def result_line(result: dict[str, Any]) -> bytes:
    return json.dumps({"custom_id": f"{MARK}cv-1", "result": result}).encode()


def errored(kind: str, words: str = "no") -> dict[str, Any]:
    return {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": words}}}


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (errored("invalid_request_error"), ("400", False)),
        (errored("overloaded_error"), ("529", True)),
        (errored("api_error"), ("500", True)),
        (errored("rate_limit_error"), ("429", True)),
        (errored("a_new_word"), ("a_new_word", True)),
        (errored("invalid_request_error", "Your credit balance is too low to access"), ("402", True)),
        (errored("billing_error"), ("402", True)),
        ({"type": "errored"}, ("error", True)),
        ({"type": "wat", "message": message("x")}, ("unknown_result", True)),
    ],
)
def test_a_failure_is_one_however_it_is_written(result: dict[str, Any], wanted: tuple[str, bool]) -> None:
    """Cases 13 and 17; and the SDK makes a success of a type it does not know (section 1, 7)."""
    made = our_line(result_line(result), "acme")
    assert made is not None
    found = read(made)
    assert isinstance(found, RecordError)
    assert found.record_id == "cv-1"
    assert (found.code, found.retryable) == wanted


@pytest.mark.parametrize("kind", ["expired", "canceled"])
def test_what_never_began_has_no_line(kind: str) -> None:
    assert our_line(result_line({"type": kind}), "acme") is None


@pytest.mark.parametrize(
    ("stop", "wanted"), [("max_tokens", "truncated"), ("refusal", "refused"), ("pause_turn", "truncated")]
)
def test_a_success_may_be_no_whole_answer(stop: str, wanted: str) -> None:
    made = our_line(result_line({"type": "succeeded", "message": message("{", stop)}), "acme")
    assert made is not None
    found = read(made)
    assert isinstance(found, Answer)
    assert found.stop == wanted


def test_half_of_a_surrogate_pair_does_not_lose_an_answer() -> None:
    made = our_line(result_line({"type": "succeeded", "message": message("\ud83d half")}), "acme")
    assert made is not None
    found = read(made)
    assert isinstance(found, Answer)
    assert found.text == "\ufffd half"


def test_a_result_of_another_migration_keeps_its_whole_id() -> None:
    made = our_line(result_line({"type": "succeeded", "message": message("x")}), "other")
    assert made is not None
    assert f'"{MARK}cv-1"'.encode() in made


def test_what_is_no_result_goes_on_to_be_counted() -> None:
    for odd in (b"{", b"[]", b'{"custom_id": 7}', b'{"custom_id": "a", "result": 1}'):
        assert our_line(odd, "acme") == odd


def test_only_this_migrations_batches_are_erased(acme: AnthropicBatches, core: Core) -> None:
    """One the ledger knows and one it forgot, known by its records; those of others stay."""
    other = provider(str(acme.client.base_url), "acme-2026")
    mine = sent(acme, "0")
    sent(acme, "1")
    theirs = sent(other, "2")
    done = acme.erase([mine, "msgbatch_of_long_ago"], LONG_AGO)
    assert (done.listed, done.deleted, done.left, done.kept) == (2, 2, 0, [])
    assert list(core.jobs) == [theirs]
    assert acme.erase([mine], LONG_AGO).listed == 0


def test_a_job_under_way_is_stopped_and_not_erased(acme: AnthropicBatches, core: Core) -> None:
    core.job_seconds = 100
    job = sent(acme, "0")
    with pytest.raises(TransientError, match="1 jobs of migration acme are still under way"):
        acme.erase([job], LONG_AGO)
    assert acme.report(job).status == "Stopped"
    assert acme.erase([job], LONG_AGO).left == 0


def test_a_batch_that_may_be_anybodys_is_said_and_not_touched(acme: AnthropicBatches, core: Core) -> None:
    core.job_seconds = 100
    theirs = sent(provider(str(acme.client.base_url), "other"), "0")
    done = acme.erase([], LONG_AGO)
    assert "1 batches of the workspace are under way" in done.kept[0]
    assert not core.jobs[theirs].cancel_asked


def test_a_batch_the_workspace_does_not_know_is_gone_and_never_sent_again(acme: AnthropicBatches) -> None:
    """Case 18."""
    with pytest.raises(ResultsGone):
        acme.report("msgbatch_1")
    with pytest.raises(ResultsGone):
        acme.outputs("n", "msgbatch_1")


def test_wrong_parameters_are_errors_of_records_that_nobody_pays(acme: AnthropicBatches, core: Core) -> None:
    """Parameters are looked at after create: a cache that is warmed in a batch, for one."""
    asked = request(acme)
    line = {"recordId": f"cv-{1:032x}", "modelInput": {**BODY, "max_tokens": 0}}
    acme.upload(asked.name, io.BytesIO(json.dumps(line).encode()), 0)
    found = lines_of(acme, acme.create(asked))
    assert isinstance(found[0], RecordError)
    assert (found[0].code, found[0].retryable) == ("400", False)


def test_a_refused_connection_is_no_doubt(core: Core) -> None:
    away = provider("http://127.0.0.1:9")
    with pytest.raises(TransientError, match="nothing was sent"):
        sent(away)
    with pytest.raises(TransientError, match="nothing was sent"):
        away.answer(MODEL, "messages", BODY)
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
    with silent_server(answer) as url, pytest.raises(LostAnswer):
        sent(provider(url))


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
        provider(url).answer(MODEL, "messages", BODY)


def test_an_answer_that_breaks_off_is_no_end_of_the_results(core: Core) -> None:
    cut = b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n" + result_line({"type": "expired"}) + b"\n"
    with (
        silent_server(cut) as url,
        provider(url).open(OutputFile("msgbatch_1")) as stream,
        pytest.raises(TransientError, match="results of msgbatch_1"),
    ):
        stream.read(1 << 20)


def test_a_wrong_key_is_refused_for_good(acme: AnthropicBatches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "wrong")
    wrong = provider(str(acme.client.base_url))
    assert wrong.account != acme.account
    assert "wrong" not in wrong.account
    with pytest.raises(TerminalError, match="authentication_error"):
        sent(wrong)
    with pytest.raises(RefusedAnswer) as refused:
        wrong.answer(MODEL, "messages", BODY)
    assert refused.value.code == 401
    failed = [check for check in wrong.preflight(MODEL, {}) if not check.passed]
    assert "ANTHROPIC_API_KEY" in failed[0].detail


def test_an_empty_account_is_no_bad_input(acme: AnthropicBatches, core: Core) -> None:
    """Case 17: it answers 400 and invalid_request_error, as bad input does."""
    core.faults.credit_exhausted = True
    with pytest.raises(TerminalError, match="credit or budget is used up"):
        sent(acme)
    with pytest.raises(RefusedAnswer) as refused:
        acme.answer(MODEL, "messages", BODY)
    assert refused.value.code == 402


def test_no_key_is_a_setting_that_is_missing(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY"):
        provider("http://127.0.0.1:9")


@pytest.mark.servers
def test_a_prompt_is_written_to_the_cache_once_and_what_was_read_there_is_counted(
    core: Core, tmp_path: Path, postgres_url: str
) -> None:
    with running(AnthropicSkin(), core) as url:
        place = Place(AnthropicSkin(), core, url, tmp_path, postgres_url)
        options = {"cache_prompt": True, "quotas": {"max_records_per_job": 3}}
        key = place.migration(provider=options)
        assert place.run(key) == "done"
        place.assert_right(key)
        place.assert_billed_once()
        assert len(core.files["warmed"]) == 1
        assert core.meter.single_calls == 0
        with place.opened(key) as context:
            figures = cost_report(context)
    assert figures["batch_cached_input_tokens"] == 6 * CACHED
    assert figures["batch_input_tokens"] > 6 * CACHED
    assert "wrote the prompt to the cache" in figures["unknown"]


def test_a_cache_that_cannot_be_warmed_keeps_no_batch_back(acme: AnthropicBatches, core: Core) -> None:
    away = provider(str(acme.client.base_url), cache_prompt=True)
    assert away.fingerprint != acme.fingerprint
    core.faults.drop_answer = 1
    assert sent(away) in core.jobs
    assert core.meter.create_calls == 1
    sent(away, "1")
    sent(away, "2")
    assert len(core.files["warmed"]) == 2, "lost once, then written for an hour"


def _ready(url: str) -> bool:
    try:
        return httpx.get(url, timeout=1).status_code < 500
    except httpx.HTTPError:
        return False


def test_an_independent_server_runs_a_job_and_what_it_cannot_delete_is_not_called_erased(
    core: Core, tmp_path: Path
) -> None:
    """llmock knows nothing of us. Its `results_url` leads nowhere under this address, and it deletes nothing."""
    port = free_ports(1)[0]
    command = [sys.executable, "-m", "llmock.cli", "serve", "--port", str(port), "--response-style", "echo"]
    server = ServerProcess("llmock", command, tmp_path / "log", tmp_path, stop_seconds=10)
    with server:
        server.wait_ready(lambda: _ready(f"http://127.0.0.1:{port}/v1/models"), 60)
        away = provider(f"http://127.0.0.1:{port}/anthropic")
        assert all(check.passed for check in away.preflight(MODEL, {}))
        job = sent(away, "0", 1, 2, 3)
        asked = request(away, "0", records=3)
        with pytest.raises(NotYetKnown):
            away.find(asked, LONG_AGO)
        deadline = time.monotonic() + 30
        while away.report(job).phase != "ended":
            assert time.monotonic() < deadline
        found = away.find(asked, LONG_AGO)
        assert found is not None
        assert (found.provider_id, found.status) == (job, "Completed")
        answers = lines_of(away, job)
        assert sorted(answer.record_id for answer in answers) == [f"cv-{n:032x}" for n in (1, 2, 3)]
        assert all(isinstance(answer, Answer) for answer in answers)
        assert away.answer(MODEL, "messages", BODY)["content"]
        with pytest.raises(TerminalError):
            away.erase([job], LONG_AGO)
