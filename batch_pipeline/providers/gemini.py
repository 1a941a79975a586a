"""The Gemini API's batch mode with inline requests, and its on-demand twin.

Facts: contracts/providers.md section 2.3. Creation is not idempotent: a job's display name holds our name and
a part of the token, and it is found again by listing and comparing, for the API lists without a filter.
Requests travel in the create call and answers in the job itself, so that deleting the job deletes both: the
API's file mode is not used, because nobody can delete the file it leaves its results in.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, BinaryIO, Final

import msgspec

from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.provider_settings import GeminiProvider
from batch_pipeline.providers.capabilities import GEMINI, Capabilities
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
from batch_pipeline.providers.credential_names import key_name
from batch_pipeline.providers.erasing import is_there, stop_before_erasing
from batch_pipeline.providers.gemini_lines import batch_body, inline_requests, our_lines, results_in
from batch_pipeline.providers.gemini_preflight import Preflight
from batch_pipeline.providers.google_errors import errors
from batch_pipeline.providers.google_http import GoogleApi, connections, json_object
from batch_pipeline.providers.google_jobs import counts_of, state_of, time_of, words
from batch_pipeline.providers.job_names import belongs_to
from batch_pipeline.providers.registry import Setup
from batch_pipeline.providers.stopping import stop
from batch_pipeline.providers.wire_lines import LineStream, requests_in

ERRORS: Final = errors("the Gemini API")
_OFFICIAL: Final = "https://generativelanguage.googleapis.com"
# Between a job's name and its token in the display name; neither holds one.
_SEAM: Final = "."
_TOKEN_DIGITS: Final = 32
# All of a job but its answers, which would come with every look at it.
_NO_ANSWERS: Final = (
    "name,done,error,metadata(name,displayName,state,createTime,endTime,updateTime,batchStats,model)"
)
_PAGE: Final = "100"
_CLOCK_SKEW: Final = timedelta(minutes=15)
_DEADLINE: Final = timedelta(hours=48)
_PAID_SECONDS: Final = 180.0
_ANSWER_SECONDS: Final = 300.0


def open_provider(setup: Setup) -> BatchProvider:
    """The API as the file and Google's own variables say.

    Raises:
        ConfigurationError: there is no key.
    """
    section = setup.section
    assert isinstance(section, GeminiProvider)
    # the order in which Google's own client reads them
    key = os.environ.get("GOOGLE_API_KEY") or os.environ.get("GEMINI_API_KEY")
    if not key:
        raise ConfigurationError(
            "GEMINI_API_KEY", "(not set)", "set it; a server that asks for none takes any word"
        )
    address = section.base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or _OFFICIAL
    api = GoogleApi(
        f"{address.rstrip('/')}/{section.api_version}", lambda: {"x-goog-api-key": key}, connections()
    )
    return GeminiBatch(api, section, setup.key, key_name(key))


@dataclass(frozen=True)
class GeminiBatch:
    """One key's project, for one migration."""

    api: GoogleApi
    section: GeminiProvider
    key: str
    key_name: str
    _prepared: dict[str, bytes] = field(default_factory=dict)  # job name -> create body, of this process

    @property
    def capabilities(self) -> Capabilities:
        return GEMINI

    @property
    def account(self) -> str:
        """Which key it is, by a few digits of its digest: the API has no word for its project."""
        return f"gemini:{self.api.host}:{self.key_name}"

    @property
    def home(self) -> str:
        return f"gemini://{self.api.host}/{self.key}/"

    @property
    def place_settings(self) -> str:
        return "provider.base_url or GEMINI_API_KEY"

    @property
    def fingerprint(self) -> tuple[str, ...]:
        return (self.section.api_version,)

    def preflight(self, model: str, planned: Mapping[str, int] | None) -> list[Check]:
        return Preflight(self.api, ERRORS).checks(_model(model), batch=planned is not None)

    def input_uri(self, name: str) -> str:
        return f"{self.home}input/{name}"

    def output_uri(self, name: str) -> str:
        return f"{self.home}output/{name}"

    def upload(self, name: str, body: BinaryIO, size: int) -> str:  # noqa: ARG002 - the API names no limit but its own
        """Nothing leaves yet: the requests are part of the create call."""
        self._prepared[name] = inline_requests(requests_in(body))
        return self.input_uri(name)

    def discard(self, name: str) -> None:
        self._prepared.pop(name, None)

    def create(self, request: JobRequest) -> str:
        items = self._prepared.pop(request.name, None)
        if items is None:
            raise TransientError(f"job {request.name}: its requests are not at hand; run again")
        body = batch_body(_display_name(request), items)
        with ERRORS.creating(f"job {request.name}"):
            path = f"/{_model(request.model)}:batchGenerateContent"
            made = json_object(self.api.once("POST", path, content=body, seconds=_PAID_SECONDS))
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
        stamp = _display_name(request)
        for job in self._jobs(since):
            if _about(job).get("displayName") == stamp:
                return _report(job)
        return None

    def reports(self, since: datetime) -> Iterator[JobReport]:
        return map(_report, self._jobs(since))

    def _jobs(self, since: datetime) -> Iterator[dict[str, Any]]:
        """To the end of the list: no order is promised."""
        params = {"pageSize": _PAGE, "fields": f"nextPageToken,operations({_NO_ANSWERS})"}
        with ERRORS.repeatable("list of jobs"):
            for job in self.api.pages("/batches", params, "operations"):
                created = time_of(_about(job).get("createTime"))
                if created is None or created >= since - _CLOCK_SKEW:
                    yield job

    def report(self, provider_id: str) -> JobReport:
        return _report(self._job(provider_id))

    def _job(self, provider_id: str) -> dict[str, Any]:
        with ERRORS.repeatable(f"status of {provider_id}"):
            return self.api.often("GET", f"/{provider_id}", params={"fields": _NO_ANSWERS})

    def stop(self, provider_id: str) -> None:
        stop(self.report, self._cancel, provider_id)

    def _cancel(self, provider_id: str) -> None:
        with ERRORS.repeatable(f"stop of {provider_id}"):
            self.api.often("POST", f"/{provider_id}:cancel")

    def outputs(self, name: str, provider_id: str) -> list[OutputFile]:  # noqa: ARG002 - known by its id
        return [OutputFile(provider_id)]

    def totals(self, name: str, provider_id: str) -> Totals:  # noqa: ARG002 - known by its id
        counts = self.report(provider_id).counts
        return Totals(counts.succeeded, counts.errored)

    def open(self, file: OutputFile) -> LineStream:
        """All answers come in one JSON document, at most as large as those of 18 MB of requests."""
        what = f"read of the answers of {file.key}"
        with ERRORS.repeatable(what):
            answer = self.api.once("GET", f"/{file.key}", params={"prettyPrint": "false"})
        try:
            results = results_in(answer)
        except ValueError:
            raise TransientError(f"{what}: the answer is no job of the Gemini API") from None
        if results is None and self.report(file.key).status in {"Completed", "PartiallyCompleted"}:
            raise ResultsGone(f"{what}: the job is over and holds no answers")
        lines = (line + b"\n" for line in our_lines(results or []))
        return LineStream(lines, lambda line: line, lambda: None)

    def answer(
        self, model: str, invocation_type: str, model_input: Mapping[str, object]
    ) -> Mapping[str, object]:
        assert invocation_type == "generate_content"
        with ERRORS.answering("on-demand call"):
            body = msgspec.json.encode(model_input)
            path = f"/{_model(model)}:generateContent"
            output = json_object(self.api.once("POST", path, content=body, seconds=_ANSWER_SECONDS))
        if not output:
            raise LostAnswer("on-demand call: the answer is empty")
        return output

    def erase(self, provider_ids: Sequence[str], since: datetime) -> ErasureCertificate:
        """Every job, known or found by its stamp, with the requests and answers in it; then a look at each.

        Raises:
            TransientError: a job nobody knew of is still under way and was asked to stop.
            TerminalError: one is still there.
        """
        ours = {str(job.get("name")) for job in self._ours(since)}
        found = ours | {one for one in provider_ids if one in ours or self._is_there(one)}
        running = [one for one in sorted(found) if self.report(one).phase != "ended"]
        stop_before_erasing(self.key, running, self.stop)
        for one in sorted(found):
            self._delete(one)
        left = {str(job.get("name")) for job in self._ours(since)}
        left |= {one for one in found - left if self._is_there(one)}
        if left:
            raise TerminalError(
                f"{len(left)} jobs of migration {self.key} are still at {self.api.host}: erase again"
            )
        return ErasureCertificate(len(found), len(found), 0, 0, 0)

    def _ours(self, since: datetime) -> Iterator[dict[str, Any]]:
        return (job for job in self._jobs(since) if belongs_to(self.key, _stamp(job)[0]))

    def _is_there(self, provider_id: str) -> bool:
        return is_there(lambda: self._job(provider_id))

    def _delete(self, provider_id: str) -> None:
        """One that is gone meanwhile is what was wanted."""
        with suppress(ResultsGone), ERRORS.repeatable(f"removal of {provider_id}"):
            self.api.often("DELETE", f"/{provider_id}")


def _model(name: str) -> str:
    return name if "/" in name else f"models/{name}"


def _display_name(request: JobRequest) -> str:
    return f"{request.name}{_SEAM}{request.token[:_TOKEN_DIGITS]}"


def _about(job: Mapping[str, Any]) -> Mapping[str, Any]:
    found = job.get("metadata")
    return found if isinstance(found, dict) else {}


def _stamp(job: Mapping[str, Any]) -> tuple[str, str | None]:
    name, _, token = str(_about(job).get("displayName") or "").partition(_SEAM)
    return name, token or None


def _report(job: Mapping[str, Any]) -> JobReport:
    about = _about(job)
    stats = about.get("batchStats") or {}
    counters = ("requestCount", "successfulRequestCount", "failedRequestCount", "pendingRequestCount")
    counts = counts_of(*map(stats.get, counters))
    said = about.get("state") or ("FAILED" if job.get("error") else "SUCCEEDED" if job.get("done") else None)
    status, phase = state_of(said, counts, job.get("error"), keeps_expired=GEMINI.keeps_expired)
    name, token = _stamp(job)
    created = time_of(about.get("createTime"))
    return JobReport(
        provider_id=str(job.get("name") or ""),
        name=name,
        token=token,
        status=status,
        phase=phase,
        message=words(job.get("error")),
        ended_at=time_of(about.get("endTime") or about.get("updateTime")) if phase == "ended" else None,
        deadline=created + _DEADLINE if created else None,
        counts=counts,
    )
