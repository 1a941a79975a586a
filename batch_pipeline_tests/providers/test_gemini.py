"""The Gemini API's adapter: what its contract suite cannot say for every provider."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import types

from batch_pipeline.answers.envelope import Answer, Corrupt, RecordError, read
from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.provider_settings import GeminiProvider
from batch_pipeline.providers.contract import JobRequest, LostAnswer, RefusedAnswer, ResultsGone
from batch_pipeline.providers.gemini import GeminiBatch, open_provider
from batch_pipeline.providers.gemini_lines import our_lines, results_in
from batch_pipeline.providers.google_errors import http_code
from batch_pipeline.providers.google_jobs import counts_of, state_of
from batch_pipeline.providers.job_names import job_name
from batch_pipeline.providers.record_places import place, with_record
from batch_pipeline.providers.registry import Setup
from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.settings import Settings
from batch_pipeline_tests.providers.fakes.core import Core
from batch_pipeline_tests.providers.fakes.gemini import KEY, GeminiSkin
from batch_pipeline_tests.providers.fakes.google import MODEL, NO_CREDIT, TOO_FAST
from batch_pipeline_tests.providers.fakes.skin import running
from batch_pipeline_tests.providers.migration_place import CVS, Place
from batch_pipeline_tests.providers.silent_server import silent_server

LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
BODY = RequestBuilder.for_model(MODEL, "Answer in JSON.", 1000, "gemini").text("Ada Example\nEngineer")
SETTINGS = Settings.model_validate({"database_url": "postgresql://nowhere"})


def provider(url: str, key: str = "acme") -> GeminiBatch:
    section = GeminiProvider(kind="gemini", model=MODEL, base_url=url)
    made = open_provider(Setup(section, SETTINGS, key))
    assert isinstance(made, GeminiBatch)
    return made


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    for name in ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
    return Core(0)


@pytest.fixture
def url(core: Core) -> Iterator[str]:
    with running(GeminiSkin(), core) as address:
        yield address


@pytest.fixture
def acme(url: str) -> GeminiBatch:
    return provider(url)


@pytest.fixture
def official(url: str) -> genai.Client:
    """Google's own client at the fake; kept, for one that nobody holds closes itself."""
    return genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=url, api_version="v1beta"))


def shard(*numbers: int) -> io.BytesIO:
    lines = [json.dumps({"recordId": f"cv-{n:032x}", "modelInput": BODY}) for n in numbers]
    return io.BytesIO("\n".join(lines).encode())


def request(of: GeminiBatch, name: str) -> JobRequest:
    token = f"{name:x<64}"[-64:]
    return JobRequest(name, token, MODEL, "generate_content", of.input_uri(name), of.output_uri(name), 48)


def sent(of: GeminiBatch, key: str, digit: str = "0", *numbers: int) -> str:
    name = job_name(key, digit * 64, 1)
    of.upload(name, shard(*(numbers or (1,))), 0)
    return of.create(request(of, name))


def lines_of(of: GeminiBatch, provider_id: str) -> list[Any]:
    of.report(provider_id)
    with of.open(of.outputs("", provider_id)[0]) as stream:
        return [read(line) for line in stream.read(1 << 20).splitlines()]


def test_googles_own_client_reads_a_job_of_ours(acme: GeminiBatch, official: genai.Client) -> None:
    job = sent(acme, "acme", "0", 1, 2)
    acme.report(job)
    seen = official.batches.get(name=job)
    assert seen.state == types.JobState.JOB_STATE_SUCCEEDED
    assert (seen.display_name or "").startswith(job_name("acme", "0" * 64, 1))
    assert seen.dest is not None
    assert seen.dest.inlined_responses is not None
    keys = [one.metadata and one.metadata["key"] for one in seen.dest.inlined_responses]
    assert keys == [f"cv-{n:032x}" for n in (1, 2)]
    assert [one.name for one in official.batches.list()] == [job]
    with pytest.raises(ValueError, match="filter"):
        list(official.batches.list(config={"filter": "x"}))


def test_a_job_of_googles_own_client_is_read_like_ours(acme: GeminiBatch, official: genai.Client) -> None:
    """The bodies are the same on the wire: ours go there as they are, its classes come to the same."""
    config = {
        "system_instruction": "Answer in JSON.",
        "max_output_tokens": 1000,
        "temperature": 0,
        "response_mime_type": "application/json",
    }
    asked = types.InlinedRequest(
        contents=[
            types.Content(role="user", parts=[types.Part(text=BODY["contents"][0]["parts"][0]["text"])])
        ],
        metadata={"key": f"cv-{7:032x}"},
        config=types.GenerateContentConfig(**config),
    )
    made = official.batches.create(model=MODEL, src=[asked], config={"display_name": "theirs"})
    assert made.name is not None
    (theirs,) = lines_of(acme, made.name)
    (ours,) = lines_of(acme, sent(acme, "acme", "0", 7))
    assert theirs == ours
    official.batches.delete(name=made.name)
    with pytest.raises(ResultsGone):
        acme.report(made.name)


def test_a_failed_job_says_why(acme: GeminiBatch, official: genai.Client, core: Core) -> None:
    """Google's own client leaves the reason out, which is why the answers are read as they come."""
    core.faults.ends.append("failed")
    job = sent(acme, "acme")
    report = acme.report(job)
    assert (report.status, report.message) == ("Failed", "9: The model cannot be batched.")
    assert official.batches.get(name=job).error is None


def test_a_migration_whose_answers_have_no_keys_is_read_by_their_places(
    tmp_path: Path, postgres_url: str, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug case 9 (python-genai #1886 and #2008, js-genai #1191): inline results lack the key."""
    skin = GeminiSkin(keys=False)
    with running(skin, core) as url:
        made = Place(skin, core, url, tmp_path, postgres_url)
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        key = made.migration()
        assert made.run(key) == "done"
        made.assert_right(key)
        made.assert_billed_once()


def test_answers_without_keys_and_of_another_number_are_nobodys(
    tmp_path: Path, postgres_url: str, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug case 9: one answer more than was asked, so no place is certain; a person is asked."""
    skin = GeminiSkin(keys=False)
    core.faults.duplicate_ids = 1
    with running(skin, core) as url:
        made = Place(skin, core, url, tmp_path, postgres_url)
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        key = made.migration()
        assert f"{CVS + 1} unknown record ids" in made.held(key)
        assert core.meter.creates == 1


def test_a_place_is_a_record_only_where_as_many_came_back() -> None:
    line = b'{"recordId":"' + place(2, 2).encode() + b'","modelOutput":{}}'
    assert with_record(line, ["a", "b"]) == b'{"recordId":"b","modelOutput":{}}'
    assert with_record(line, ["a", "b", "c"]) == line
    assert with_record(b'{"recordId":"#0/2"}', ["a", "b"]) == b'{"recordId":"#0/2"}'
    assert with_record(b'{"recordId":"cv-1"}', ["a", "b"]) == b'{"recordId":"cv-1"}'


def test_one_key_among_answers_means_that_places_say_nothing() -> None:
    """Bug case 9: keys that are only partly there."""
    items = [b'{"response":{"candidates":[]},"metadata":{"key":"cv-1"}}', b'{"response":{"candidates":[]}}']
    found = [read(line) for line in our_lines(items)]
    assert isinstance(found[1], Corrupt)
    assert found[1].reason == "no record id"


def test_nothing_is_left_in_a_file_that_nobody_can_delete(acme: GeminiBatch, core: Core) -> None:
    """Bug case 10 (python-genai #1759, #1613): results of file mode cannot be deleted. Ours are in the job."""
    job = sent(acme, "acme")
    done = acme.erase([job], LONG_AGO)
    assert (done.listed, done.deleted, done.left, done.kept) == (1, 1, 0, ())
    assert core.jobs == {}
    assert acme.erase([job], LONG_AGO).listed == 0


def test_only_this_migrations_jobs_are_erased(acme: GeminiBatch, core: Core) -> None:
    """Names that begin alike are of another migration; a job the ledger forgot is ours all the same."""
    other = sent(provider(acme.api.base_url.removesuffix("/v1beta"), "acme-2026"), "acme-2026", "1")
    sent(acme, "acme")
    for job in list(core.jobs):
        acme.report(job)
    assert acme.erase([], LONG_AGO).deleted == 1
    assert list(core.jobs) == [other]


def test_a_job_under_way_is_stopped_and_not_erased(acme: GeminiBatch, core: Core) -> None:
    core.job_seconds = 100
    job = sent(acme, "acme")
    with pytest.raises(TransientError, match="1 jobs of migration acme are still under way"):
        acme.erase([], LONG_AGO)
    assert acme.report(job).status == "Stopped"
    assert acme.erase([], LONG_AGO).left == 0


def test_a_job_is_found_by_its_stamp_on_any_page(acme: GeminiBatch, core: Core) -> None:
    job = sent(acme, "acme")
    for number in range(150):
        core.accept("batches/", [], {"displayName": f"other {number}"})
    name = job_name("acme", "0" * 64, 1)
    found = acme.find(request(acme, name), LONG_AGO)
    assert found is not None
    assert (found.provider_id, found.name) == (job, name)
    assert acme.find(request(acme, job_name("acme", "0" * 64, 2)), LONG_AGO) is None
    assert acme.find(request(acme, name), datetime.now(UTC) + timedelta(hours=1)) is None
    assert len(list(acme.reports(LONG_AGO))) == 151


def test_a_job_without_its_requests_is_not_created(acme: GeminiBatch, core: Core) -> None:
    name = job_name("acme", "0" * 64, 1)
    acme.upload(name, shard(1), 0)
    acme.discard(name)
    with pytest.raises(TransientError, match="not at hand"):
        acme.create(request(acme, name))
    assert core.meter.create_calls == 0


@pytest.mark.parametrize("prefix", ["BATCH_STATE_", "JOB_STATE_"])
def test_a_partial_success_is_an_end(prefix: str) -> None:
    """Google's own client says `done: False` of it for ever."""
    known = counts_of("6", "4", "2", None)
    assert state_of(f"{prefix}PARTIALLY_SUCCEEDED", known, None, keeps_expired=False) == (
        "PartiallyCompleted",
        "ended",
    )
    for running_still in ("QUEUED", "PENDING", "PAUSED", "UPDATING", "CANCELLING", "A_NEW_ONE"):
        assert state_of(f"{prefix}{running_still}", known, None, keeps_expired=False)[1] == "running"


@pytest.mark.parametrize(
    ("state", "counters", "status"),
    [
        ("EXPIRED", ("6", None, None, "6"), "Expired"),
        ("EXPIRED", ("6", "4", None, "2"), "PartiallyCompleted"),
        ("EXPIRED", (None, None, None, None), "PartiallyCompleted"),
        ("FAILED", ("6", None, None, None), "Failed"),
        ("FAILED", ("6", "1", None, None), "PartiallyCompleted"),
        ("CANCELLED", ("6", "4", None, None), "Stopped"),
    ],
)
def test_a_job_that_may_have_been_paid_is_not_said_to_be_free(
    state: str, counters: tuple[Any, ...], status: str
) -> None:
    """Bug case 15: counters that are not there are unknown, and unknown is not zero."""
    assert state_of(f"BATCH_STATE_{state}", counts_of(*counters), None, keeps_expired=False)[0] == status


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": 3, "message": "x"}, 400),
        ({"code": 4, "message": "x"}, 504),
        ({"code": 8, "message": TOO_FAST}, 429),
        ({"code": 8, "message": NO_CREDIT}, 402),
        ({"code": 7, "message": "This API method requires billing to be enabled."}, 402),
        ({"code": 10}, 503),
        ({"code": 14}, 503),
        ({"code": 429, "status": "RESOURCE_EXHAUSTED"}, 429),
        ({"status": "INVALID_ARGUMENT"}, 400),
        ({"code": 99}, 500),
        ({"code": 1, "message": "cancelled"}, None),
    ],
)
def test_a_records_error_has_its_http_code(error: dict[str, Any], code: int | None) -> None:
    """Bug case 17: an empty account is told by its words, and being too fast is no empty account."""
    assert http_code(error) == code


def test_an_item_is_an_answer_an_error_or_nothing() -> None:
    """Bug cases 5, 6 and 13: every record is accounted for, and an error is none of the answers."""
    items = [
        b'{"metadata":{"key":"a"},"response":{"candidates":[{"finishReason":"STOP"}]}}',
        b'{"metadata":{"key":"b"},"error":{"code":3,"message":"no"}}',
        b'{"metadata":{"key":"c"}}',
        b'{"metadata":{"key":"d"},"error":{"code":1}}',
        b'"text"',
    ]
    found = [read(line) for line in our_lines(items)]
    assert [type(one) for one in found] == [Answer, RecordError, RecordError, Corrupt]
    assert [one.code for one in found if isinstance(one, RecordError)] == ["400", "no_response"]


@pytest.mark.parametrize("text", ["a\u2028b", "line\nfeed", "half \ud83d of a pair"])
def test_an_answer_stays_on_one_line(text: str) -> None:
    """Bug cases 7 and 8: Google prints its JSON over many lines, and text has its own."""
    response = {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]}
    item = {"metadata": {"key": "cv-1"}, "response": response}
    job = {"name": "batches/1", "metadata": {"output": {"inlinedResponses": {"inlinedResponses": [item]}}}}
    items = results_in(json.dumps(job, indent=2).encode())
    assert items is not None
    (line,) = our_lines(items)
    assert b"\n" not in line
    answer = read(line)
    assert isinstance(answer, Answer)
    assert answer.text == text.replace("\ud83d", "\ufffd")


def test_answers_that_are_gone_are_said_to_be(acme: GeminiBatch, core: Core) -> None:
    """Bug case 18: the job is there still and its answers are not."""
    core.faults.results_gone = True
    job = sent(acme, "acme")
    with pytest.raises(ResultsGone):
        lines_of(acme, job)
    with pytest.raises(ResultsGone):
        acme.report("batches/never")


def test_a_refused_connection_is_no_doubt(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    away = provider("http://127.0.0.1:9")
    away.upload("n", shard(1), 0)
    with pytest.raises(TransientError, match="nothing was sent"):
        away.create(request(away, "n"))
    with pytest.raises(TransientError, match="nothing was sent"):
        away.answer(MODEL, "generate_content", BODY)
    failed = away.preflight(MODEL, {})
    assert [check.passed for check in failed] == [False, False]
    assert "Check the address" in failed[0].detail


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
def test_an_answer_that_never_came_whole_is_a_doubt(core: Core, answer: bytes | None) -> None:
    """Bug case 3: one request left, however it ended."""
    with silent_server(answer) as url:
        lost = provider(url)
        lost.upload("n", shard(1), 0)
        with pytest.raises(LostAnswer):
            lost.create(request(lost, "n"))
    with silent_server(answer) as url, pytest.raises(LostAnswer):
        provider(url).answer(MODEL, "generate_content", BODY)


def test_a_wrong_key_is_refused_for_good(
    url: str, acme: GeminiBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "wrong")
    wrong = provider(url)
    assert wrong.account != acme.account
    wrong.upload("n", shard(1), 0)
    with pytest.raises(TerminalError, match="API key not valid"):
        wrong.create(request(wrong, "n"))
    with pytest.raises(RefusedAnswer) as refused:
        wrong.answer(MODEL, "generate_content", BODY)
    assert refused.value.code == 400
    assert "GEMINI_API_KEY" in wrong.preflight(MODEL, {})[0].detail


def test_an_unknown_model_fails_before_anything_is_paid(acme: GeminiBatch, core: Core) -> None:
    assert [check.passed for check in acme.preflight("gemini-0", {})] == [True, False]
    assert core.meter.create_calls == 0


def test_no_key_is_a_setting_that_is_missing(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    with pytest.raises(ConfigurationError, match="GEMINI_API_KEY"):
        provider("http://127.0.0.1:9")


def test_the_version_is_the_files_and_no_variables(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    """Google's own client asks v1 unless told otherwise, where batches are not documented."""
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v1")
    assert provider("http://127.0.0.1:9").api.base_url.endswith("/v1beta")
