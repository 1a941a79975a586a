"""The emulator as a process of its own: its ready line, its end, its memory across a kill."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from batch_pipeline.local.emulator.__main__ import parser, settings_from
from batch_pipeline.local.emulator.settings import EmulatorSettings
from batch_pipeline_tests.local.emulator.conftest import _client, job_request

pytestmark = pytest.mark.servers


@contextlib.contextmanager
def emulator(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "batch_pipeline.local.emulator", "--port", "0", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"AWS_REGION": "us-east-1"}
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("bedrock emulator ready at http://127.0.0.1:")
        yield process, line.split()[-1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_at_once(number: signal.Signals) -> None:
    with emulator() as (process, url):
        httpx.get(f"{url}/_emulator/health").raise_for_status()
        process.send_signal(number)
        assert process.wait(5) == 0


def test_a_call_in_the_air_does_not_hold_up_the_end(tmp_path: Path) -> None:
    faults = tmp_path / "faults.json"
    faults.write_text('{"api": {"latency_seconds": {"ListModelInvocationJobs": 30}}}')
    with emulator("--faults", str(faults)) as (process, url):
        with contextlib.suppress(httpx.ReadTimeout):
            httpx.get(f"{url}/model-invocation-jobs", timeout=0.2)
        with httpx.Client() as client, contextlib.suppress(httpx.HTTPError):
            client.send(client.build_request("GET", f"{url}/model-invocation-jobs", timeout=0.1))
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0


def test_a_killed_emulator_remembers_jobs_and_tokens(tmp_path: Path) -> None:
    options = ("--state-dir", str(tmp_path / "state"), "--clock", "manual")
    request = job_request("s3://bucket-of-tests/in/") | {"clientRequestToken": "kept"}
    with emulator(*options) as (process, url):
        arn = _client("bedrock", url).create_model_invocation_job(**request)["jobArn"]
        process.kill()
    with emulator(*options) as (_, url):
        client = _client("bedrock", url)
        assert client.create_model_invocation_job(**request)["jobArn"] == arn
        assert len(client.list_model_invocation_jobs()["invocationJobSummaries"]) == 1


def test_options_are_the_settings() -> None:
    settings = settings_from(["--port", "1", "--clock", "manual", "--in-progress-seconds", "7"])
    assert (settings.port, settings.clock, settings.phases.in_progress) == (1, "manual", 7)
    assert settings_from([]) == EmulatorSettings()
    named = {action.dest for action in parser()._actions}
    assert set(EmulatorSettings.model_fields) - {"phases"} <= named


@pytest.mark.parametrize(
    ("options", "words"), [(["--account-id", "12"], "account_id"), (["--engine", "openai"], "base_url")]
)
def test_a_wrong_option_is_refused_with_a_message(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        settings_from(options)
    assert words in capsys.readouterr().err
