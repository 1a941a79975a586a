"""Vertex AI's batch prediction for Gemini and Claude over Google Cloud Storage, and their on-demand twins.

Facts: contracts/providers.md section 2.4. Creation is not idempotent: a job's labels hold our name and a part
of the token, and a server-side filter finds it again. Input, output and the list of whose question is whose
lie below the migration's own prefix of your bucket and are deleted from there; so are the jobs.
"""

import io
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, Final

import msgspec

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.provider_settings import VertexProvider
from batch_pipeline.providers.capabilities import VERTEX, Capabilities
from batch_pipeline.providers.contract import (
    BatchProvider,
    Check,
    ErasureCertificate,
    JobReport,
    JobRequest,
    LostAnswer,
    OutputFile,
    ResultsGone,
    Totals,
)
from batch_pipeline.providers.erasing import is_there, stop_before_erasing
from batch_pipeline.providers.gcs import Bucket, erase_prefix
from batch_pipeline.providers.google_auth import signed
from batch_pipeline.providers.google_errors import errors
from batch_pipeline.providers.google_http import GoogleApi, connections, json_object
from batch_pipeline.providers.google_jobs import counts_of, state_of, time_of, words
from batch_pipeline.providers.job_names import belongs_to
from batch_pipeline.providers.registry import Setup
from batch_pipeline.providers.stopping import stop
from batch_pipeline.providers.vertex_lines import Reader, claude_lines, gemini_lines
from batch_pipeline.providers.vertex_preflight import Preflight
from batch_pipeline.providers.wire_lines import LineStream, requests_in, split_lines, spooled

ERRORS: Final = errors("Vertex AI")
_VERSION: Final = "v1beta1"
_STORAGE: Final = "https://storage.googleapis.com"
_MULTI_REGIONS: Final = frozenset({"us", "eu"})
# Our stamp. A label's value has at most 63 characters of a-z, 0-9, _ and -: a job's name does.
_JOB: Final = "bp_job"
_TOKEN: Final = "bp_token"  # noqa: S105 - no secret
_TOKEN_DIGITS: Final = 48
_PAGE: Final = "100"
_CLOCK_SKEW: Final = timedelta(minutes=15)
_DEADLINE: Final = timedelta(hours=96)
_PAID_SECONDS: Final = 120.0
_ANSWER_SECONDS: Final = 300.0
# What a job leaves as its answers. Beside them may lie counts and errors, and dumps it wrote on its way, which
# hold a part of the same lines.
_ANSWERS: Final = re.compile(r"predictions\.jsonl.*|prediction\.results-.*|\d+\.jsonl")
_DUMP: Final = re.compile(r"incremental_predictions\.jsonl.*")


def open_provider(setup: Setup) -> BatchProvider:
    """Project and bucket as the file says, addresses as Google's own variables may.

    Raises:
        ConfigurationError: there are no application default credentials.
    """
    section = setup.section
    assert isinstance(section, VertexProvider)
    address = (
        section.base_url or os.environ.get("GOOGLE_VERTEX_BASE_URL") or _regional(section.location)
    ).rstrip("/")
    storage = (section.storage_url or _emulator() or _STORAGE).rstrip("/")
    http = connections()
    return VertexBatch(
        GoogleApi(f"{address}/{_VERSION}", signed(address), http),
        Bucket(GoogleApi(storage, signed(storage), http), section.bucket),
        section,
        setup.key,
    )


def _regional(location: str) -> str:
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in _MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _emulator() -> str | None:
    """As Google's own storage clients read it: with or without a scheme."""
    given = os.environ.get("STORAGE_EMULATOR_HOST")
    return f"http://{given}" if given and "://" not in given else given


@dataclass(frozen=True)
class VertexBatch:
    """One project and region, one bucket, one migration's prefix in it."""

    api: GoogleApi
    bucket: Bucket
    section: VertexProvider
    key: str

    @property
    def capabilities(self) -> Capabilities:
        """Claude's lines are known by their ids; whether they repeat their request is not documented."""
        return replace(VERTEX, echoes_input=False) if _is_claude(self.section.model) else VERTEX

    @property
    def account(self) -> str:
        return f"vertex:{self.api.host}:{self.section.project}:{self.section.location}"

    @property
    def _prefix(self) -> str:
        return f"{self.section.prefix}/{self.key}/"

    @property
    def home(self) -> str:
        return self.bucket.uri(self._prefix)

    @property
    def place_settings(self) -> str:
        return "provider.project, location, bucket or prefix"

    @property
    def fingerprint(self) -> tuple[str, ...]:
        return (_VERSION,)

    @property
    def _parent(self) -> str:
        return f"/projects/{self.section.project}/locations/{self.section.location}"

    @property
    def _jobs_path(self) -> str:
        return f"{self._parent}/batchPredictionJobs"

    def preflight(self, model: str, planned: Mapping[str, int] | None) -> list[Check]:
        look = Preflight(self.api, ERRORS, self._jobs_path, self.bucket)
        return look.checks(_model(model), batch=planned is not None)

    def _input(self, name: str) -> str:
        return f"{self._prefix}input/{name}/records.jsonl"

    def _questions(self, name: str) -> str:
        return f"{self._prefix}questions/{name}/records.txt"

    def input_uri(self, name: str) -> str:
        return self.bucket.uri(self._input(name))

    def output_uri(self, name: str) -> str:
        return self.bucket.uri(f"{self._prefix}output/{name}")

    def upload(self, name: str, body: BinaryIO, size: int) -> str:  # noqa: ARG002 - ours, not the file's
        asked: list[tuple[str, str]] = []
        requests = requests_in(body)
        lines = claude_lines(requests) if _is_claude(self.section.model) else gemini_lines(requests, asked)
        with spooled(lines) as (file, made):
            if asked:
                said = "".join(f"{hashed} {record_id}\n" for hashed, record_id in asked).encode()
                self.bucket.put(self._questions(name), io.BytesIO(said), len(said))
            self.bucket.put(self._input(name), file, made)
        return self.input_uri(name)

    def discard(self, name: str) -> None:
        for one in (self._input(name), self._questions(name)):
            self.bucket.delete(self.bucket.objects(one, versions=True))

    def create(self, request: JobRequest) -> str:
        body = {
            "displayName": request.name,
            "model": _model(request.model),
            "inputConfig": {"instancesFormat": "jsonl", "gcsSource": {"uris": [request.input_uri]}},
            "outputConfig": {
                "predictionsFormat": "jsonl",
                "gcsDestination": {"outputUriPrefix": request.output_uri},
            },
            "labels": {_JOB: request.name, _TOKEN: request.token[:_TOKEN_DIGITS]},
        }
        with ERRORS.creating(f"job {request.name}"):
            answer = self.api.once(
                "POST", self._jobs_path, content=msgspec.json.encode(body), seconds=_PAID_SECONDS
            )
            made = json_object(answer)
        name = made.get("name")
        if not isinstance(name, str) or not name:
            raise LostAnswer(f"job {request.name}: the answer names no job")
        return name

    def find(
        self,
        request: JobRequest,
        since: datetime,
        known: Collection[str] = (),  # noqa: ARG002 - our stamp tells
    ) -> JobReport | None:
        token = request.token[:_TOKEN_DIGITS]
        for job in self._jobs(since, f'labels.{_TOKEN}="{token}"'):
            if _labels(job).get(_TOKEN) == token:
                return _report(job)
        return None

    def reports(self, since: datetime) -> Iterator[JobReport]:
        return map(_report, self._jobs(since))

    def _jobs(self, since: datetime, narrower: str = "") -> Iterator[dict[str, Any]]:
        oldest = since - _CLOCK_SKEW
        asked = [
            f'create_time>="{oldest.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"',
            *([narrower] if narrower else []),
        ]
        params = {"pageSize": _PAGE, "filter": " AND ".join(asked)}
        with ERRORS.repeatable("list of jobs"):
            yield from self.api.pages(self._jobs_path, params, "batchPredictionJobs")

    def report(self, provider_id: str) -> JobReport:
        return _report(self._job(provider_id))

    def _job(self, provider_id: str) -> dict[str, Any]:
        with ERRORS.repeatable(f"status of {provider_id}"):
            return self.api.often("GET", f"/{provider_id}")

    def stop(self, provider_id: str) -> None:
        stop(self.report, self._cancel, provider_id)

    def _cancel(self, provider_id: str) -> None:
        with ERRORS.repeatable(f"stop of {provider_id}"):
            self.api.often("POST", f"/{provider_id}:cancel")

    def outputs(self, name: str, provider_id: str) -> list[OutputFile]:
        """Where the job says it wrote; its destination is a prefix below which it makes a folder of its own."""
        job = self._job(provider_id)
        said = str((job.get("outputInfo") or {}).get("gcsOutputDirectory") or self.output_uri(name))
        folder = said.rstrip("/") + "/"
        if not folder.startswith(f"{self.output_uri(name)}/"):
            raise TerminalError(f"job {name}: it wrote to {folder}, which is not where it was told to")
        found = self.bucket.objects(folder.removeprefix(self.bucket.uri("")))
        files = [one for one in found if _ANSWERS.fullmatch(one.name.rpartition("/")[2])]
        files = files or [one for one in found if _DUMP.fullmatch(one.name.rpartition("/")[2])]
        if not files and _report(job).status == "Completed":
            raise ResultsGone(f"job {name}: it is over and there are no answers below {folder}")
        return [OutputFile(one.name, one.size) for one in files]

    def totals(self, name: str, provider_id: str) -> Totals:  # noqa: ARG002 - known by its id
        counts = self.report(provider_id).counts
        return Totals(counts.succeeded, counts.errored)

    def open(self, file: OutputFile) -> LineStream:
        name = file.key.removeprefix(f"{self._prefix}output/").partition("/")[0]
        asked = () if _is_claude(self.section.model) else self._asked(name)
        chunks = self.bucket.read(file.key)
        first = next(chunks, b"")  # an object that is gone is said so before anything is read

        def pieces() -> Iterator[bytes]:
            yield first
            yield from chunks

        return LineStream(pieces(), Reader(asked).our_line, chunks.close)

    def _asked(self, name: str) -> Iterator[tuple[str, str]]:
        for line in split_lines(self.bucket.read(self._questions(name))):
            hashed, _, record_id = line.decode().partition(" ")
            yield hashed, record_id

    def answer(
        self, model: str, invocation_type: str, model_input: Mapping[str, object]
    ) -> Mapping[str, object]:
        method = "rawPredict" if invocation_type == "raw_predict" else "generateContent"
        with ERRORS.answering("on-demand call"):
            body = msgspec.json.encode(model_input)
            path = f"{self._parent}/{_model(model)}:{method}"
            output = json_object(self.api.once("POST", path, content=body, seconds=_ANSWER_SECONDS))
        if not output:
            raise LostAnswer("on-demand call: the answer is empty")
        return output

    def erase(self, provider_ids: Sequence[str], since: datetime) -> ErasureCertificate:
        """Everything below the migration's prefix, then its jobs, known or found by their stamp; a look at all.

        Raises:
            TransientError: a job nobody knew of is still under way and was asked to stop, or one that was
                deleted is still shown.
            TerminalError: an object is still there.
        """
        found = {str(job.get("name")): job for job in self._ours(since)}
        ids = set(found) | {one for one in provider_ids if one not in found and self._is_there(one)}
        running = [one for one in sorted(ids) if self.report(one).phase != "ended"]
        stop_before_erasing(self.key, running, self.stop)
        emptied = erase_prefix(self.bucket, self._prefix)
        for one in sorted(ids):
            with suppress(ResultsGone), ERRORS.repeatable(f"removal of {one}"):
                self.api.often("DELETE", f"/{one}")
        left = {str(job.get("name")) for job in self._ours(since)} | {
            one for one in ids if self._is_there(one)
        }
        if left:
            raise TransientError(
                f"{len(left)} jobs of migration {self.key} are being deleted and still shown: erase again"
            )
        return replace(emptied, listed=emptied.listed + len(ids), deleted=emptied.deleted + len(ids))

    def _ours(self, since: datetime) -> Iterator[dict[str, Any]]:
        return (job for job in self._jobs(since) if belongs_to(self.key, _labels(job).get(_JOB, "")))

    def _is_there(self, provider_id: str) -> bool:
        return is_there(lambda: self._job(provider_id))


def _is_claude(model: str) -> bool:
    return "claude" in model


def _model(name: str) -> str:
    if "/" in name:
        return name
    return f"publishers/{'anthropic' if _is_claude(name) else 'google'}/models/{name}"


def _labels(job: Mapping[str, Any]) -> Mapping[str, str]:
    found = job.get("labels")
    return found if isinstance(found, dict) else {}


def _report(job: Mapping[str, Any]) -> JobReport:
    stats = job.get("completionStats") or {}
    counts = counts_of(None, stats.get("successfulCount"), stats.get("failedCount"), None)
    status, phase = state_of(job.get("state"), counts, job.get("error"), keeps_expired=VERTEX.keeps_expired)
    created = time_of(job.get("createTime"))
    return JobReport(
        provider_id=str(job.get("name") or ""),
        name=_labels(job).get(_JOB, ""),
        token=_labels(job).get(_TOKEN),
        status=status,
        phase=phase,
        message=words(job.get("error")),
        ended_at=time_of(job.get("endTime") or job.get("updateTime")) if phase == "ended" else None,
        deadline=created + _DEADLINE if created else None,
        counts=counts,
    )
