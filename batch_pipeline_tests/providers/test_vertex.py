"""The Vertex AI adapter: what its contract suite cannot say for every provider."""

import hashlib
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from google import genai
from google.genai import types
from google.oauth2.credentials import Credentials

from batch_pipeline.answers.envelope import Answer, RecordError, read
from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.provider_settings import VertexProvider
from batch_pipeline.providers import google_auth
from batch_pipeline.providers.contract import JobRequest, LostAnswer, ResultsGone
from batch_pipeline.providers.google_jobs import counts_of
from batch_pipeline.providers.job_names import job_name
from batch_pipeline.providers.registry import Setup
from batch_pipeline.providers.vertex import VertexBatch, open_provider
from batch_pipeline.providers.vertex_lines import Reader, question
from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.requests.digests import document_digest
from batch_pipeline.requests.file_blocks import FileBlock
from batch_pipeline.settings import Settings
from batch_pipeline_tests.providers.fakes.core import Core
from batch_pipeline_tests.providers.fakes.gcs import BUCKET, OFFICIAL_TOKEN
from batch_pipeline_tests.providers.fakes.google import MODEL, NO_CREDIT
from batch_pipeline_tests.providers.fakes.skin import running
from batch_pipeline_tests.providers.fakes.vertex import CLAUDE, LOCATION, PROJECT, VertexSkin
from batch_pipeline_tests.providers.migration_place import Place
from batch_pipeline_tests.providers.silent_server import silent_server

LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
BUILDER = RequestBuilder.for_model(MODEL, "Answer in JSON.", 1000, "vertex")
SETTINGS = Settings.model_validate({"database_url": "postgresql://nowhere"})


def body(number: int) -> dict[str, Any]:
    return BUILDER.text(f"Ada Example {number}\nEngineer")


def provider(url: str, key: str = "acme", **more: Any) -> VertexBatch:
    section = VertexProvider.model_validate({**VertexSkin().section(url), **more})
    made = open_provider(Setup(section, SETTINGS, key))
    assert isinstance(made, VertexBatch)
    return made


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    for name in ("GOOGLE_VERTEX_BASE_URL", "STORAGE_EMULATOR_HOST", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    return Core(0)


@pytest.fixture
def url(core: Core) -> Iterator[str]:
    with running(VertexSkin(), core) as address:
        yield address


@pytest.fixture
def acme(url: str) -> VertexBatch:
    return provider(url)


def shard(*numbers: int) -> io.BytesIO:
    lines = [json.dumps({"recordId": f"cv-{n:032x}", "modelInput": body(n)}) for n in numbers]
    return io.BytesIO("\n".join(lines).encode())


def request(of: VertexBatch, name: str) -> JobRequest:
    token = hashlib.sha256(name.encode()).hexdigest()
    return JobRequest(name, token, MODEL, "generate_content", of.input_uri(name), of.output_uri(name), 96)


def sent(of: VertexBatch, key: str, digit: str = "0", *numbers: int) -> str:
    name = job_name(key, digit * 64, 1)
    of.upload(name, shard(*(numbers or (1,))), 0)
    return of.create(request(of, name))


def lines_of(of: VertexBatch, provider_id: str, name: str = "") -> list[Any]:
    found = []
    for file in of.outputs(name or of.report(provider_id).name, provider_id):
        with of.open(file) as stream:
            found += [read(line) for line in stream.read(1 << 20).splitlines()]
    return found


def test_a_migration_of_a_claude_model_is_read_by_its_ids(
    tmp_path: Path, postgres_url: str, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    skin = VertexSkin(CLAUDE)
    with running(skin, core) as url:
        made = Place(skin, core, url, tmp_path, postgres_url)
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        core.faults.refused_records = 1
        key = made.migration()
        assert made.run(key) == "done"
        assert made.documents(key) == {"answered": 5, "provider_error": 1}
        core.faults.refused_records = 0
        single = made.migration(2, provider={"quotas": {"min_records": 100}})
        assert made.run(single) == "done"
        made.assert_right(single, 2)


def test_googles_own_client_finds_and_reads_a_job_of_ours(acme: VertexBatch, url: str) -> None:
    job = sent(acme, "acme")
    acme.report(job)
    official = genai.Client(
        vertexai=True,
        project=PROJECT,
        location=LOCATION,
        credentials=Credentials(OFFICIAL_TOKEN),  # type: ignore[no-untyped-call]
        http_options=types.HttpOptions(base_url=url, api_version="v1beta1"),
    )
    token = request(acme, job_name("acme", "0" * 64, 1)).token[:48]
    (listed,) = official.batches.list(config={"filter": f'labels.bp_token="{token}"'})
    assert listed.name == job
    seen = official.batches.get(name=job)
    assert seen.state == types.JobState.JOB_STATE_SUCCEEDED
    assert seen.dest is not None
    assert seen.dest.gcs_uri == acme.output_uri(listed.display_name or "")


def test_no_credential_leaves_for_an_address_that_is_not_https(
    core: Core, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And an address of HTTPS, which Google's are, is not asked without one."""
    google_auth._default_credentials.cache_clear()
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    assert google_auth.signed("http://127.0.0.1:1")() == {}
    with pytest.raises(ConfigurationError, match="GOOGLE_APPLICATION_CREDENTIALS"):
        google_auth.signed("https://europe-west1-aiplatform.googleapis.com")
    with pytest.raises(ConfigurationError):
        open_provider(Setup(provider("http://127.0.0.1:9", base_url=None).section, SETTINGS, "acme"))


def test_a_service_account_signs_calls_over_https(
    core: Core, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    google_auth._default_credentials.cache_clear()
    answer = b'{"access_token":"t0","expires_in":3600,"token_type":"Bearer"}'
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(answer)}\r\n\r\n".encode()
    )
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    with silent_server(head + answer) as url:
        account = {
            "type": "service_account",
            "client_email": "robot@acme-cvs-project.iam.gserviceaccount.com",
            "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
            "token_uri": url,
        }
        (tmp_path / "key.json").write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
        headers = google_auth.signed("https://storage.googleapis.com")
        assert headers()["authorization"] == "Bearer t0"
        assert headers()["authorization"] == "Bearer t0", "renewed only when it is over"
    google_auth._default_credentials.cache_clear()
    (tmp_path / "key.json").write_text(json.dumps({**account, "token_uri": "http://127.0.0.1:9"}))
    with pytest.raises(TransientError, match="nothing was sent"):
        google_auth.signed("https://storage.googleapis.com")()
    google_auth._default_credentials.cache_clear()


def test_addresses_are_the_files_the_environments_or_the_regions(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batch_pipeline.providers.vertex.signed", lambda _: dict)
    assert provider("", base_url=None, storage_url=None).api.host == "europe-west1-aiplatform.googleapis.com"
    assert (
        provider("", base_url=None, storage_url=None, location="global").api.host
        == "aiplatform.googleapis.com"
    )
    assert (
        provider("", base_url=None, storage_url=None, location="eu").api.host
        == "aiplatform.eu.rep.googleapis.com"
    )
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", "http://vertex:1/")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "storage:2")
    made = provider("", base_url=None, storage_url=None)
    assert (made.api.base_url, made.bucket.api.base_url) == ("http://vertex:1/v1beta1", "http://storage:2")


def test_the_stamp_fits_a_label_whatever_the_key(acme: VertexBatch) -> None:
    """Bug case 16 (litellm #25627): a label takes lower-case letters, digits, _ and - alone."""
    key = "a-very-long-key-of-a-migration-that-is-cut-somewhere-in-the-name"
    job = sent(provider(acme.bucket.api.base_url, key), key)
    report = acme.report(job)
    assert report.name == job_name(key, "0" * 64, 1)
    assert report.token == request(acme, report.name).token[:48]


def test_a_job_is_found_by_its_label_on_any_page(acme: VertexBatch, core: Core) -> None:
    job = sent(acme, "acme")
    stamp = core.jobs[job].stamp
    for number in range(150):
        core.accept("projects/1/other/", [], {**stamp, "labels": {"n": str(number)}})
    name = job_name("acme", "0" * 64, 1)
    found = acme.find(request(acme, name), LONG_AGO)
    assert found is not None
    assert found.provider_id == job
    assert acme.find(request(acme, job_name("acme", "0" * 64, 2)), LONG_AGO) is None
    assert acme.find(request(acme, name), datetime.now(UTC) + timedelta(hours=1)) is None
    assert len(list(acme.reports(LONG_AGO))) == 151


def test_answers_are_known_by_what_was_asked_in_whatever_order(acme: VertexBatch) -> None:
    """python-aiplatform #1166 and #2621, litellm #22723: no id comes back, and no order is promised."""
    found = lines_of(acme, sent(acme, "acme", "0", 1, 2, 3))
    assert [one.record_id for one in found] == [f"cv-{n:032x}" for n in (3, 2, 1)]
    assert [document_digest(one.model_input) for one in found] == [
        document_digest(body(n)) for n in (3, 2, 1)
    ]


def test_a_request_that_was_written_anew_is_still_the_same() -> None:
    sent_one = body(1)
    rewritten = json.loads(json.dumps(sent_one).replace("systemInstruction", "system_instruction"))
    rewritten["safetySettings"] = []
    rewritten["contents"][0]["parts"][0]["thought"] = None
    assert question(json.dumps(rewritten).encode()) == question(json.dumps(sent_one, indent=1).encode())
    assert question(json.dumps(body(2)).encode()) != question(json.dumps(sent_one).encode())
    shown = BUILDER.vision([FileBlock("image/png", b"1")])
    renamed = json.dumps(shown).replace("inlineData", "inline_data").encode()
    assert question(renamed) == question(json.dumps(shown).encode())


def line(request_body: Any, **more: Any) -> bytes:
    response = {"candidates": [{"content": {"parts": [{"text": "{}"}]}, "finishReason": "STOP"}]}
    return json.dumps({"request": request_body, "response": response, "status": "", **more}).encode()


def records(reader: Reader, *lines: bytes) -> list[str]:
    found = [read(made) for one in lines if (made := reader.our_line(one)) is not None]
    assert all(isinstance(one, Answer) for one in found)
    return [one.record_id for one in found if isinstance(one, Answer)]


def test_equal_requests_are_answered_in_turn_and_no_more_often_than_asked() -> None:
    asked = question(json.dumps(body(1)).encode())
    reader = Reader([(asked, "cv-a"), (asked, "cv-b")])
    assert records(reader, *[line(body(1))] * 3) == ["cv-a", "cv-b", "cv-b"]


def test_an_answer_to_what_nobody_asked_is_nobodys() -> None:
    (found,) = records(Reader([("0", "cv-a")]), line(body(7)))
    assert found.startswith("unasked-")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ('Bad Request: {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}', "400"),
        ('{"error": {"code": 429, "message": "slow"}}', "429"),
        ({"code": 8, "message": "slow"}, "429"),
        ({"code": 8, "message": NO_CREDIT}, "402"),
        ("Internal Server Error. Try again", "500"),
        ("Bad Request: {not JSON", "400"),
        ("something new", "status"),
    ],
)
def test_a_status_is_an_error_whatever_stands_beside_it(said: Any, code: str) -> None:
    """Bug case 13: an answer is looked for only where there is no error."""
    reader = Reader([(question(json.dumps(body(1)).encode()), "cv-a")])
    made = reader.our_line(line(body(1), status=said))
    assert made is not None
    found = read(made)
    assert isinstance(found, RecordError)
    assert (found.record_id, found.code) == ("cv-a", code)


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}, "400"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "later"}}, "529"),
        ({"error": {"code": 3, "message": "no"}}, "400"),
        ({}, "no_response"),
        (None, "no_response"),
    ],
)
def test_an_error_in_the_place_of_an_answer_is_one(response: Any, code: str) -> None:
    made = Reader().our_line(line(None, custom_id="cv-a", response=response))
    assert made is not None
    found = read(made)
    assert isinstance(found, RecordError)
    assert (found.record_id, found.code) == ("cv-a", code)


def test_the_word_error_in_an_answer_is_none() -> None:
    content = {
        "type": "message",
        "content": [{"type": "text", "text": '{"error": "none"}'}],
        "stop_reason": "end_turn",
    }
    assert records(Reader(), line(None, custom_id="cv-a", response=content)) == ["cv-a"]


def test_what_never_began_has_no_line_and_what_is_no_line_goes_on() -> None:
    assert Reader().our_line(line(None, custom_id="cv-a", status={"code": 1, "message": "cancelled"})) is None
    for odd in (b"{", b"[]", b'{"custom_id": 7}', b'{"request": 7}'):
        assert Reader().our_line(odd) == odd


@pytest.mark.parametrize("text", ["a\u2028b", "half \ud83d of a pair"])
def test_an_answer_is_read_as_it_was_given(text: str) -> None:
    response = {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]}
    reader = Reader([(question(json.dumps(body(1)).encode()), "cv-a")])
    made = reader.our_line(line(body(1), response=response))
    assert made is not None
    found = read(made)
    assert isinstance(found, Answer)
    assert found.text == text.replace("\ud83d", "\ufffd")


def test_counters_that_are_not_kept_are_unknown(acme: VertexBatch) -> None:
    """Bug case 15: -1 and nothing at all are no zero."""
    assert counts_of(None, "-1", "0", None).processed is None
    assert counts_of(None, None, None, None).succeeded is None
    counts = acme.report(sent(acme, "acme")).counts
    assert (counts.total, counts.processed, counts.succeeded, counts.errored) == (None, 1, 1, 0)


def test_everything_of_this_migration_is_erased_and_of_no_other(acme: VertexBatch, core: Core) -> None:
    """Old generations too: a plain delete in a versioned bucket leaves every byte where it was."""
    other = provider(acme.bucket.api.base_url, "acme-2026")
    mine = sent(acme, "acme")
    acme.upload(job_name("acme", "0" * 64, 1), shard(1), 0)
    theirs = sent(other, "acme-2026", "1")
    for job in list(core.jobs):
        acme.report(job)
    assert len(core.files) == 10
    done = acme.erase([mine], LONG_AGO)
    # input and questions in two generations, answers and the dump beside them, and the job
    assert (done.listed, done.deleted, done.left) == (7, 7, 0)
    assert done.kept == ["deleted objects, for 7 days by the bucket's soft delete policy"]
    assert list(core.jobs) == [theirs]
    assert all(name.startswith("batch-pipeline/acme-2026/") for name in core.files)
    again = acme.erase([mine], LONG_AGO)
    assert (again.listed, again.kept) == (0, [])


def test_a_bucket_without_soft_delete_keeps_nothing(core: Core) -> None:
    with running(VertexSkin(soft_delete_seconds=0), core) as url:
        acme = provider(url)
        sent(acme, "acme")
        list(acme.reports(LONG_AGO))
        assert acme.erase([], LONG_AGO).kept == []
        assert any("keeps nothing" in check.detail for check in acme.preflight(MODEL, {}))


def test_a_job_under_way_is_stopped_and_not_erased(acme: VertexBatch, core: Core) -> None:
    core.job_seconds = 100
    job = sent(acme, "acme")
    with pytest.raises(TransientError, match="1 jobs of migration acme are still under way"):
        acme.erase([], LONG_AGO)
    assert acme.report(job).status == "Stopped"
    assert acme.erase([], LONG_AGO).left == 0
    assert core.files == {}


def test_an_upload_that_was_refused_leaves_no_generation(acme: VertexBatch, core: Core) -> None:
    name = job_name("acme", "0" * 64, 1)
    for _ in range(2):
        acme.upload(name, shard(1), 0)
    acme.discard(name)
    assert core.files == {}


def test_a_dump_of_the_half_way_is_read_only_where_there_is_nothing_else(
    acme: VertexBatch, core: Core
) -> None:
    job = sent(acme, "acme", "0", 1, 2)
    name = acme.report(job).name
    (file,) = acme.outputs(name, job)
    assert file.key.endswith("/predictions.jsonl")
    del core.files[next(key for key in core.files if "/predictions.jsonl" in key)]
    assert len(lines_of(acme, job, name)) == 1


def test_answers_that_are_gone_are_said_to_be(acme: VertexBatch, core: Core) -> None:
    """Bug case 18: a rule of the bucket, or somebody, removed them."""
    core.faults.results_gone = True
    job = sent(acme, "acme")
    with pytest.raises(ResultsGone):
        lines_of(acme, job)
    core.faults.results_gone = False
    files = acme.outputs(acme.report(job).name, job)
    core.files.clear()
    with pytest.raises(ResultsGone):
        acme.open(files[0])


def test_output_that_is_not_where_it_belongs_is_not_read(acme: VertexBatch, core: Core) -> None:
    job = sent(acme, "acme")
    name = acme.report(job).name
    core.jobs[job].things["folder"] = f"gs://{BUCKET}/elsewhere"
    with pytest.raises(TerminalError, match="not where it was told to"):
        acme.outputs(name, job)


def test_a_refused_connection_is_no_doubt(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    away = provider("http://127.0.0.1:9")
    with pytest.raises(TransientError, match="nothing was sent"):
        away.create(request(away, "n"))
    with pytest.raises(TransientError):
        away.upload("n", shard(1), 0)
    with pytest.raises(TransientError, match="nothing was sent"):
        away.answer(MODEL, "generate_content", body(1))
    assert [check.passed for check in away.preflight(MODEL, {})] == [False, False, True, True]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"HTTP/1.1 502 Bad\r\ncontent-length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
    ],
    ids=["cut", "a bad gateway", "no job named"],
)
def test_an_answer_that_never_came_whole_is_a_doubt(core: Core, answer: bytes | None) -> None:
    """Bug case 3: one request left, however it ended."""
    with silent_server(answer) as url:
        lost = provider(url)
        with pytest.raises(LostAnswer):
            lost.create(request(lost, "n"))
    with silent_server(answer) as url, pytest.raises(LostAnswer):
        provider(url).answer(MODEL, "generate_content", body(1))


def test_what_a_call_needs_is_looked_at_before_it_is_paid(acme: VertexBatch, url: str, core: Core) -> None:
    assert [check.passed for check in acme.preflight("gemini-0", {})] == [True, True, True, False]
    assert [check.passed for check in acme.preflight(CLAUDE, None)] == [True]
    elsewhere = provider(url, bucket="not-ours").preflight(MODEL, {})
    assert [check.passed for check in elsewhere] == [True, False, True, True]
    own = acme.preflight("projects/1/locations/europe-west1/models/7", None)
    assert "not looked up" in own[0].detail
    assert core.meter.create_calls == 0
