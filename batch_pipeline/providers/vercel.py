"""Vercel AI Gateway's batch protocol, over HTTP: there is no SDK for Python.

Facts: contracts/providers.md section 2.5; the API is experimental. A call that starts a job carries our token
as its idempotency key, and the same key with the same bytes answers with the first job: so the bytes that left
are kept (`sent_bodies.py`). Nothing is listed and nothing is deleted. There are no single calls: scans, and
what no job can hold, go to the provider of `on_demand`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

import httpx

from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.provider_settings import VercelProvider
from batch_pipeline.providers.capabilities import VERCEL, Capabilities
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
from batch_pipeline.providers.erasing import stop_before_erasing
from batch_pipeline.providers.registry import Setup
from batch_pipeline.providers.sent_bodies import SentBodies
from batch_pipeline.providers.stopping import stop
from batch_pipeline.providers.vercel_http import ADDRESS, ERRORS, Gateway, Refused, credential
from batch_pipeline.providers.vercel_lines import our_line, start_body
from batch_pipeline.providers.wire_lines import LineStream, requests_in
from batch_pipeline.workspace import Workspace

_DEADLINE: Final = timedelta(hours=24)
# An id no batch has: who may ask is told that there is none, and pays nothing.
_NO_BATCH: Final = "batch_preflight"


class _OtherBody(TerminalError):
    """This key was used before, with other bytes."""


def open_provider(setup: Setup) -> BatchProvider:
    """The gateway as the file and its own variables say.

    Raises:
        ConfigurationError: there is no key.
    """
    section = setup.section
    assert isinstance(section, VercelProvider)
    folder = Workspace(setup.settings.home.absolute(), setup.key).folder / "gateway"
    address = section.base_url or ADDRESS
    return VercelGateway(Gateway.at(address, section.team), section, setup.key, address, folder)


@dataclass(frozen=True)
class VercelGateway:
    """One account at one gateway, for one migration."""

    gateway: Gateway
    section: VercelProvider
    key: str
    address: str
    folder: Path

    @property
    def _bodies(self) -> SentBodies:
        return SentBodies(self.folder)

    @property
    def capabilities(self) -> Capabilities:
        return VERCEL

    @property
    def _host(self) -> str:
        return urlsplit(self.address).netloc

    @property
    def account(self) -> str:
        """The team where one is named, else which key it is; tokens of Vercel's own change by the hour."""
        method, secret = credential()
        who = "oidc" if method == "oidc" else key_name(secret)
        return f"vercel:{self._host}:{self.section.team or who}"

    @property
    def home(self) -> str:
        return f"vercel://{self._host}/{self.key}/"

    @property
    def place_settings(self) -> str:
        return "provider.base_url, provider.team, AI_GATEWAY_API_KEY"

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Another length of answers makes another body, which the key of the first would refuse."""
        return (str(self.section.max_output_tokens),)

    def preflight(self, model: str, planned: Mapping[str, int] | None) -> list[Check]:  # noqa: ARG002
        """Key and address; models cannot be looked up."""
        subject = f"batch API of {self._host}"
        try:
            with ERRORS.repeatable(subject):
                self.gateway.status(_NO_BATCH)
        except ResultsGone:
            pass
        except (TransientError, TerminalError) as error:
            fix = "Set AI_GATEWAY_API_KEY, and provider.base_url to the gateway's address"
            return [Check.failed(subject, error, fix)]
        return [
            Check(subject, True, "answers"),
            Check(f"model {model}", True, "the gateway lists none; the first job says whether it is there"),
        ]

    def input_uri(self, name: str) -> str:
        return f"{self.home}input/{name}.json"

    def output_uri(self, name: str) -> str:
        return f"{self.home}output/{name}/"

    def upload(self, name: str, body: BinaryIO, size: int) -> str:  # noqa: ARG002 - not needed here
        """There is nothing to upload to: the body waits on this disk for the call that takes it along."""
        self._bodies.write(name, start_body(requests_in(body), self.section.model))
        return self.input_uri(name)

    def discard(self, name: str) -> None:
        self._bodies.drop(name)

    def create(self, request: JobRequest) -> str:
        first = self._bodies.left(request.name) is None
        try:
            return self._start(request, self._bodies.leaving(request.name))
        except (TransientError, TerminalError):
            if first:
                self._bodies.came_back(request.name)
            raise

    def _start(self, request: JobRequest, body: Path | None) -> str:
        what = f"job {request.name}"
        if body is None:
            raise TransientError(f"{what}: its body is not here any more; run again")
        with body.open("rb") as content, ERRORS.creating(what):
            try:
                started = self.gateway.start(content, request.model, request.token)
            except Refused as refused:
                if refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY:
                    raise _OtherBody(
                        f"{what}: its key was used before with another body, so a job of it is there and may be "
                        f"paid, and nothing can ask for it. Going on sends its {request.records} records again "
                        "and pays them again; with the settings and files of then, running again finds it"
                    ) from None
                raise
        batch_id = started.get("batchId")
        if not isinstance(batch_id, str) or not batch_id:
            raise LostAnswer(f"{what}: the answer names no job")
        return batch_id

    def find(
        self,
        request: JobRequest,
        since: datetime,  # noqa: ARG002 - nothing is listed
        known: Collection[str] = (),  # noqa: ARG002
    ) -> JobReport | None:
        """A call that left is sent again, byte for byte, which answers with the job it made.

        The gateway says it in no other way. Had the call never arrived, its job begins now.
        """
        body = self._bodies.left(request.name)
        if body is None:
            return None
        try:
            return self.report(self._start(request, body))
        except _OtherBody:
            # another machine's call came first: the next create call says so
            self._bodies.came_back(request.name)
            return None

    def reports(self, since: datetime) -> Iterator[JobReport]:  # noqa: ARG002
        """Nothing is listed: each job is asked about alone."""
        return iter(())

    def report(self, provider_id: str) -> JobReport:
        with ERRORS.repeatable(f"status of {provider_id}"):
            said = self.gateway.status(provider_id)
        return _report(provider_id, said)

    def stop(self, provider_id: str) -> None:
        stop(self.report, self._cancel, provider_id)

    def _cancel(self, provider_id: str) -> None:
        with ERRORS.repeatable(f"stop of {provider_id}"):
            self.gateway.cancel(provider_id)

    def outputs(self, name: str, provider_id: str) -> list[OutputFile]:  # noqa: ARG002 - known by its id
        """A job that failed may have results all the same."""
        return [OutputFile(provider_id)]

    def totals(self, name: str, provider_id: str) -> Totals:  # noqa: ARG002 - known by its id
        """What counts as failed may never have begun, so that count is no witness."""
        return Totals(succeeded=self.report(provider_id).counts.succeeded)

    def open(self, file: OutputFile) -> LineStream:
        what = f"results of {file.key}"
        try:
            with ERRORS.repeatable(what):
                response = self.gateway.results(file.key)
        except TerminalError as error:
            if not isinstance(error, ResultsGone) and self.report(file.key).status == "Failed":
                raise ResultsGone(str(error)) from None
            raise

        def chunks() -> Iterator[bytes]:
            # the transport's own errors come through while the body is read
            try:
                yield from response.iter_bytes()
            except httpx.HTTPError as error:
                raise TransientError(f"{what}: {type(error).__name__}") from None

        return LineStream(chunks(), our_line, response.close)

    def answer(
        self,
        model: str,  # noqa: ARG002
        invocation_type: str,  # noqa: ARG002
        model_input: Mapping[str, object],  # noqa: ARG002
    ) -> Mapping[str, object]:
        raise ConfigurationError("on_demand.provider", "vercel", "name a provider that answers single calls")

    def erase(self, provider_ids: Sequence[str], since: datetime) -> ErasureCertificate:  # noqa: ARG002
        """Nothing here can be deleted: what is kept is said, and until when.

        Raises:
            TransientError: a job of ours is still under way and was asked to stop.
        """
        held: list[datetime] = []
        running: list[str] = []
        for provider_id in provider_ids:
            try:
                with ERRORS.repeatable(f"status of {provider_id}"):
                    said = self.gateway.status(provider_id)
            except ResultsGone:
                continue
            if _report(provider_id, said).phase != "ended":
                running.append(provider_id)
            held.append(_time(said.get("expiresAt")) or _created(said) + timedelta(days=29))
        stop_before_erasing(self.key, running, self.stop)
        kept = (
            f"{len(held)} batches with their requests and results at {self._host}: the gateway deletes none, and "
            f"keeps them until {max(held):%Y-%m-%d} at least"
            if held
            else None
        )
        return ErasureCertificate(0, 0, 0, 0, 0, [kept] if kept else [])


def _report(provider_id: str, said: Mapping[str, Any]) -> JobReport:
    counts = said.get("requestCounts") or {}
    ended = said.get("status") != "pending"
    completed, failed = counts.get("completed"), counts.get("failed")
    done = None if completed is None and failed is None else (completed or 0) + (failed or 0)
    error = said.get("error") or {}
    return JobReport(
        provider_id=provider_id,
        name="",
        token=None,
        status=_status(said, completed) if ended else str(said.get("rawStatus") or "pending"),
        phase="ended" if ended else "running",
        message=error.get("message") if isinstance(error, dict) else None,
        ended_at=None,
        deadline=_created(said) + _DEADLINE,
        counts=RecordCounts(counts.get("total"), done, completed, failed),
    )


def _status(said: Mapping[str, Any], completed: int | None) -> EndedStatus:
    """`failed` is also what ran out of time or was cancelled; the raw status tells them apart."""
    raw = str(said.get("rawStatus") or "").lower()
    if said.get("status") == "completed":
        return "Completed"
    if "expired" in raw:
        return "Expired"
    if "cancel" in raw:
        return "Stopped"
    return "PartiallyCompleted" if completed else "Failed"


def _time(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _created(said: Mapping[str, Any]) -> datetime:
    return _time(said.get("createdAt")) or datetime.now(UTC)
