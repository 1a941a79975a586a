"""Anthropic's Message Batches and their on-demand twin, through Anthropic's own SDK.

Facts: contracts/providers.md section 2.1. A batch can be given no stamp and no token, so its records carry
whose they are (`anthropic_lines.py`): a job whose create answer got lost is looked for among the batches of
its time and size, and its first result says whether it is the one. While such a batch is still under way
nothing can be said. Parameters are looked at after create: what is wrong comes back as errors of all records.
"""

import json
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, Final
from urllib.parse import urlsplit

import anthropic
from anthropic.types.messages import MessageBatch
from httpx2 import HTTPError, Response

from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.provider_settings import AnthropicProvider
from batch_pipeline.providers.anthropic_lines import (
    batch_body,
    first_custom_id,
    is_of_migration,
    job_mark,
    our_line,
)
from batch_pipeline.providers.capabilities import ANTHROPIC, Capabilities
from batch_pipeline.providers.contract import (
    BatchProvider,
    Check,
    EndedStatus,
    ErasureCertificate,
    JobReport,
    JobRequest,
    LostAnswer,
    NotYetKnown,
    OutputFile,
    RecordCounts,
    RefusedAnswer,
    ResultsGone,
    Totals,
)
from batch_pipeline.providers.credential_names import key_name
from batch_pipeline.providers.erasing import is_there, stop_before_erasing
from batch_pipeline.providers.registry import Setup
from batch_pipeline.providers.sdk_errors import SdkErrors
from batch_pipeline.providers.sdk_preflight import Preflight
from batch_pipeline.providers.stopping import stop
from batch_pipeline.providers.wire_lines import LineStream, requests_in, spooled

ERRORS: Final = SdkErrors(
    "Anthropic", anthropic.AnthropicError, anthropic.APIConnectionError, anthropic.APIStatusError
)
_BATCHES: Final = "/v1/messages/batches"
_PAGE: Final = 100
_CLOCK_SKEW: Final = timedelta(minutes=15)
_READ_RETRIES: Final = 4
_READ_SECONDS: Final = 60.0
_PAID_SECONDS: Final = 300.0
# A little under the hour a cache keeps a prompt since it was read last.
_WARM_SECONDS: Final = 3000.0
# Makes the SDK hand out an answer whose body is still to be read, as its `with_streaming_response` does.
_UNREAD: Final = {"X-Stainless-Raw-Response": "stream"}


def open_provider(setup: Setup) -> BatchProvider:
    """The client as the file and Anthropic's own variables say.

    Raises:
        ConfigurationError: there is no credential.
    """
    section = setup.section
    assert isinstance(section, AnthropicProvider)
    try:
        client = anthropic.Anthropic(
            base_url=section.base_url,
            max_retries=_READ_RETRIES,
            timeout=anthropic.Timeout(_READ_SECONDS, connect=10.0),
        )
    except anthropic.AnthropicError:
        raise _no_credential() from None  # a profile is named and is not there
    if not (client.api_key or client.auth_token or client.credentials):
        raise _no_credential()
    return AnthropicBatches(client, section, setup.key)


def _no_credential() -> ConfigurationError:
    fix = "set it, or a profile of Anthropic's; a server that asks for none takes any word"
    return ConfigurationError("ANTHROPIC_API_KEY", "(not set)", fix)


@dataclass(frozen=True)
class AnthropicBatches:
    """One workspace, for one migration."""

    client: anthropic.Anthropic
    section: AnthropicProvider
    key: str
    _shards: dict[str, IO[bytes]] = field(default_factory=dict)  # job name -> its lines, until they are sent
    _warmed: dict[str, float] = field(
        default_factory=dict
    )  # model -> when its prompt was written to the cache
    _first_ids: dict[str, str | None] = field(default_factory=dict)  # of ended batches, by batch id

    @property
    def capabilities(self) -> Capabilities:
        return ANTHROPIC

    @property
    def _host(self) -> str:
        return urlsplit(str(self.client.base_url)).netloc

    @property
    def account(self) -> str:
        """A key belongs to one workspace: it is named by a few digits of its digest, a profile by its name."""
        secret = self.client.api_key or self.client.auth_token
        if secret is None:
            return f"anthropic:{self._host}:profile-{os.environ.get('ANTHROPIC_PROFILE', 'default')}"
        return f"anthropic:{self._host}:{key_name(secret)}"

    @property
    def home(self) -> str:
        return f"anthropic://{self._host}/{self.key}/"

    @property
    def place_settings(self) -> str:
        return "provider.base_url, ANTHROPIC_API_KEY"

    @property
    def fingerprint(self) -> tuple[str, ...]:
        return (_BATCHES, *(["cache_prompt"] if self.section.cache_prompt else []))

    def preflight(self, model: str, planned: Mapping[str, int] | None) -> list[Check]:
        look = Preflight(
            ERRORS,
            self._host,
            self.section.base_url is None,
            "ANTHROPIC_API_KEY",
            lambda: self.client.messages.batches.list(limit=1),
            self.client.models.retrieve,
        )
        return look.checks(model, batch=planned is not None)

    def input_uri(self, name: str) -> str:
        return f"{self.home}input/{name}.jsonl"

    def output_uri(self, name: str) -> str:
        return f"{self.home}output/{name}/"

    def upload(self, name: str, body: BinaryIO, size: int) -> str:  # noqa: ARG002 - not needed here
        """There is nothing to upload to: the lines wait here for the create call, which takes them along."""
        self.discard(name)
        shard = self._shards[name] = TemporaryFile()  # noqa: SIM115 - closed by `create` or `discard`
        copyfileobj(body, shard)
        return self.input_uri(name)

    def discard(self, name: str) -> None:
        if (shard := self._shards.pop(name, None)) is not None:
            shard.close()

    def create(self, request: JobRequest) -> str:
        shard = self._shards.pop(request.name, None)
        if shard is None:
            raise TransientError(f"job {request.name}: its lines are not here any more; run again")
        mark = job_mark(request.token, self.key)
        paid = self.client.with_options(max_retries=0, timeout=_PAID_SECONDS)
        with shard:
            self._warm_cache(shard, request.model)
            shard.seek(0)
            lines = requests_in(shard)
            with (
                spooled(batch_body(lines, mark, request.model)) as (body, _),
                ERRORS.creating(f"job {request.name}"),
            ):
                made = paid.post(
                    _BATCHES,
                    content=body,
                    cast_to=MessageBatch,
                    options={"headers": {"Content-Type": "application/json"}},
                )
        if not isinstance(made, MessageBatch) or not made.id:
            raise LostAnswer(f"job {request.name}: the answer names no job")
        return made.id

    def _warm_cache(self, shard: IO[bytes], model: str) -> None:
        """Records of a batch begin together, so the first would each write the prompt anew: one call without a
        document and without an answer writes it before. A batch itself may not ask for no tokens.

        It only saves: where it fails, the batch goes all the same.
        """
        warmed = self._warmed.get(model)
        if not self.section.cache_prompt or (warmed and time.monotonic() - warmed < _WARM_SECONDS):
            return
        shard.seek(0)
        asked = json.loads(next(requests_in(shard)).body)
        body = {
            "model": model,
            "max_tokens": 0,
            "system": asked["system"],
            "messages": [{"role": "user", "content": "-"}],
        }
        with suppress(TransientError, LostAnswer, RefusedAnswer), ERRORS.answering("warm-up of the cache"):
            paid = self.client.with_options(max_retries=0, timeout=_PAID_SECONDS)
            paid.post("/v1/messages", body=body, cast_to=Response)
            self._warmed[model] = time.monotonic()

    def find(self, request: JobRequest, since: datetime, known: Collection[str] = ()) -> JobReport | None:
        """Among the batches of its time and number of records, by the ids in their results.

        Raises:
            NotYetKnown: one that may be it has not ended.
            TerminalError: one that may be it was paid, and its results cannot be read.
        """
        mark = job_mark(request.token, self.key)
        under_way = 0
        for batch in self._batches(since):
            if batch.id in known or _total(batch) != request.records:
                continue
            if batch.processing_status != "ended":
                under_way += 1
                continue
            first = self._first_id(batch)
            if first is None and batch.request_counts.succeeded:
                raise TerminalError(
                    f"batch {batch.id} of {_total(batch)} requests may be job {request.name}, and its results "
                    "cannot be read. Where it is another one, delete it at Anthropic, then run again"
                )
            if first is not None and first.startswith(mark):
                return _report(batch)
        if under_way:
            raise NotYetKnown(
                f"{under_way} batches of {request.records} requests are under way, and only their results say "
                f"whether one of them is job {request.name}: nothing is sent before"
            )
        return None

    def _first_id(self, batch: MessageBatch) -> str | None:
        """The first custom id in an ended batch's results; None where there is none to be read."""
        if batch.id not in self._first_ids:
            try:
                opened = self._results(batch.id)
                try:
                    self._first_ids[batch.id] = first_custom_id(_chunks(opened, batch.id))
                finally:
                    opened.close()
            except ResultsGone:
                return None
        return self._first_ids[batch.id]

    def reports(self, since: datetime) -> Iterator[JobReport]:
        return map(_report, self._batches(since))

    def _batches(self, since: datetime) -> Iterator[MessageBatch]:
        """Batches of the workspace since then; the newest are listed first."""
        oldest = since - _CLOCK_SKEW
        with ERRORS.repeatable("list of jobs"):
            for batch in self.client.messages.batches.list(limit=_PAGE):
                if batch.created_at < oldest:
                    return
                yield batch

    def report(self, provider_id: str) -> JobReport:
        return _report(self._batch(provider_id))

    def _batch(self, provider_id: str) -> MessageBatch:
        with ERRORS.repeatable(f"status of {provider_id}"):
            return self.client.messages.batches.retrieve(provider_id)

    def stop(self, provider_id: str) -> None:
        stop(self.report, self._cancel, provider_id)

    def _cancel(self, provider_id: str) -> None:
        with ERRORS.repeatable(f"stop of {provider_id}"):
            self.client.messages.batches.cancel(provider_id)

    def outputs(self, name: str, provider_id: str) -> list[OutputFile]:
        if self._batch(provider_id).archived_at is not None:
            raise ResultsGone(
                f"job {name}: Anthropic keeps results for 29 days, those of {provider_id} are gone"
            )
        return [OutputFile(provider_id)]

    def totals(self, name: str, provider_id: str) -> Totals:  # noqa: ARG002 - known by its id
        counts = self._batch(provider_id).request_counts
        return Totals(counts.succeeded, counts.errored)

    def open(self, file: OutputFile) -> LineStream:
        opened = self._results(file.key)
        return LineStream(_chunks(opened, file.key), lambda line: our_line(line, self.key), opened.close)

    def _results(self, provider_id: str) -> Response:
        """From our own address: the SDK follows `results_url`, with the credential and to whatever host."""
        with ERRORS.repeatable(f"results of {provider_id}"):
            return self.client.get(
                f"{_BATCHES}/{provider_id}/results", cast_to=Response, options={"headers": _UNREAD}
            )

    def answer(
        self, model: str, invocation_type: str, model_input: Mapping[str, object]
    ) -> Mapping[str, object]:
        assert invocation_type == "messages"
        body: dict[str, Any] = {**model_input, "model": model}
        with ERRORS.answering("on-demand call"):
            paid = self.client.with_options(max_retries=0, timeout=_PAID_SECONDS)
            answer = paid.post("/v1/messages", body=body, cast_to=Response).text
        try:
            output = json.loads(answer)
        except ValueError:
            output = None
        if not isinstance(output, dict):
            raise LostAnswer("on-demand call: the answer is no JSON object")
        return output

    def erase(self, provider_ids: Sequence[str], since: datetime) -> ErasureCertificate:
        """Every batch the ledger knows, and those it forgot, known by the ids in their results.

        Raises:
            TransientError: a job of ours is still under way and was asked to stop.
        """
        ours, unknown = self._jobs_to_erase(provider_ids, since)
        for provider_id in ours:
            try:
                with ERRORS.repeatable(f"removal of {provider_id}"):
                    self.client.messages.batches.delete(provider_id)
            except ResultsGone:
                continue
        left = [provider_id for provider_id in ours if self._is_there(provider_id)]
        if left:
            raise TerminalError(
                f"{len(left)} batches of migration {self.key} are still at {self._host}: erase again"
            )
        kept = (
            f"{len(unknown)} batches of the workspace are under way and not in the ledger: whose they are can "
            f"be said once they have ended ({max(unknown):%Y-%m-%d %H:%M} UTC at the latest)"
            if unknown
            else None
        )
        return ErasureCertificate(len(ours), len(ours), 0, 0, 0, [kept] if kept else [])

    def _jobs_to_erase(
        self, provider_ids: Sequence[str], since: datetime
    ) -> tuple[list[str], list[datetime]]:
        """Ids of ours that are there, and the deadlines of batches that may be anybody's."""
        ours: dict[str, MessageBatch] = {}
        unknown: list[datetime] = []
        for batch in self._batches(since):
            if batch.id in provider_ids:
                ours[batch.id] = batch
            elif batch.processing_status != "ended":
                unknown.append(batch.expires_at)
            elif is_of_migration(self._first_id(batch) or "", self.key):
                ours[batch.id] = batch
        for provider_id in provider_ids:
            if provider_id not in ours:
                try:
                    ours[provider_id] = self._batch(provider_id)
                except ResultsGone:
                    continue
        running = [batch.id for batch in ours.values() if batch.processing_status != "ended"]
        stop_before_erasing(self.key, running, self.stop)
        return list(ours), unknown

    def _is_there(self, provider_id: str) -> bool:
        return is_there(lambda: self._batch(provider_id))


def _chunks(response: Response, provider_id: str) -> Iterator[bytes]:
    # the transport's own errors come through while the body is read
    try:
        yield from response.iter_bytes()
    except HTTPError as error:
        raise TransientError(f"results of {provider_id}: {type(error).__name__}") from None


def _total(batch: MessageBatch) -> int:
    """The counts sum to the number of requests at any time."""
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired


def _status(batch: MessageBatch) -> EndedStatus:
    """`ended` says nothing of success; records that were cancelled or ran out of time were never begun."""
    counts = batch.request_counts
    if counts.canceled:
        return "Stopped"
    return "Expired" if counts.expired else "Completed"


def _report(batch: MessageBatch) -> JobReport:
    ended = batch.processing_status == "ended"
    counts = batch.request_counts
    return JobReport(
        provider_id=batch.id,
        name="",
        token=None,
        status=_status(batch) if ended else batch.processing_status,
        phase="ended" if ended else "running",
        message=None,
        ended_at=batch.ended_at if ended else None,
        deadline=batch.expires_at,
        # all but `processing` stay zero until the end
        counts=RecordCounts(
            _total(batch), _total(batch) - counts.processing, counts.succeeded, counts.errored
        )
        if ended
        else RecordCounts(_total(batch)),
    )
