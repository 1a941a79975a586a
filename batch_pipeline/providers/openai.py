"""OpenAI's Batch API and its on-demand twin, and every server that speaks them, through OpenAI's own SDK.

Facts: contracts/providers.md section 2.2. Nothing is idempotent here: a job is stamped with our name and
token in its metadata and found again by listing. A job's answers are in two files, one of them or both may
be missing, and a job that never began still ends as `failed` on a later look, not on create. There is no way
to delete a job; its files can be.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import urlsplit

import openai
from httpx2 import HTTPError

from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.provider_settings import OpenAIProvider
from batch_pipeline.providers.capabilities import OPENAI, Capabilities
from batch_pipeline.providers.contract import (
    BatchProvider,
    Check,
    EndedStatus,
    ErasureCertificate,
    JobReport,
    JobRequest,
    LostAnswer,
    OutputFile,
    RecordCounts,
    ResultsGone,
    Totals,
)
from batch_pipeline.providers.credential_names import key_name
from batch_pipeline.providers.erasing import is_there, stop_before_erasing
from batch_pipeline.providers.job_names import belongs_to
from batch_pipeline.providers.openai_lines import ENDPOINT, our_line, request_lines
from batch_pipeline.providers.registry import Setup
from batch_pipeline.providers.sdk_errors import SdkErrors
from batch_pipeline.providers.sdk_preflight import Preflight
from batch_pipeline.providers.stopping import stop
from batch_pipeline.providers.wire_lines import LineStream, requests_in, spooled

if TYPE_CHECKING:
    from openai.types import Batch, FileObject

ERRORS: Final = SdkErrors("OpenAI", openai.OpenAIError, openai.APIConnectionError, openai.APIStatusError)
# Our stamp: names of metadata have at most 64 characters, values 512.
_JOB: Final = "bp_job"
_TOKEN: Final = "bp_token"  # noqa: S105 - no secret
_ENDED: Final[Mapping[str, EndedStatus]] = {
    "completed": "Completed",
    "failed": "Failed",
    "expired": "Expired",
    "cancelled": "Stopped",
    "canceled": "Stopped",
}
_PAGE: Final = 100
_CLOCK_SKEW: Final = timedelta(minutes=15)
_READ_RETRIES: Final = 4
_READ_SECONDS: Final = 60.0
_PAID_SECONDS: Final = 120.0
_ANSWER_SECONDS: Final = 300.0
_ROUNDS: Final = 3
_DAY: Final = 86_400
# What a server says that has no list of files: there is none to look through.
_NO_LIST: Final = frozenset({404, 405, 501})


def open_provider(setup: Setup) -> BatchProvider:
    """The client as the file and OpenAI's own variables say.

    Raises:
        ConfigurationError: there is no key.
    """
    section = setup.section
    assert isinstance(section, OpenAIProvider)
    try:
        client = openai.OpenAI(
            base_url=section.base_url,
            max_retries=_READ_RETRIES,
            timeout=openai.Timeout(_READ_SECONDS, connect=10.0),
        )
    except openai.OpenAIError:
        raise ConfigurationError(
            "OPENAI_API_KEY", "(not set)", "set it; a server that asks for none takes any word"
        ) from None
    return OpenAIBatch(client, section, setup.key)


@dataclass(frozen=True)
class OpenAIBatch:
    """One account at one server, for one migration."""

    client: openai.OpenAI
    section: OpenAIProvider
    key: str
    _uploaded: dict[str, str] = field(default_factory=dict)  # job name -> file id, of this process

    @property
    def capabilities(self) -> Capabilities:
        return OPENAI

    @property
    def _host(self) -> str:
        return urlsplit(str(self.client.base_url)).netloc

    @property
    def account(self) -> str:
        """Project or organisation where one is named, else which key it is, by a few digits of its digest."""
        named = os.environ.get("OPENAI_PROJECT_ID") or os.environ.get("OPENAI_ORG_ID")
        who = named or key_name(str(self.client.api_key))
        return f"openai:{self._host}:{who}"

    @property
    def home(self) -> str:
        return f"openai://{self._host}/{self.key}/"

    @property
    def place_settings(self) -> str:
        return "provider.base_url, OPENAI_PROJECT_ID or OPENAI_API_KEY"

    @property
    def fingerprint(self) -> tuple[str, ...]:
        return (ENDPOINT, self.section.completion_window)

    def preflight(self, model: str, planned: Mapping[str, int] | None) -> list[Check]:
        look = Preflight(
            ERRORS,
            self._host,
            self.section.base_url is None,
            "OPENAI_API_KEY",
            lambda: self.client.batches.list(limit=1),
            self.client.models.retrieve,
        )
        return look.checks(model, batch=planned is not None)

    def input_uri(self, name: str) -> str:
        return f"{self.home}input/{name}.jsonl"

    def output_uri(self, name: str) -> str:
        return f"{self.home}output/{name}/"

    def upload(self, name: str, body: BinaryIO, size: int) -> str:  # noqa: ARG002 - ours, not the file's
        with spooled(request_lines(requests_in(body), self.section.model)) as (file, _):
            expires: Any = {"expires_after": self._expiry()} if self._expiry() else {}
            purpose: Any = self.section.purpose
            with ERRORS.repeatable(f"upload of {name}"):
                made = self.client.files.create(
                    file=(f"{name}.jsonl", file, "application/jsonl"), purpose=purpose, **expires
                )
        self._uploaded[name] = made.id
        return self.input_uri(name)

    def _expiry(self) -> dict[str, Any] | None:
        days = self.section.files_expire_days
        return {"anchor": "created_at", "seconds": days * _DAY} if days else None

    def discard(self, name: str) -> None:
        self._uploaded.pop(name, None)
        for file in self._files():
            if file.filename == f"{name}.jsonl":
                self._delete(file.id)

    def _files(self) -> Iterator["FileObject"]:
        """Files of our purpose; none where a server does not list them."""
        try:
            yield from self.client.files.list(purpose=self.section.purpose)
        except openai.APIStatusError as error:
            if error.status_code in _NO_LIST:
                return
            with ERRORS.repeatable("list of files"):
                raise
        except openai.OpenAIError:
            with ERRORS.repeatable("list of files"):
                raise

    def _delete(self, file_id: str) -> bool:
        """Whether there was something to delete."""
        try:
            with ERRORS.repeatable(f"removal of file {file_id}"):
                self.client.files.delete(file_id)
        except ResultsGone:
            return False
        return True

    def create(self, request: JobRequest) -> str:
        file_id = self._uploaded.get(request.name) or self._uploaded_before(request.name)
        expires: Any = {"output_expires_after": self._expiry()} if self._expiry() else {}
        window: Any = self.section.completion_window
        with ERRORS.creating(f"job {request.name}"):
            made = self.client.with_options(max_retries=0, timeout=_PAID_SECONDS).batches.create(
                input_file_id=file_id,
                endpoint=ENDPOINT,
                completion_window=window,
                metadata={_JOB: request.name, _TOKEN: request.token},
                **expires,
            )
        if not isinstance(made, openai.BaseModel) or not made.id:
            raise LostAnswer(f"job {request.name}: the answer names no job")
        return made.id

    def _uploaded_before(self, name: str) -> str:
        for file in self._files():
            if file.filename == f"{name}.jsonl":
                return file.id
        raise TransientError(f"job {name}: its upload is not there; run again")

    def find(
        self,
        request: JobRequest,
        since: datetime,
        known: Collection[str] = (),  # noqa: ARG002 - stamps tell
    ) -> JobReport | None:
        """By our stamp; on a server that keeps no metadata by the name of its input file."""
        unstamped: list[Batch] = []
        for batch in self._batches(since):
            if _stamp(batch).get(_TOKEN) == request.token:
                return _report(batch)
            if not _stamp(batch):
                unstamped.append(batch)
        if unstamped:
            ours = {file.id for file in self._files() if file.filename == f"{request.name}.jsonl"}
            ours |= {self._uploaded[request.name]} if request.name in self._uploaded else set()
            for batch in unstamped:
                if batch.input_file_id in ours:
                    return _report(batch)
        return None

    def reports(self, since: datetime) -> Iterator[JobReport]:
        return map(_report, self._batches(since))

    def _batches(self, since: datetime) -> Iterator["Batch"]:
        """Batches since then. OpenAI lists the newest first, so an old one after a newer one ends it; a
        server of another order is read to its end."""
        oldest = (since - _CLOCK_SKEW).timestamp()
        before: float | None = None
        with ERRORS.repeatable("list of jobs"):
            for batch in self.client.batches.list(limit=_PAGE):
                created = batch.created_at or 0
                if created >= oldest:
                    yield batch
                elif before is not None and created < before:
                    return
                before = created

    def report(self, provider_id: str) -> JobReport:
        with ERRORS.repeatable(f"status of {provider_id}"):
            return _report(self.client.batches.retrieve(provider_id))

    def stop(self, provider_id: str) -> None:
        stop(self.report, self._cancel, provider_id)

    def _cancel(self, provider_id: str) -> None:
        with ERRORS.repeatable(f"stop of {provider_id}"):
            self.client.batches.cancel(provider_id)

    def outputs(self, name: str, provider_id: str) -> list[OutputFile]:  # noqa: ARG002 - known by its id
        with ERRORS.repeatable(f"outputs of {provider_id}"):
            batch = self.client.batches.retrieve(provider_id)
        return [OutputFile(file_id) for file_id in (batch.output_file_id, batch.error_file_id) if file_id]

    def totals(self, name: str, provider_id: str) -> Totals:
        """Counts and usage of the batch; servers that speak the protocol often give neither."""
        with ERRORS.repeatable(f"sums of {name}"):
            batch = self.client.batches.retrieve(provider_id)
        counts, usage = batch.request_counts, batch.usage
        return Totals(
            counts.completed if counts else None,
            counts.failed if counts else None,
            usage.input_tokens if usage else None,
            usage.output_tokens if usage else None,
        )

    def open(self, file: OutputFile) -> LineStream:
        what = f"read of output file {file.key}"
        with ERRORS.repeatable(what):
            opened = self.client.files.with_streaming_response.content(file.key)
            response = opened.__enter__()

        def chunks() -> Iterator[bytes]:
            # the transport's own errors come through while the body is read
            try:
                yield from response.iter_bytes()
            except HTTPError as error:
                raise TransientError(f"{what}: {type(error).__name__}") from None

        return LineStream(chunks(), our_line, lambda: opened.__exit__(None, None, None))

    def answer(
        self, model: str, invocation_type: str, model_input: Mapping[str, object]
    ) -> Mapping[str, object]:
        assert invocation_type == "chat_completions"
        body: dict[str, Any] = {**model_input, "model": model}
        with ERRORS.answering("on-demand call"):
            paid = self.client.with_options(max_retries=0, timeout=_ANSWER_SECONDS)
            answer = paid.chat.completions.with_raw_response.create(**body).text
        try:
            output = json.loads(answer)
        except ValueError:
            output = None
        if not isinstance(output, dict):
            raise LostAnswer("on-demand call: the answer is no JSON object")
        return output

    def erase(self, provider_ids: Sequence[str], since: datetime) -> ErasureCertificate:
        """The files of every job, known or found by its stamp, and uploads no job names; then a look at each.

        Raises:
            TransientError: a job nobody knew of is still under way and was asked to stop.
        """
        jobs = self._jobs_to_erase(provider_ids, since)
        wanted: dict[str, int] = {
            file_id: 0
            for batch in jobs
            for file_id in (batch.input_file_id, batch.output_file_id, batch.error_file_id)
            if file_id
        }
        gone: set[str] = set()
        size = 0
        left: list[str] = []
        for _ in range(_ROUNDS):
            listed = {file.id: file.bytes or 0 for file in self._files() if self._is_ours(file)}
            wanted |= listed
            size += sum(bytes_ for file_id, bytes_ in listed.items() if file_id not in gone)
            gone |= {file_id for file_id in wanted if file_id not in gone and self._delete(file_id)}
            left = [file_id for file_id in wanted if self._is_there(file_id)]
            if not left:
                break
            gone -= set(left)
        if left:
            raise TerminalError(
                f"{len(left)} files of migration {self.key} are still at {self._host}: erase again"
            )
        kept = f"{len(jobs)} batch records (ids, counts and our stamp, no content): the API deletes none"
        return ErasureCertificate(len(gone), len(gone), size, 0, 0, [kept] if jobs else [])

    def _jobs_to_erase(self, provider_ids: Sequence[str], since: datetime) -> "list[Batch]":
        found = {
            batch.id: batch
            for batch in self._batches(since)
            if belongs_to(self.key, _stamp(batch).get(_JOB, ""))
        }
        for provider_id in provider_ids:
            if provider_id not in found:
                try:
                    with ERRORS.repeatable(f"status of {provider_id}"):
                        found[provider_id] = self.client.batches.retrieve(provider_id)
                except ResultsGone:
                    continue
        running = [batch.id for batch in found.values() if _report(batch).phase != "ended"]
        stop_before_erasing(self.key, running, self.stop)
        return list(found.values())

    def _is_ours(self, file: "FileObject") -> bool:
        return belongs_to(self.key, file.filename.removesuffix(".jsonl"))

    def _is_there(self, file_id: str) -> bool:
        return is_there(lambda: self._file(file_id))

    def _file(self, file_id: str) -> "FileObject":
        with ERRORS.repeatable(f"look at file {file_id}"):
            return self.client.files.retrieve(file_id)


def _stamp(batch: "Batch") -> Mapping[str, str]:
    return batch.metadata or {}


def _report(batch: "Batch") -> JobReport:
    said = str(batch.status).lower()
    status = "NoRoom" if _is_for_want_of_room(batch) else _ENDED.get(said, said)
    counts = batch.request_counts
    ended = batch.completed_at or batch.failed_at or batch.expired_at or batch.cancelled_at
    return JobReport(
        provider_id=batch.id,
        name=_stamp(batch).get(_JOB, ""),
        token=_stamp(batch).get(_TOKEN),
        status=status,
        phase="ended" if said in _ENDED else "running",
        message=_why(batch),
        ended_at=_time(ended) if said in _ENDED else None,
        deadline=_time(batch.expires_at),
        counts=RecordCounts(counts.total, counts.completed + counts.failed, counts.completed, counts.failed)
        if counts
        else RecordCounts(),
    )


def _is_for_want_of_room(batch: "Batch") -> bool:
    """The cap on enqueued tokens is no answer to create: it is found in a job that failed (openai-python#1643)."""
    codes = {error.code for error in (batch.errors.data if batch.errors else None) or []}
    return str(batch.status).lower() == "failed" and codes == {"token_limit_exceeded"}


def _why(batch: "Batch") -> str | None:
    """The first few errors of a job that failed as a whole."""
    found = (batch.errors.data if batch.errors else None) or []
    said = [
        f"{error.code or 'error'}{f' (line {error.line})' if error.line else ''}: {error.message or ''}".strip()
        for error in found[:5]
    ]
    if len(found) > len(said):
        said.append(f"and {len(found) - len(said)} more")
    return "; ".join(said) or None


def _time(seconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
