"""A real S3 server for the session, real boto3 clients, and emulators with a manual clock."""

import contextlib
import functools
import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config

from batch_pipeline.local.emulator.emulator import Emulator
from batch_pipeline.local.emulator.server import RunningEmulator, running_emulator
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases
from batch_pipeline.local.object_store import EmbeddedObjectStore
from batch_pipeline_tests.local.emulator.model_server import model_server

__all__ = ["model_server"]

BUCKET = "emulator-tests"
ROLE = "arn:aws:iam::123456789012:role/batch"
CLAUDE = "anthropic.claude-haiku-4-5-20251001-v1:0"
NOVA = "us.amazon.nova-lite-v1:0"
PHASES = Phases(submitted=10, validating=10, scheduled=10, in_progress=100, stopping=10)
_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test-secret",
    "AWS_REGION": "us-east-1",
}


@pytest.fixture(scope="session")
def s3(object_store: EmbeddedObjectStore, aws_environment: pytest.MonkeyPatch) -> Any:
    """A client of the session's S3 server; the emulator finds its keys in the environment."""
    for name, value in object_store.environment().items():
        aws_environment.setenv(name, value)
    object_store.create_bucket(BUCKET, versioned=False)
    return object_store.client()


@functools.cache
def _client(service: str, url: str, attempts: int = 1, region: str = "us-east-1") -> Any:
    config = Config(
        retries={"total_max_attempts": attempts, "mode": "standard"},
        s3={"addressing_style": "path"},
        connect_timeout=5,
        read_timeout=20,
    )
    return boto3.client(
        service,  # type: ignore[call-overload]
        endpoint_url=url,
        region_name=region,
        aws_access_key_id="test",
        aws_secret_access_key="test-secret",
        config=config,
    )


@dataclass
class Bench:
    """One emulator with everything a test drives it by."""

    url: str
    inside: Emulator
    s3: Any

    def client(self, service: str = "bedrock", attempts: int = 1, region: str = "us-east-1") -> Any:
        return _client(service, self.url, attempts, region)

    def get(self, path: str) -> Any:
        answer = httpx.get(f"{self.url}/_emulator/{path}")
        answer.raise_for_status()
        return answer.json()

    def faults(self, **faults: Any) -> None:
        httpx.put(f"{self.url}/_emulator/faults", json=faults).raise_for_status()

    def rules(self, **rules: Any) -> None:
        httpx.put(f"{self.url}/_emulator/rules", json=rules).raise_for_status()

    def advance(self, seconds: float) -> dict[str, str]:
        answer = httpx.post(f"{self.url}/_emulator/clock/advance", json={"seconds": seconds}, timeout=60)
        answer.raise_for_status()
        statuses: dict[str, str] = answer.json()["jobs"]
        return statuses

    def upload(self, records: Iterable[bytes | dict[str, Any]], name: str = "x.jsonl") -> str:
        """Put a JSONL object into a folder of its own; return the folder's URI."""
        lines = [r if isinstance(r, bytes) else json.dumps(r, ensure_ascii=False).encode() for r in records]
        folder = f"in/{uuid.uuid4().hex}"
        self.s3.put_object(Bucket=BUCKET, Key=f"{folder}/{name}", Body=b"\n".join(lines) + b"\n")
        return f"s3://{BUCKET}/{folder}/"

    def create(self, source: str, **changes: Any) -> str:
        """Create a job; return its 12-character id."""
        request: dict[str, Any] = job_request(source) | changes
        return str(self.client().create_model_invocation_job(**request)["jobArn"]).rsplit("/", 1)[1]

    def run(self, records: Iterable[bytes | dict[str, Any]], **changes: Any) -> str:
        job = self.create(self.upload(records), **changes)
        self.advance(1000)
        return job

    def job(self, job: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.client().get_model_invocation_job(jobIdentifier=job)
        return shown

    def keys(self, job: str) -> list[str]:
        listed = self.s3.list_objects_v2(Bucket=BUCKET, Prefix=f"out/{job}/")
        return [item["Key"].removeprefix(f"out/{job}/") for item in listed.get("Contents", ())]

    def read(self, job: str, name: str = "x.jsonl.out") -> bytes:
        body: bytes = self.s3.get_object(Bucket=BUCKET, Key=f"out/{job}/{name}")["Body"].read()
        return body

    def lines(self, job: str, name: str = "x.jsonl.out") -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.read(job, name).split(b"\n") if line]


def job_request(source: str) -> dict[str, Any]:
    return {
        "jobName": f"job-{uuid.uuid4().hex}",
        "roleArn": ROLE,
        "modelId": CLAUDE,
        "modelInvocationType": "InvokeModel",
        "inputDataConfig": {"s3InputDataConfig": {"s3Uri": source, "s3InputFormat": "JSONL"}},
        "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": f"s3://{BUCKET}/out/"}},
    }


def claude_record(number: int, text: str | None = None, **body: Any) -> dict[str, Any]:
    said = (
        text
        if text is not None
        else f"Ada Number{number}\nEngineer\nada{number}@example.com\nMARKER-{number}"
    )
    message = {"role": "user", "content": [{"type": "text", "text": f"<document>\n{said}\n</document>"}]}
    model_input = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 2000, "messages": [message]}
    return {"recordId": f"cv-{number:06d}", "modelInput": model_input | body}


def converse_record(number: int, **body: Any) -> dict[str, Any]:
    message = {"role": "user", "content": [{"text": f"Ada Number{number}\nada{number}@example.com"}]}
    model_input = {"messages": [message], "inferenceConfig": {"maxTokens": 2000}}
    return {"recordId": f"cv-{number:06d}", "modelInput": model_input | body}


Start = Callable[..., Bench]


@pytest.fixture(scope="session")
def aws_environment() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
            environment.delenv(name, raising=False)
        for name, value in _CREDENTIALS.items():
            environment.setenv(name, value)
        yield environment


@pytest.fixture
def start(s3: Any, aws_environment: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start emulators; each setting may be overridden."""
    aws_environment.setenv("AWS_ENDPOINT_URL_S3", s3.meta.endpoint_url)
    with contextlib.ExitStack() as stack:

        def begin(**settings: Any) -> Bench:
            chosen = {"port": 0, "clock": "manual", "phases": PHASES} | settings
            running = stack.enter_context(running_emulator(EmulatorSettings(**chosen)))
            return Bench(running.url, running.emulator, s3)

        yield begin


def _shared(environment: pytest.MonkeyPatch, s3: str) -> Iterator[RunningEmulator]:
    environment.setenv("AWS_ENDPOINT_URL_S3", s3)
    with running_emulator(EmulatorSettings(port=0, clock="manual", phases=PHASES)) as running:
        # the client keeps the address it was made with
        running.emulator.objects.connect()
        yield running


@pytest.fixture(scope="session")
def emulator_without_s3(aws_environment: pytest.MonkeyPatch) -> Iterator[RunningEmulator]:
    yield from _shared(aws_environment, "http://127.0.0.1:9")


@pytest.fixture(scope="session")
def emulator_with_s3(aws_environment: pytest.MonkeyPatch, s3: Any) -> Iterator[RunningEmulator]:
    yield from _shared(aws_environment, s3.meta.endpoint_url)


@pytest.fixture
def api(emulator_without_s3: RunningEmulator) -> Bench:
    """An emulator as new, for what never reads an object."""
    emulator_without_s3.emulator.reset()
    return Bench(emulator_without_s3.url, emulator_without_s3.emulator, None)


@pytest.fixture
def bench(emulator_with_s3: RunningEmulator, s3: Any) -> Bench:
    """An emulator as new beside the S3 server."""
    emulator_with_s3.emulator.reset()
    return Bench(emulator_with_s3.url, emulator_with_s3.emulator, s3)
