"""Vertex AI's batchPredictionJobs for Gemini and Claude over the core (contracts/providers.md section 2.4)."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from batch_pipeline.local.emulator.engines.contract import EngineAnswer, PromptRequest
from batch_pipeline_tests.providers.fakes import anthropic
from batch_pipeline_tests.providers.fakes.core import Ask, Core, FakeJob, Result
from batch_pipeline_tests.providers.fakes.gcs import BUCKET, Storage
from batch_pipeline_tests.providers.fakes.google import (
    MODEL,
    instant,
    item_error,
    job_error,
    job_state,
    page,
    read_prompt,
    refuse,
    response,
    shown,
    unknown,
)

PROJECT: Final = "acme-cvs-project"
LOCATION: Final = "europe-west1"
CLAUDE: Final = "claude-haiku-4-5@20251001"
# A job is named by its project's number, whatever it was asked by.
_NAMED: Final = f"projects/1234567890/locations/{LOCATION}/batchPredictionJobs/"
_LABEL: Final = re.compile(r"[a-z0-9_-]{1,63}")
_FILTER: Final = re.compile(r'(create_time>=|labels\.([a-z_]+)=)"([^"]*)"')
_MODELS: Final = {f"publishers/google/models/{MODEL}", f"publishers/anthropic/models/{CLAUDE}"}


@dataclass(frozen=True)
class VertexSkin:
    kind: Final = "vertex"
    model: str = MODEL
    soft_delete_seconds: int = 604_800

    def section(self, url: str) -> dict[str, Any]:
        return {
            "kind": "vertex",
            "model": self.model,
            "project": PROJECT,
            "location": LOCATION,
            "bucket": BUCKET,
            "base_url": url,
            "storage_url": url,
        }

    def environment(self, url: str) -> Mapping[str, str]:
        # a plain http: address is asked without any credential: there is none to find here either
        return {"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere", "GCE_METADATA_HOST": "127.0.0.1:9"}

    def content_left(self, core: Core) -> list[str]:
        return sorted(core.files) + sorted(core.jobs)

    def app(self, core: Core) -> Starlette:
        storage = Storage(core, self.soft_delete_seconds)
        api = _Api(core, storage)
        jobs = "/v1beta1/projects/{project}/locations/{location}/batchPredictionJobs"
        single = "/v1beta1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}"
        return Starlette(
            routes=[
                *storage.routes(),
                Route(jobs, api.create, methods=["POST"]),
                Route(jobs, api.list_jobs, methods=["GET"]),
                Route(jobs + "/{id}:cancel", api.cancel, methods=["POST"]),
                Route(jobs + "/{id}", api.show_job, methods=["GET"]),
                Route(jobs + "/{id}", api.delete, methods=["DELETE"]),
                Route(single + ":generateContent", api.single, methods=["POST"]),
                Route(single + ":rawPredict", api.single, methods=["POST"]),
                Route("/v1beta1/publishers/{publisher}/models/{model}", api.model_of, methods=["GET"]),
            ]
        )


class _Api:
    def __init__(self, core: Core, storage: Storage) -> None:
        self.core = core
        self.storage = storage

    def _job(self, request: Request) -> FakeJob | None:
        return self.core.jobs.get(f"{_NAMED}{request.path_params['id']}")

    def _refused(self, request: Request) -> Response | None:
        if refused := self.storage.refused(request):
            return refused
        if request.path_params.get("location", LOCATION) != LOCATION:
            return refuse("bad_request", "The location is not that of this endpoint.")
        return None

    async def create(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        body = await request.json()
        return await self.core.create(request, lambda: self._accept(body), refuse)

    def _accept(self, body: dict[str, Any]) -> Response:
        try:
            unknown(body, {"displayName", "model", "inputConfig", "outputConfig", "labels"})
            if body["model"] not in _MODELS or not body["displayName"]:
                raise ValueError("model or displayName")
            if any(not _LABEL.fullmatch(part) for pair in body["labels"].items() for part in pair):
                raise ValueError("labels have lower-case letters, digits, _ and -, at most 63")
            source = body["inputConfig"]
            (uri,) = source["gcsSource"]["uris"]
            target = body["outputConfig"]["gcsDestination"]["outputUriPrefix"]
            formats = (source["instancesFormat"], body["outputConfig"]["predictionsFormat"])
            found = self.storage.live(uri.removeprefix(f"gs://{BUCKET}/"))
            if formats != ("jsonl", "jsonl") or found is None or not target.startswith(f"gs://{BUCKET}/"):
                raise ValueError("inputConfig or outputConfig")
        except (ValueError, KeyError, TypeError) as error:
            return refuse("bad_request", str(error))
        asks, wrong = _read(found.data)
        job = self.core.accept(_NAMED, asks, body)
        if wrong:
            job.end = "failed"
            job.things["wrong"] = wrong
        return shown(self._resource(job))

    async def list_jobs(self, request: Request) -> Response:
        if fault := self._refused(request) or self.core.poll_fault(refuse):
            return fault
        jobs = [self._resource(job) for job in self.core.newest_first()]
        for term in filter(None, request.query_params.get("filter", "").split(" AND ")):
            read = _FILTER.fullmatch(term)
            if read is None:
                return refuse("bad_request", "Invalid filter.")
            if read[2]:
                jobs = [job for job in jobs if job["labels"].get(read[2]) == read[3]]
            else:
                jobs = [job for job in jobs if job["createTime"] >= read[3]]
        return page(request, jobs, "batchPredictionJobs", 10, 100)

    async def show_job(self, request: Request) -> Response:
        if fault := self._refused(request) or self.core.poll_fault(refuse):
            return fault
        job = self._job(request)
        return shown(self._resource(self.core.looked_at(job))) if job else refuse("not_found")

    async def cancel(self, request: Request) -> Response:
        job = self._job(request)
        if job is None:
            return refuse("not_found")
        if self.core.looked_at(job).results is not None:
            return refuse("bad_request", "The job is in a terminal state.")
        job.cancel_asked = True
        return shown({})

    async def delete(self, request: Request) -> Response:
        job = self._job(request)
        if job is None:
            return refuse("not_found")
        if self.core.looked_at(job).results is None:
            return refuse("bad_request", "The job is not in a terminal state.")
        with self.core.lock:
            self.core.jobs.pop(job.id)
        return shown({"name": f"{job.id}/operations/1", "done": True})

    def _resource(self, job: FakeJob) -> dict[str, Any]:
        if job.results is not None and not job.things.get("written"):
            self._write(job)
        ended = job.results is not None
        made = {
            "name": job.id,
            **job.stamp,
            "state": job_state("JOB_STATE", job.end, ended=ended),
            "createTime": instant(job.created),
            "updateTime": instant(time.time()),
        }
        if not ended:
            return made
        made["endTime"] = instant(time.time())
        if job.end == "failed":
            wrong = job.things.get("wrong")
            return {**made, "error": {"code": 3, "message": wrong} if wrong else job_error(self.core)}
        counts = {"successfulCount": str(job.count("answered")), "failedCount": str(job.count("refused"))}
        made["completionStats"] = {**counts, "incompleteCount": "-1"}
        folder = job.things.get("folder")
        return {**made, "outputInfo": {"gcsOutputDirectory": folder}} if folder else made

    def _write(self, job: FakeJob) -> None:
        """A folder of its own below the destination; a dump of the half way lies beside the answers."""
        with self.core.lock:
            job.things["written"] = "yes"
            worked = [one for one in reversed(job.results or ()) if one.kind != "never_begun"]
            if not worked:
                return
            bodies = {ask.record_id: ask.body for ask in job.asks}
            lines = [json.dumps(_line(one, bodies[one.record_id]), sort_keys=True).encode() for one in worked]
            strange = next(iter(bodies.values()))
            data = self.core.bend(lines, lambda name: json.dumps(_stranger(name, strange)).encode())
            target = job.stamp["outputConfig"]["gcsDestination"]["outputUriPrefix"]
            folder = f"{target}/prediction-model-{instant(job.created)}"
            job.things["folder"] = folder
            path = folder.removeprefix(f"gs://{BUCKET}/")
            self.storage.write(f"{path}/predictions.jsonl", data)
            self.storage.write(f"{path}/incremental_predictions.jsonl", lines[0] + b"\n")

    async def model_of(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        name = "publishers/{publisher}/models/{model}".format(**request.path_params)
        return shown({"name": name, "versionId": "default"}) if name in _MODELS else refuse("not_found")

    async def single(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        body = await request.json()
        claude = request.path_params["publisher"] == "anthropic"

        def accept() -> Response:
            try:
                prompt = _claude_prompt(body) if claude else read_prompt(body)
            except (ValueError, KeyError, TypeError) as error:
                return refuse("bad_request", str(error))
            return shown(_response(self.core.answer(prompt), claude=claude))

        return await self.core.single(request, accept, refuse)


def _read(data: bytes) -> tuple[list[Ask], str]:
    """Lines are looked at when the job runs; a wrong one fails it as a whole. Gemini's have no id: the fake
    calls each by its marker or its place, which nobody outside is told."""
    asks: list[Ask] = []
    try:
        for number, line in enumerate(data.splitlines()):
            read = json.loads(line)
            unknown(read, {"request", "custom_id"})
            body = read["request"]
            if "custom_id" in read:
                asks.append(Ask(read["custom_id"], body, _claude_prompt(body)))
                continue
            prompt = read_prompt(body)
            marker = re.search(r"MARKER-[0-9A-F]{8}", prompt.text)
            asks.append(Ask(marker[0] if marker else f"line {number}", body, prompt))
    except (ValueError, KeyError, TypeError) as error:
        return [], str(error)
    return asks, ""


def _claude_prompt(body: dict[str, Any]) -> PromptRequest:
    if body["anthropic_version"] != "vertex-2023-10-16":
        raise ValueError("anthropic_version")
    asked = {name: value for name, value in body.items() if name not in {"anthropic_version", "temperature"}}
    return anthropic.read_prompt({**asked, "model": anthropic.MODEL})


def _response(answer: EngineAnswer, *, claude: bool) -> dict[str, Any]:
    return anthropic.message(answer) if claude else response(answer)


def _line(result: Result, body: dict[str, Any]) -> dict[str, Any]:
    claude = "anthropic_version" in body
    named = {"custom_id": result.record_id} if claude else {"request": body}
    line = {**named, "processed_time": instant(time.time()), "status": ""}
    if result.answer is not None:
        return {**line, "response": _response(result.answer, claude=claude)}
    error = item_error(result)
    words = "Bad Request" if error["code"] == 3 else "Too Many Requests"
    code = {3: 400, 8: 429}[error["code"]]
    status = {"error": {"code": code, "message": error["message"], "status": "X"}}
    return {**line, "response": {}, "status": f"{words}: {json.dumps(status)}"}


def _stranger(name: str, like: dict[str, Any]) -> dict[str, Any]:
    """A line of a request nobody sent."""
    answer = Result(name, "answered", EngineAnswer("{}", "end_turn", 1, 1))
    if "anthropic_version" in like:
        return _line(answer, like)
    return _line(answer, {**like, "contents": [{"role": "user", "parts": [{"text": name}]}]})
