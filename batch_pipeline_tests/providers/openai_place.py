"""Short ways to drive the OpenAI adapter at whatever server."""

import io
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from batch_pipeline.answers.envelope import read
from batch_pipeline.provider_settings import OpenAIProvider
from batch_pipeline.providers.contract import JobReport, JobRequest
from batch_pipeline.providers.job_names import job_name
from batch_pipeline.providers.openai import OpenAIBatch, open_provider
from batch_pipeline.providers.registry import Setup
from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.settings import Settings
from batch_pipeline_tests.providers.fakes.openai import MODEL

LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
_BUILDER = RequestBuilder.for_model(MODEL, "Answer in JSON.", 1000, "openai")
BODY = _BUILDER.text("Ada Example\nEngineer")
SETTINGS = Settings.model_validate({"database_url": "postgresql://nowhere"})


def provider(url: str, key: str = "acme", **more: Any) -> OpenAIBatch:
    section = OpenAIProvider.model_validate({"kind": "openai", "model": MODEL, "base_url": url, **more})
    made = open_provider(Setup(section, SETTINGS, key))
    assert isinstance(made, OpenAIBatch)
    return made


def record_id(number: int) -> str:
    return f"cv-{number:032x}"


def shard(*numbers: int) -> io.BytesIO:
    return _shard([(number, BODY) for number in numbers])


def shard_of(*texts: str) -> io.BytesIO:
    """A shard of these CVs, numbered from 1."""
    return _shard([(number, _BUILDER.text(text)) for number, text in enumerate(texts, start=1)])


def _shard(records: list[tuple[int, Any]]) -> io.BytesIO:
    lines = [json.dumps({"recordId": record_id(number), "modelInput": body}) for number, body in records]
    return io.BytesIO("\n".join(lines).encode())


def request(of: OpenAIBatch, name: str) -> JobRequest:
    return JobRequest(
        name,
        f"token of {name}",
        of.section.model,
        "chat_completions",
        of.input_uri(name),
        of.output_uri(name),
        24,
    )


def sent(of: OpenAIBatch, key: str, digit: str = "0", *numbers: int) -> str:
    name = job_name(key, digit * 64, 1)
    of.upload(name, shard(*(numbers or (1,))), 0)
    return of.create(request(of, name))


def lines_of(of: OpenAIBatch, provider_id: str) -> list[Any]:
    found = []
    for file in of.outputs("", provider_id):
        with of.open(file) as stream:
            found += [read(line) for line in stream.read(1 << 20).splitlines()]
    return found


def ended(of: OpenAIBatch, provider_id: str) -> JobReport:
    """Looks at the job until it has ended."""
    deadline = time.monotonic() + 30
    while (report := of.report(provider_id)).phase != "ended":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return report


def ready(url: str) -> bool:
    """Whether a server answers there."""
    try:
        return httpx.get(url, timeout=1).status_code < 500
    except httpx.HTTPError:
        return False
