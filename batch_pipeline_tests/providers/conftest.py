"""The Bedrock provider against our emulator over HTTP, with a real S3 server behind both."""

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import httpx
import pytest

from batch_pipeline.local.emulator.server import RunningEmulator, running_emulator
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases
from batch_pipeline.local.object_store import EmbeddedObjectStore
from batch_pipeline.providers.aws import AwsClients, clients
from batch_pipeline.providers.bedrock import Bedrock
from batch_pipeline.providers.contract import JobRequest
from batch_pipeline.requests.quotas import BatchLimits

ROLE = "arn:aws:iam::123456789012:role/batch"
MODEL = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
PHASES = Phases(submitted=10, validating=10, scheduled=10, in_progress=100, stopping=10)
ENDPOINTS = ("AWS_ENDPOINT_URL_BEDROCK", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
PLANNED = BatchLimits().model_dump()
LONG_AGO = datetime.now(UTC) - timedelta(hours=1)


@dataclass
class Place:
    """A provider, its emulator, and short ways to drive both."""

    bedrock: Bedrock
    emulator: RunningEmulator

    def faults(self, **faults: Any) -> None:
        httpx.put(f"{self.emulator.url}/_emulator/faults", json=faults).raise_for_status()

    def rules(self, **rules: Any) -> None:
        httpx.put(f"{self.emulator.url}/_emulator/rules", json=rules).raise_for_status()

    def advance(self, seconds: float) -> None:
        path = f"{self.emulator.url}/_emulator/clock/advance"
        httpx.post(path, json={"seconds": seconds}, timeout=60).raise_for_status()

    def jobs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = httpx.get(f"{self.emulator.url}/_emulator/jobs").json()["jobs"]
        return found

    def meter(self) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(f"{self.emulator.url}/_emulator/meter").json()
        return answer

    def upload(self, name: str, records: int = 100) -> str:
        body = b"".join(_line(number) for number in range(records))
        return self.bedrock.upload(name, BytesIO(body), len(body))

    def request(self, name: str, **changes: Any) -> JobRequest:
        values: dict[str, Any] = {
            "name": name,
            "token": uuid.uuid5(uuid.NAMESPACE_URL, name).hex,
            "model": MODEL,
            "invocation_type": "InvokeModel",
            "input_uri": self.bedrock.input_uri(name),
            "output_uri": self.bedrock.output_uri(name),
            "timeout_hours": 24,
        }
        return JobRequest(**(values | changes))

    def uploaded(self, name: str, records: int = 100) -> JobRequest:
        self.upload(name, records)
        return self.request(name)

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.bedrock.aws.s3.get_paginator("list_object_versions").paginate(
            Bucket=self.bedrock.bucket, Prefix=prefix
        )
        return [
            entry["Key"]
            for page in pages
            for entry in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        ]

    def put(self, keys: Iterable[str], body: bytes = b"{}") -> None:
        for key in keys:
            self.bedrock.aws.s3.put_object(Bucket=self.bedrock.bucket, Key=key, Body=body)


def body() -> dict[str, Any]:
    """A request a Claude model takes."""
    return {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Ada Example\nEngineer"}]}],
    }


def _line(number: int) -> bytes:
    return json.dumps({"recordId": f"cv-{number:06}", "modelInput": body()}).encode() + b"\n"


@pytest.fixture(scope="session")
def shared(object_store: EmbeddedObjectStore) -> Iterator[tuple[RunningEmulator, AwsClients]]:
    """One emulator and one set of clients for all tests here: making either takes half a second."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
            patch.delenv(name, raising=False)
        for name, value in object_store.environment().items():
            patch.setenv(name, value)
        settings = EmulatorSettings(port=0, clock="manual", phases=PHASES)
        with running_emulator(settings) as emulator:
            for name in ENDPOINTS:
                patch.setenv(name, emulator.url)
            clients.cache_clear()
            made = clients()
            yield emulator, made
    clients.cache_clear()


@pytest.fixture
def place(
    shared: tuple[RunningEmulator, AwsClients],
    aws_environment: dict[str, str],
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Place]:
    emulator, made = shared
    emulator.emulator.reset()
    for name in ENDPOINTS:
        monkeypatch.setenv(name, emulator.url)
    yield Place(Bedrock(made, bucket, "batch-pipeline/acme/", ROLE), emulator)
    clients.cache_clear()
