"""Creating a job: paid once, whatever becomes of the answer."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from botocore.config import Config

from batch_pipeline.errors import QuotaReached, TerminalError, TransientError
from batch_pipeline.providers import aws
from batch_pipeline.providers.aws import clients
from batch_pipeline.providers.contract import LostAnswer
from batch_pipeline_tests.providers.conftest import LONG_AGO, Place

pytestmark = pytest.mark.servers


def test_a_job_is_created_found_and_reported_under_one_arn(place: Place) -> None:
    request = place.uploaded("bp-acme-1-a1")
    assert place.bedrock.find(request, LONG_AGO) is None
    arn = place.bedrock.create(request)
    assert arn.startswith("arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/")
    found = place.bedrock.find(request, LONG_AGO)
    assert found is not None
    assert (found.provider_id, found.token, found.phase) == (arn, request.token, "running")
    assert place.bedrock.report(arn).name == request.name
    assert place.bedrock.report(arn.rpartition("/")[2]).provider_id == arn


def test_every_create_names_token_type_and_timeout(place: Place) -> None:
    place.bedrock.create(place.uploaded("bp-acme-1-a1"))
    shown = place.jobs()[0]
    assert shown["clientRequestToken"] == place.request("bp-acme-1-a1").token
    assert (shown["modelInvocationType"], shown["timeoutDurationInHours"]) == ("InvokeModel", 24)


def test_the_same_request_twice_is_one_job(place: Place) -> None:
    request = place.uploaded("bp-acme-1-a1")
    assert place.bedrock.create(request) == place.bedrock.create(request)
    assert len(place.jobs()) == 1


@pytest.mark.parametrize("fault", ["drop_after_accept_next", "error_after_accept_next"])
def test_a_job_whose_answer_was_lost_is_found_and_not_sent_again(place: Place, fault: str) -> None:
    place.faults(api={fault: 1})
    request = place.uploaded("bp-acme-1-a1")
    with pytest.raises(LostAnswer, match="bp-acme-1-a1"):
        place.bedrock.create(request)
    found = place.bedrock.find(request, LONG_AGO)
    assert found is not None
    assert place.bedrock.create(request) == found.provider_id
    assert len(place.jobs()) == 1


def test_the_sdk_never_sends_a_create_call_twice(place: Place) -> None:
    place.faults(api={"internal_error_next": {"CreateModelInvocationJob": 1}})
    with pytest.raises(LostAnswer):
        place.bedrock.create(place.uploaded("bp-acme-1-a1"))
    assert place.jobs() == []


def test_a_job_of_another_token_under_the_same_name_is_not_ours(place: Place) -> None:
    request = place.uploaded("bp-acme-1-a1")
    place.bedrock.create(replace(request, token="another"))
    assert place.bedrock.find(request, LONG_AGO) is None


@contextmanager
def less_said(place: Place, *members: str) -> Iterator[None]:
    """As of a server that leaves these members out of its answers about jobs."""
    events = place.bedrock.aws.bedrock.meta.events
    names = ("after-call.bedrock.ListModelInvocationJobs", "after-call.bedrock.GetModelInvocationJob")

    def strip(parsed: dict[str, Any], **_: Any) -> None:
        for job in [parsed, *parsed.get("invocationJobSummaries", [])]:
            for member in members:
                job.pop(member, None)

    for name in names:
        events.register(name, strip)
    try:
        yield
    finally:
        for name in names:
            events.unregister(name, strip)


def test_a_server_that_keeps_no_tokens_is_known_by_name_and_input(place: Place) -> None:
    request = place.uploaded("bp-acme-1-a1")
    arn = place.bedrock.create(request)
    elsewhere = replace(request, input_uri=place.bedrock.input_uri("bp-acme-2-a1"))
    with less_said(place, "clientRequestToken", "submitTime", "lastModifiedTime"):
        found = place.bedrock.find(request, LONG_AGO)
        assert found is not None
        assert (found.provider_id, found.token) == (arn, None)
        assert place.bedrock.find(elsewhere, LONG_AGO) is None
        assert [report.provider_id for report in place.bedrock.reports(LONG_AGO)] == [arn]


def test_a_job_without_an_id_is_told_by_words(place: Place) -> None:
    place.bedrock.create(place.uploaded("bp-acme-1-a1"))
    with less_said(place, "jobArn"), pytest.raises(TerminalError, match="is the endpoint a Bedrock server"):
        list(place.bedrock.reports(LONG_AGO))


def test_a_name_that_begins_like_ours_is_not_ours(place: Place) -> None:
    place.bedrock.create(place.uploaded("bp-acme-1-a11"))
    assert place.bedrock.find(place.request("bp-acme-1-a1"), LONG_AGO) is None


def test_a_job_on_the_second_page_of_the_list_is_found(place: Place) -> None:
    place.rules(limits={"default_page_size": 2, "max_open_jobs_per_model": 100})
    request = place.uploaded("bp-acme-1-a1")
    arn = place.bedrock.create(request)
    for number in range(5):
        place.bedrock.create(place.request(f"bp-acme-1-a1{number}", input_uri=request.input_uri))
    found = place.bedrock.find(request, LONG_AGO)
    assert found is not None
    assert found.provider_id == arn


def test_a_job_that_left_the_list_is_found_by_what_it_wrote(place: Place) -> None:
    """How long ended jobs stay listed is not documented: their output is the second witness."""
    place.rules(unknowns={"list_ended_jobs_seconds": 60, "token_ttl_seconds": 60})
    request = place.uploaded("bp-acme-1-a1")
    arn = place.bedrock.create(request)
    place.advance(10_000)
    place.advance(100)
    assert list(place.bedrock.reports(LONG_AGO)) == []
    found = place.bedrock.find(request, LONG_AGO)
    assert found is not None
    assert (found.provider_id, found.status) == (arn, "Completed")


@pytest.mark.parametrize("answer", ["conflict", "validation"])
def test_a_name_or_a_token_in_use_is_a_doubt_and_no_refusal(place: Place, answer: str) -> None:
    place.rules(unknowns={"duplicate_job_name": answer, "token_mismatch": answer})
    request = place.uploaded("bp-acme-1-a1")
    arn = place.bedrock.create(request)
    with pytest.raises(LostAnswer):
        place.bedrock.create(replace(request, token="another"))
    with pytest.raises(LostAnswer):
        place.bedrock.create(replace(request, timeout_hours=48))
    found = place.bedrock.find(request, LONG_AGO)
    assert found is not None
    assert found.provider_id == arn


def test_a_throttled_call_began_nothing(place: Place) -> None:
    place.faults(api={"throttle_next": {"CreateModelInvocationJob": 1}})
    request = place.uploaded("bp-acme-1-a1")
    with pytest.raises(TransientError, match="ThrottlingException"):
        place.bedrock.create(request)
    assert place.jobs() == []
    place.bedrock.create(request)


def test_a_full_quota_is_told_apart_from_a_failure(place: Place) -> None:
    place.rules(limits={"max_open_jobs_per_model": 1})
    place.bedrock.create(place.uploaded("bp-acme-1-a1"))
    with pytest.raises(QuotaReached):
        place.bedrock.create(place.uploaded("bp-acme-2-a1"))


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"deny": ["CreateModelInvocationJob"]}, "AccessDeniedException"),
        ({"deny_pass_role": True}, "iam:PassRole"),
    ],
)
def test_a_denied_call_is_refused_for_good_and_says_why(
    place: Place, faults: dict[str, Any], said: str
) -> None:
    place.faults(api=faults)
    with pytest.raises(TerminalError, match=said):
        place.bedrock.create(place.uploaded("bp-acme-1-a1"))


def test_a_model_without_batch_is_refused_for_good(place: Place) -> None:
    place.rules(models={"unsupported": ["anthropic.claude-haiku"]})
    with pytest.raises(TerminalError, match="not supported for the requested model"):
        place.bedrock.create(place.uploaded("bp-acme-1-a1"))


def test_a_role_of_another_account_is_refused_for_good(place: Place) -> None:
    abroad = replace(place.bedrock, role_arn="arn:aws:iam::999999999999:role/batch")
    with pytest.raises(TerminalError, match="AccessDenied"):
        abroad.create(place.uploaded("bp-acme-1-a1"))


def test_a_timeout_the_sdk_itself_refuses_never_leaves(place: Place) -> None:
    with pytest.raises(TerminalError, match="timeoutDurationInHours"):
        place.bedrock.create(place.request("bp-acme-1-a1", timeout_hours=1))


def test_the_key_lies_inside_the_output_configuration_on_the_wire(place: Place) -> None:
    """F12: beside it, AWS refuses; the assertion is on the body that left."""
    sent: list[dict[str, Any]] = []
    keyed = replace(place.bedrock, kms_key_id="alias/cvs", bucket_owner="123456789012")
    events = keyed.aws.bedrock_paid.meta.events

    def keep(request: Any, **_: Any) -> None:
        sent.append(json.loads(request.body))

    events.register("before-send.bedrock.*", keep)
    try:
        keyed.create(place.uploaded("bp-acme-1-a1"))
    finally:
        events.unregister("before-send.bedrock.*", keep)
    assert sent[0]["outputDataConfig"] == {
        "s3OutputDataConfig": {
            "s3Uri": keyed.output_uri("bp-acme-1-a1"),
            "s3EncryptionKeyId": "alias/cvs",
            "s3BucketOwner": "123456789012",
        }
    }
    assert sent[0]["inputDataConfig"]["s3InputDataConfig"]["s3BucketOwner"] == "123456789012"
    assert "s3EncryptionKeyId" not in sent[0]


@contextmanager
def server(answer: bytes | None) -> Iterator[str]:
    """A listener that takes one request, and answers these bytes or never."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []

        def serve() -> None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            held.append(connection)
            connection.recv(65536)
            if answer is not None:
                connection.sendall(answer)
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        for connection in held:
            connection.close()


def pointed_at(place: Place, url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(aws, "_PAID", Config(retries={"total_max_attempts": 1}, read_timeout=1))
    monkeypatch.setattr(aws, "_ANSWERS", Config(retries={"total_max_attempts": 1}, read_timeout=1))
    for name in ("AWS_ENDPOINT_URL_BEDROCK", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"):
        monkeypatch.setenv(name, url)
    clients.cache_clear()
    return replace(place.bedrock, aws=clients())


def test_a_refused_connection_is_no_doubt(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    bedrock = pointed_at(place, "http://127.0.0.1:1", monkeypatch)
    with pytest.raises(TransientError, match="nothing was sent"):
        bedrock.create(place.request("bp-acme-1-a1"))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="silence"),
        pytest.param(b"", id="closed at once"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{", id="cut in the body"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>", id="a proxy's page"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", id="no job named"),
        pytest.param(b"HTTP/1.1 502 Bad\r\ncontent-length: 6\r\n\r\n<html>", id="a bad gateway"),
    ],
)
def test_an_answer_that_never_came_whole_is_a_doubt(
    place: Place, monkeypatch: pytest.MonkeyPatch, answer: bytes | None
) -> None:
    with server(answer) as url:
        bedrock = pointed_at(place, url, monkeypatch)
        with pytest.raises(LostAnswer):
            bedrock.create(place.request("bp-acme-1-a1"))


def test_missing_credentials_are_told_before_anything_leaves(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    clients.cache_clear()
    with pytest.raises(TerminalError, match="credentials"):
        replace(place.bedrock, aws=clients()).create(place.request("bp-acme-1-a1"))
    assert place.jobs() == []
