"""One paid call: what was refused, what never left, and what nobody can tell."""

from dataclasses import replace
from typing import Any

import pytest

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.providers.aws import clients
from batch_pipeline.providers.contract import LostAnswer, RefusedAnswer
from batch_pipeline_tests.providers.conftest import MODEL, Place, body
from batch_pipeline_tests.providers.test_create import pointed_at, server

pytestmark = pytest.mark.servers
NOVA = "us.amazon.nova-lite-v1:0"


def ask(place: Place) -> Any:
    return place.bedrock.answer(MODEL, "InvokeModel", body())


def calls(place: Place) -> int:
    return int(place.meter()["on_demand"]["requests"])


def test_a_call_is_answered_and_paid_once(place: Place) -> None:
    assert ask(place)["type"] == "message"
    assert calls(place) == 1


def test_converse_answers_like_a_batch_line(place: Place) -> None:
    asked = {
        "messages": [{"role": "user", "content": [{"text": "Ada Example\nEngineer"}]}],
        "inferenceConfig": {"maxTokens": 100},
    }
    answer = place.bedrock.answer(NOVA, "Converse", asked)
    assert "ResponseMetadata" not in answer
    assert answer["output"]


def test_an_answer_lost_after_it_was_paid_is_a_doubt(place: Place) -> None:
    place.faults(api={"drop_after_answer_next": 1})
    with pytest.raises(LostAnswer):
        ask(place)
    assert calls(place) == 1


def test_the_sdk_never_repeats_a_paid_call(place: Place) -> None:
    place.faults(api={"no_capacity_next": 1})
    with pytest.raises(RefusedAnswer) as refused:
        ask(place)
    assert refused.value.code == 503
    assert calls(place) == 0


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, RefusedAnswer), (403, RefusedAnswer), (404, RefusedAnswer), (424, RefusedAnswer),
        (429, RefusedAnswer), (503, RefusedAnswer), (408, LostAnswer), (500, LostAnswer),
    ],
)  # fmt: skip
def test_errors_say_whether_the_call_may_have_been_paid(
    place: Place, code: int, kind: type[Exception]
) -> None:
    place.faults(records=[{"code": code, "plane": "on_demand"}])
    with pytest.raises(kind) as error:
        ask(place)
    if isinstance(error.value, RefusedAnswer):
        assert error.value.code == code


def test_a_denied_call_says_what_was_denied(place: Place) -> None:
    place.faults(api={"deny": ["InvokeModel"]})
    with pytest.raises(RefusedAnswer, match="bedrock:InvokeModel") as error:
        ask(place)
    assert error.value.code == 403


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="silence"),
        pytest.param(b"", id="closed at once"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{", id="cut in the body"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>", id="a proxy's page"),
        pytest.param(b"HTTP/1.1 504 Late\r\ncontent-length: 6\r\n\r\n<html>", id="a gateway's timeout"),
    ],
)
def test_a_call_without_a_whole_answer_is_a_doubt(
    place: Place, monkeypatch: pytest.MonkeyPatch, answer: bytes | None
) -> None:
    with server(answer) as url:
        bedrock = pointed_at(place, url, monkeypatch)
        with pytest.raises(LostAnswer):
            bedrock.answer(MODEL, "InvokeModel", body())


def test_a_call_that_never_left_is_no_doubt(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    bedrock = pointed_at(place, "http://127.0.0.1:1", monkeypatch)
    with pytest.raises(TransientError, match="nothing was sent"):
        bedrock.answer(MODEL, "InvokeModel", body())


def test_a_request_the_sdk_refuses_quotes_nothing_of_it(place: Place) -> None:
    with pytest.raises(RefusedAnswer) as error:
        place.bedrock.answer(NOVA, "Converse", {"messages": "Ada Example"})
    assert error.value.code == 400
    assert "Ada" not in str(error.value)


def test_a_call_without_credentials_never_leaves(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    clients.cache_clear()
    with pytest.raises(TerminalError, match="nothing was sent"):
        replace(place.bedrock, aws=clients()).answer(MODEL, "InvokeModel", body())
