"""The adapter of Vercel's AI Gateway: what its contract suite cannot say for every provider.

Cases are those of contracts/providers.md section 5, by number.
"""

import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from batch_pipeline.answers.envelope import Answer, RecordError, read
from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.migration import Migration
from batch_pipeline.provider_settings import VercelProvider
from batch_pipeline.providers.contract import JobRequest, LostAnswer, ResultsGone
from batch_pipeline.providers.job_names import job_name
from batch_pipeline.providers.registry import Setup
from batch_pipeline.providers.vercel import VercelGateway, open_provider
from batch_pipeline.providers.vercel_lines import our_line
from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.settings import Settings
from batch_pipeline_tests.providers.fakes.core import Core
from batch_pipeline_tests.providers.fakes.skin import running
from batch_pipeline_tests.providers.fakes.vercel import KEY, MODEL, SECRET, VercelSkin
from batch_pipeline_tests.providers.silent_server import silent_server

LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
BODY = RequestBuilder.for_model(MODEL, "Answer in JSON.", 1000, "vercel").text("Ada Example\nEngineer")


class Place:
    """The gateway, and machines that have each their own disk."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder

    def machine(self, name: str = "first", key: str = "acme", **more: Any) -> VercelGateway:
        section = VercelProvider(kind="vercel", model=MODEL, base_url=self.address, **more)
        settings = Settings.model_validate(
            {"database_url": "postgresql://nowhere", "home": self.folder / name}
        )
        made = open_provider(Setup(section, settings, key))
        assert isinstance(made, VercelGateway)
        return made


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    monkeypatch.setenv("AI_GATEWAY_API_KEY", KEY)
    monkeypatch.delenv("VERCEL_OIDC_TOKEN", raising=False)
    return Core(0)


@pytest.fixture
def place(core: Core, tmp_path: Path) -> Iterator[Place]:
    with running(VercelSkin(), core) as url:
        yield Place(f"{url}/v4/ai", tmp_path)


@pytest.fixture
def acme(place: Place) -> VercelGateway:
    return place.machine()


def shard(*numbers: int, body: Any = BODY) -> io.BytesIO:
    lines = [json.dumps({"recordId": f"cv-{n:032x}", "modelInput": body}) for n in numbers]
    return io.BytesIO("\n".join(lines).encode())


def request(of: VercelGateway, digit: str = "0") -> JobRequest:
    name = job_name(of.key, digit * 64, 1)
    return JobRequest(
        name, f"token {digit}", MODEL, "gateway", of.input_uri(name), of.output_uri(name), 24, 1
    )


def sent(of: VercelGateway, digit: str = "0", *numbers: int) -> str:
    asked = request(of, digit)
    of.upload(asked.name, shard(*(numbers or (1,))), 0)
    return of.create(asked)


def lines_of(of: VercelGateway, provider_id: str) -> list[Any]:
    found = []
    for file in of.outputs("", provider_id):
        with of.open(file) as stream:
            found += [read(line) for line in stream.read(1 << 20).splitlines()]
    return found


def test_a_lost_answer_is_asked_for_with_the_bytes_that_left(place: Place, core: Core) -> None:
    """Cases 1 and 3: whatever became of settings and files since, in another process too."""
    first = place.machine()
    core.faults.drop_after_accept = 1
    with pytest.raises(LostAnswer):
        sent(first)
    again = place.machine()
    asked = request(again)
    again.upload(asked.name, shard(7, 8), 0)
    found = again.find(asked, LONG_AGO)
    assert found is not None
    assert list(core.jobs) == [found.provider_id]
    assert again.create(asked) == found.provider_id
    assert core.meter.creates == 1


def test_a_machine_that_lost_its_disk_makes_the_same_bytes_again(place: Place, core: Core) -> None:
    job = sent(place.machine("first"))
    other = place.machine("second")
    assert other.find(request(other), LONG_AGO) is None
    assert sent(other) == job
    assert core.meter.creates == 1


def test_another_body_under_the_same_key_is_a_persons_choice(place: Place, core: Core) -> None:
    """What was sent first is there and can be paid: nothing is sent again, and the cost is said."""
    sent(place.machine("first"))
    other = place.machine("second")
    asked = request(other)
    other.upload(asked.name, shard(2), 0)
    with pytest.raises(TerminalError, match="sends its 1 records again and pays them again"):
        other.create(asked)
    assert other.find(asked, LONG_AGO) is None
    assert core.meter.creates == 1


def test_a_call_that_was_refused_is_not_taken_for_one_that_left(acme: VercelGateway, core: Core) -> None:
    core.faults.throttle_creates = 1
    with pytest.raises(TransientError):
        sent(acme)
    assert acme.find(request(acme), LONG_AGO) is None
    assert core.meter.creates == 0
    assert sent(acme) in core.jobs


def test_a_refused_repetition_does_not_forget_the_call_that_left(acme: VercelGateway, core: Core) -> None:
    core.faults.drop_after_accept = 1
    with pytest.raises(LostAnswer):
        sent(acme)
    core.faults.throttle_creates = 1
    with pytest.raises(TransientError):
        acme.find(request(acme), LONG_AGO)
    core.faults.throttle_creates = 1
    with pytest.raises(TransientError):
        acme.create(request(acme))
    found = acme.find(request(acme), LONG_AGO)
    assert found is not None
    assert core.meter.creates == 1


def test_nothing_is_sent_for_a_job_that_never_left(acme: VercelGateway, core: Core) -> None:
    acme.upload(request(acme).name, shard(1), 0)
    assert acme.find(request(acme), LONG_AGO) is None
    assert core.meter.create_calls == 0
    acme.discard(request(acme).name)
    with pytest.raises(TransientError, match="not here any more"):
        acme.create(request(acme))


def test_other_settings_make_another_token(place: Place) -> None:
    assert place.machine().fingerprint != place.machine(max_output_tokens=512).fingerprint


def test_the_secret_of_webhooks_is_nowhere(
    acme: VercelGateway, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    job = sent(acme)
    acme.report(job)
    assert SECRET not in caplog.text
    assert KEY not in caplog.text
    assert not any(SECRET.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_job_that_failed_may_have_results_and_one_without_has_none(acme: VercelGateway, core: Core) -> None:
    """Case 5: `failed` is also what ran out of time; its answers are paid."""
    core.faults.ends.extend(["expired", "failed"])
    core.faults.done_before_end = 1
    late = sent(acme, "0", 1, 2)
    assert acme.report(late).status == "Expired"
    assert [type(line) for line in lines_of(acme, late)] == [Answer]
    refused = sent(acme, "1")
    assert (acme.report(refused).status, acme.report(refused).message) == (
        "Failed",
        "The model cannot be batched.",
    )
    with pytest.raises(ResultsGone):
        lines_of(acme, refused)


def test_what_cannot_be_deleted_is_said_and_until_when(acme: VercelGateway, core: Core) -> None:
    """Case 10: never called deleted."""
    done = acme.erase([sent(acme), "batch_of_long_ago"], LONG_AGO)
    until = datetime.now(UTC) + timedelta(days=30)
    assert (done.listed, done.deleted, done.left) == (0, 0, 0)
    assert done.kept[0].startswith("1 batches with their requests and results")
    assert f"{until:%Y-%m-%d}" in done.kept[0]


def test_a_job_under_way_is_stopped_before_anything_is_called_erased(acme: VercelGateway, core: Core) -> None:
    core.job_seconds = 100
    job = sent(acme)
    assert acme.report(job).phase == "running"
    with pytest.raises(TransientError, match="still under way"):
        acme.erase([job], LONG_AGO)
    assert acme.report(job).status == "Stopped"
    assert len(acme.erase([job], LONG_AGO).kept) == 1


def test_a_batch_the_gateway_does_not_know_is_gone_and_never_sent_again(acme: VercelGateway) -> None:
    """Case 18."""
    with pytest.raises(ResultsGone):
        acme.report("batch_1")
    with pytest.raises(ResultsGone):
        lines_of(acme, "batch_1")


def test_a_request_that_is_not_supported_is_refused_before_it_is_paid(acme: VercelGateway) -> None:
    asked = request(acme)
    acme.upload(asked.name, shard(1, body={**BODY, "responseFormat": {"type": "json"}}), 0)
    with pytest.raises(TerminalError, match="responseFormat is not supported"):
        acme.create(asked)


def result_line(**fields: Any) -> bytes:
    return json.dumps({"type": "text", "id": "cv-1", **fields}).encode()


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        ({"message": "no", "type": "invalid_request_error", "statusCode": 400}, ("400", False)),
        ({"message": "no", "type": "invalid_request_error"}, ("400", False)),
        ({"message": "no", "type": "rate_limit_exceeded"}, ("429", True)),
        ({"message": "no", "type": "failed_dependency"}, ("424", True)),
        ({"message": "no", "type": "a_new_word"}, ("a_new_word", True)),
        ({"message": "no", "statusCode": 402}, ("402", True)),
        ({"message": "Insufficient funds", "type": "forbidden"}, ("402", True)),
        (None, ("failed", True)),
    ],
)
def test_a_failure_is_one_however_it_is_written(error: Any, wanted: tuple[str, bool]) -> None:
    """Cases 13 and 17."""
    made = our_line(result_line(status="failed", error=error))
    assert made is not None
    found = read(made)
    assert isinstance(found, RecordError)
    assert (found.code, found.retryable) == wanted


@pytest.mark.parametrize("status", ["cancelled", "expired"])
def test_what_never_began_has_no_line(status: str) -> None:
    assert our_line(result_line(status=status, error={"message": "late"})) is None


@pytest.mark.parametrize("reason", ["length", {"unified": "length", "raw": "max_tokens"}])
def test_an_answer_is_its_text_parts_together_without_what_was_thought(reason: Any) -> None:
    """Cases 14 and 15: every part of it, and a count that is not given is not zero."""
    parts = [
        {"type": "reasoning", "text": "Hm."},
        {"type": "text", "text": '{"basics":'},
        {"type": "text", "text": "{}}"},
    ]
    usage = {"inputTokens": {"total": 9, "cacheRead": 2}, "outputTokens": {}}
    result = {"content": parts, "finishReason": reason, "usage": usage}
    made = our_line(result_line(status="succeeded", result=result))
    assert made is not None
    found = read(made)
    assert isinstance(found, Answer)
    assert (found.text, found.stop) == ('{"basics":{}}', "truncated")
    assert (found.input_tokens, found.output_tokens) == (9, None)


def test_what_is_no_result_goes_on_to_be_counted() -> None:
    for odd in (b"{", b"[]", b'{"id": 7}', b'{"id": "a", "status": "succeeded", "result": 1}'):
        assert our_line(odd) == odd


def test_a_refused_connection_is_no_doubt(core: Core, tmp_path: Path) -> None:
    away = Place("http://127.0.0.1:9", tmp_path).machine()
    with pytest.raises(TransientError, match="nothing was sent"):
        sent(away)
    assert away.find(request(away), LONG_AGO) is None


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"HTTP/1.1 502 Bad\r\ncontent-length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
    ],
    ids=["cut", "a bad gateway", "cut in the body", "a proxy's page", "no job named"],
)
def test_an_answer_that_never_came_whole_is_a_doubt(core: Core, tmp_path: Path, answer: bytes | None) -> None:
    with silent_server(answer) as url, pytest.raises(LostAnswer):
        sent(Place(url, tmp_path).machine())


def test_a_wrong_key_is_refused_for_good(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    right = place.machine().account
    monkeypatch.setenv("AI_GATEWAY_API_KEY", "wrong")
    wrong = place.machine()
    assert wrong.account != right
    with pytest.raises(TerminalError, match="authentication_error"):
        sent(wrong)
    failed = [check for check in wrong.preflight(MODEL, {}) if not check.passed]
    assert "AI_GATEWAY_API_KEY" in failed[0].detail


def test_no_key_is_a_setting_that_is_missing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AI_GATEWAY_API_KEY")
    with pytest.raises(ConfigurationError, match="AI_GATEWAY_API_KEY"):
        place.machine()
    monkeypatch.setenv("VERCEL_OIDC_TOKEN", "changes-by-the-hour")
    assert place.machine(team="acme").account.endswith(":acme")


@pytest.mark.parametrize("where", ["provider", "on_demand"])
def test_a_migration_must_name_who_answers_single_calls(where: str, tmp_path: Path) -> None:
    file = tmp_path / "acme.yaml"
    gateway = f"{{kind: vercel, model: {MODEL}}}"
    sections = {
        "provider": f"provider: {gateway}",
        "on_demand": f"provider: {{kind: openai, model: gpt-5-mini}}\non_demand: {{provider: {gateway}}}",
    }
    file.write_text(f"tenant: acme\nsource: {{kind: csv_folder}}\n{sections[where]}\n")
    with pytest.raises(ConfigurationError, match=r"on_demand\.provider = 'vercel': vercel answers batches"):
        Migration.load(file)
    file.write_text(
        f"tenant: acme\nsource: {{kind: csv_folder}}\nprovider: {gateway}\n"
        "on_demand: {provider: {kind: openai, model: gpt-5-mini}}\n"
    )
    assert Migration.load(file).on_demand_provider.kind == "openai"
