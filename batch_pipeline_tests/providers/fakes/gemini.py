"""The Gemini API's batch mode over the core (contracts/providers.md section 2.3)."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from batch_pipeline.local.emulator.engines.contract import EngineAnswer
from batch_pipeline_tests.providers.fakes.core import Ask, Core, FakeJob, Result
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

KEY: Final = "key-of-the-fake"
_MOST_BYTES: Final = 20_000_000


@dataclass(frozen=True)
class GeminiSkin:
    kind: Final = "gemini"
    keys: bool = True  # results name their requests' keys

    def section(self, url: str) -> dict[str, Any]:
        return {"kind": "gemini", "model": MODEL, "base_url": url}

    def environment(self, url: str) -> Mapping[str, str]:
        return {"GEMINI_API_KEY": KEY, "GOOGLE_API_KEY": KEY}

    def content_left(self, core: Core) -> list[str]:
        """A job holds its requests and its answers."""
        return sorted(core.jobs)

    def app(self, core: Core) -> Starlette:
        api = _Api(core, self.keys)
        return Starlette(
            routes=[
                Route("/v1beta/batches", api.list_batches, methods=["GET"]),
                Route("/v1beta/batches/{id}:cancel", api.cancel, methods=["POST"]),
                Route("/v1beta/batches/{id}", api.show_batch, methods=["GET"]),
                Route("/v1beta/batches/{id}", api.delete, methods=["DELETE"]),
                Route("/v1beta/models/{model}:batchGenerateContent", api.create, methods=["POST"]),
                Route("/v1beta/models/{model}:generateContent", api.generate, methods=["POST"]),
                Route("/v1beta/models/{model}", api.model, methods=["GET"]),
            ]
        )


class _Api:
    def __init__(self, core: Core, keys: bool) -> None:
        self.core = core
        self.keys = keys

    def _denied(self, request: Request) -> Response | None:
        if request.headers.get("x-goog-api-key") == KEY:
            return None
        return refuse("bad_request", "API key not valid. Please pass a valid API key.")

    def _job(self, request: Request) -> FakeJob | None:
        return self.core.jobs.get(f"batches/{request.path_params['id']}")

    async def create(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        data = await request.body()
        if len(data) >= _MOST_BYTES:
            return refuse("bad_request", "Request payload size exceeds the limit: 20971520 bytes.")
        return await self.core.create(request, lambda: self._accept(request, data), refuse)

    def _accept(self, request: Request, data: bytes) -> Response:
        if request.path_params["model"] != MODEL:
            return refuse("not_found", f"models/{request.path_params['model']} is not found")
        try:
            body = json.loads(data)
            unknown(body, {"batch"})
            batch = body["batch"]
            unknown(batch, {"displayName", "inputConfig"})
            asks = [
                self._ask(at, item) for at, item in enumerate(batch["inputConfig"]["requests"]["requests"])
            ]
            if not asks or not batch["displayName"]:
                raise ValueError("batch.displayName and requests are required")
        except (ValueError, KeyError, TypeError) as error:
            return refuse("bad_request", str(error))
        job = self.core.accept("batches/", asks, batch)
        # an expired job keeps nothing, and nothing is charged for it here
        if job.end == "expired":
            job.things["worked"] = str(self.core.faults.done_before_end)
            self.core.faults.done_before_end = 0
        return shown(self._operation(job, answers=False))

    @staticmethod
    def _ask(at: int, item: dict[str, Any]) -> Ask:
        unknown(item, {"request", "metadata"})
        metadata = item.get("metadata", {})
        return Ask(metadata.get("key", f"#{at}"), item["request"], read_prompt(item["request"]))

    async def list_batches(self, request: Request) -> Response:
        if denied := self._denied(request) or self.core.poll_fault(refuse):
            return denied
        if "filter" in request.query_params:
            return refuse("bad_request", "filter is not supported")
        jobs = [self._operation(job, self._asked_for_answers(request)) for job in self.core.newest_first()]
        return page(request, jobs, "operations", 10, 100)

    async def show_batch(self, request: Request) -> Response:
        if denied := self._denied(request) or self.core.poll_fault(refuse):
            return denied
        job = self._job(request)
        if job is None:
            return refuse("not_found")
        return shown(self._operation(self.core.looked_at(job), self._asked_for_answers(request)))

    @staticmethod
    def _asked_for_answers(request: Request) -> bool:
        """A field mask leaves out what it does not name."""
        return "output" in request.query_params.get("fields", "output")

    async def cancel(self, request: Request) -> Response:
        job = self._job(request)
        if job is None:
            return refuse("not_found")
        if self.core.looked_at(job).results is not None:
            return refuse("bad_request", "Batch has ended.")
        job.cancel_asked = True
        return shown({})

    async def delete(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        with self.core.lock:
            gone = self.core.jobs.pop(f"batches/{request.path_params['id']}", None)
        return shown({}) if gone else refuse("not_found")

    def _operation(self, job: FakeJob, answers: bool) -> dict[str, Any]:
        ended = job.results is not None
        worked = int(job.things.get("worked", "0"))
        good, bad = job.count("answered") + worked, job.count("refused")
        stats = {"requestCount": str(len(job.asks)), "pendingRequestCount": str(len(job.asks) - good - bad)}
        # zeros are left out, as protocol buffers do
        stats |= {"successfulRequestCount": str(good)} if good else {}
        stats |= {"failedRequestCount": str(bad)} if bad else {}
        metadata = {
            "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
            "model": f"models/{MODEL}",
            "displayName": job.stamp["displayName"],
            "createTime": instant(job.created),
            "updateTime": instant(time.time()),
            "batchStats": stats,
            "state": job_state("BATCH_STATE", job.end, ended=ended),
            "name": job.id,
            **({"endTime": instant(time.time())} if ended else {}),
        }
        operation: dict[str, Any] = {"name": job.id, "metadata": metadata}
        if not ended:
            return operation
        operation["done"] = True
        if job.end == "failed":
            operation["error"] = job_error(self.core)
        elif answers and job.end != "expired" and not self.core.faults.results_gone:
            items = {"inlinedResponses": self._items(job)}
            metadata["output"] = {"inlinedResponses": items}
            operation["response"] = {
                "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatchOutput",
                "inlinedResponses": items,
            }
        return operation

    def _items(self, job: FakeJob) -> list[Any]:
        """What cannot be read of a file is here an item that is none."""
        lines = [
            json.dumps(self._item(one)).encode() for one in job.results or () if one.kind != "never_begun"
        ]
        bent = self.core.bend(lines, lambda name: json.dumps(self._item(_answered(name))).encode())
        items: list[Any] = []
        for line in bent.splitlines():
            try:
                items.append(json.loads(line))
            except ValueError:
                items.append(line.decode())
        return items

    def _item(self, result: Result) -> dict[str, Any]:
        metadata = {"metadata": {"key": result.record_id}} if self.keys else {}
        if result.answer is not None:
            return {"response": response(result.answer), **metadata}
        return {"error": item_error(result), **metadata}

    async def model(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        if request.path_params["model"] != MODEL:
            return refuse("not_found")
        methods = ["generateContent", "countTokens", "createCachedContent", "batchGenerateContent"]
        return shown({"name": f"models/{MODEL}", "version": "001", "supportedGenerationMethods": methods})

    async def generate(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        body = await request.json()

        def accept() -> Response:
            try:
                prompt = read_prompt(body)
            except (ValueError, KeyError, TypeError) as error:
                return refuse("bad_request", str(error))
            return shown(response(self.core.answer(prompt)))

        return await self.core.single(request, accept, refuse)


def _answered(record_id: str) -> Result:
    return Result(record_id, "answered", EngineAnswer("{}", "end_turn", 1, 1))
