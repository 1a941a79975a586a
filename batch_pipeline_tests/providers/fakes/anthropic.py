"""Anthropic's Message Batches and Messages over the core (contracts/providers.md section 2.1).

A batch keeps nothing of its create call but its requests, counts nothing before it has ended, and looks at
parameters only while it works: what is wrong with them comes back as an error of every record.
"""

import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from batch_pipeline.local.emulator.engines.contract import EngineAnswer, PromptRequest
from batch_pipeline_tests.providers.fakes.core import INVENTED_ERROR, Ask, Core, FakeJob, Refusal, Result

MODEL: Final = "claude-haiku-4-5"
KEY: Final = "sk-ant-of-the-fake"
CACHED: Final = 100  # tokens of a prompt that was in the cache
_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CREDIT: Final = "Your credit balance is too low to access the Anthropic API."
_SAID: Final[Mapping[Refusal, tuple[int, str, str]]] = {
    "throttled": (429, "rate_limit_error", "Number of requests has exceeded your rate limit."),
    "broken": (500, "api_error", "Internal server error"),
    # an empty account answers like bad input
    "credit": (400, "invalid_request_error", _CREDIT),
    "denied": (401, "authentication_error", "invalid x-api-key"),
    "bad_request": (400, "invalid_request_error", "Invalid request."),
    "not_found": (404, "not_found_error", "Not found"),
}
# What a batch writes for a record, by the status the core gives.
_TYPES: Final = {400: "invalid_request_error", 429: "rate_limit_error"}


def error_of(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def refuse(why: Refusal, message: str | None = None) -> JSONResponse:
    status, kind, words = _SAID[why]
    # without this an SDK waits for as long as it likes before it asks again
    return JSONResponse(error_of(kind, message or words), status, {"retry-after-ms": "1"})


class AnthropicSkin:
    kind: Final = "anthropic"

    def section(self, url: str) -> dict[str, Any]:
        return {"kind": "anthropic", "model": MODEL, "base_url": url}

    def environment(self, url: str) -> Mapping[str, str]:
        return {"ANTHROPIC_API_KEY": KEY}

    def content_left(self, core: Core) -> list[str]:
        return sorted(core.jobs)

    def app(self, core: Core) -> Starlette:
        api = _Api(core)
        batches = "/v1/messages/batches"
        return Starlette(
            routes=[
                Route(batches, api.create, methods=["POST"]),
                Route(batches, api.list_batches, methods=["GET"]),
                Route(f"{batches}/{{id}}", api.show, methods=["GET"]),
                Route(f"{batches}/{{id}}", api.delete, methods=["DELETE"]),
                Route(f"{batches}/{{id}}/cancel", api.cancel, methods=["POST"]),
                Route(f"{batches}/{{id}}/results", api.results, methods=["GET"]),
                Route("/v1/models/{id}", api.model, methods=["GET"]),
                Route("/v1/messages", api.message, methods=["POST"]),
            ]
        )


class _Api:
    def __init__(self, core: Core) -> None:
        self.core = core

    def _denied(self, request: Request) -> Response | None:
        if "anthropic-version" not in request.headers:
            return refuse("bad_request", "anthropic-version: header is required")
        return None if request.headers.get("authorization") == f"Bearer {KEY}" else refuse("denied")

    async def create(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        if "content-length" not in request.headers:
            return refuse("bad_request", "a body has a length")
        body = await request.json()
        return await self.core.create(request, lambda: self._accept(body), refuse)

    def _accept(self, body: dict[str, Any]) -> Response:
        if set(body) != {"requests"} or not body["requests"]:
            return refuse("bad_request", "requests: Field required, and nothing else")
        if len(body["requests"]) > 100_000:
            return refuse("bad_request", "requests: at most 100000")
        asks: list[Ask] = []
        ids: dict[str, str] = {}
        wrong: dict[str, str] = {}
        for one in body["requests"]:
            name = one.get("custom_id")
            if set(one) != {"custom_id", "params"} or not isinstance(name, str) or not _ID.fullmatch(name):
                return refuse("bad_request", "requests: custom_id should match '^[a-zA-Z0-9_-]{1,64}$'")
            try:
                prompt = read_prompt(one["params"])
                if one["params"]["max_tokens"] < 1:
                    raise ValueError("max_tokens: 0 is not supported in a batch")
            except (ValueError, KeyError, TypeError) as error:
                wrong[name] = str(error)
                prompt = PromptRequest(MODEL, "", "")
            # what is billed is counted by document, whatever its custom id
            record_id = name[name.find("cv-") :]
            asks.append(Ask(record_id, one["params"], prompt))
            ids[record_id] = name
        if len(ids) != len(asks):
            return refuse("bad_request", "requests: custom_ids must be unique")
        return JSONResponse(self._batch(self.core.accept("msgbatch_", asks, {"ids": ids, "wrong": wrong})))

    async def list_batches(self, request: Request) -> Response:
        if denied := self._denied(request) or self.core.poll_fault(refuse):
            return denied
        asked = request.query_params
        if set(asked) - {"limit", "after_id"} or not 1 <= int(asked.get("limit", 20)) <= 1000:
            return refuse("bad_request", "limit")
        jobs = self.core.newest_first()
        names = [job.id for job in jobs]
        start = names.index(asked["after_id"]) + 1 if asked.get("after_id") in names else 0
        page = jobs[start : start + int(asked.get("limit", 20))]
        return JSONResponse(
            {
                "data": [self._batch(job) for job in page],
                "has_more": start + len(page) < len(jobs),
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
            }
        )

    def _job(self, request: Request) -> FakeJob | None:
        job = self.core.jobs.get(request.path_params["id"])
        return self.core.looked_at(job) if job else None

    async def show(self, request: Request) -> Response:
        if denied := self._denied(request) or self.core.poll_fault(refuse):
            return denied
        job = self._job(request)
        return JSONResponse(self._batch(job)) if job else refuse("not_found")

    async def delete(self, request: Request) -> Response:
        job = self._job(request)
        if job is None:
            return refuse("not_found")
        if job.results is None:
            return refuse("bad_request", "Batch cannot be deleted while it is in progress.")
        del self.core.jobs[job.id]
        return JSONResponse({"id": job.id, "type": "message_batch_deleted"})

    async def cancel(self, request: Request) -> Response:
        job = self._job(request)
        if job is None:
            return refuse("not_found")
        if job.results is not None:
            return refuse("bad_request", "Batch has ended.")
        job.cancel_asked = True
        job.things["cancel_initiated_at"] = _time(time.time())
        return JSONResponse(self._batch(job, looked_at=False))

    def _batch(self, job: FakeJob, *, looked_at: bool = True) -> dict[str, Any]:
        if looked_at:
            self.core.looked_at(job)
        results = self._results(job)
        ended = results is not None
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        if results is None:
            counts["processing"] = len(job.asks)
        for one in results or ():
            counts[one["result"]["type"]] += 1
        running = "canceling" if job.cancel_asked else "in_progress"
        return {
            "id": job.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else running,
            "request_counts": counts,
            "created_at": _time(job.created),
            "expires_at": _time(job.created + 86_400),
            "ended_at": _time(time.time()) if ended else None,
            "cancel_initiated_at": job.things.get("cancel_initiated_at"),
            "archived_at": None,
            # another host: whoever follows it there takes the credential along
            "results_url": f"https://elsewhere.invalid/v1/messages/batches/{job.id}/results"
            if ended
            else None,
        }

    def _results(self, job: FakeJob) -> list[dict[str, Any]] | None:
        """In no order. A batch cannot fail as a whole: then every record is an error."""
        if job.results is None:
            return None
        if job.end == "failed":
            failed = [Result(ask.record_id, "refused", None, 400, "", INVENTED_ERROR) for ask in job.asks]
            return [_line(one, job) for one in failed]
        warmed = self.core.files.get("warmed", [])
        cached = {ask.record_id: CACHED for ask in job.asks if ask.prompt.system in warmed}
        return [_line(one, job, cached.get(one.record_id, 0)) for one in reversed(job.results)]

    async def results(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        job = self._job(request)
        results = self._results(job) if job else None
        if job is None or results is None or self.core.faults.results_gone:
            return refuse("not_found")
        lines = [json.dumps(one).encode() for one in results]
        data = self.core.bend(lines, lambda name: json.dumps(_line(_answered(name), job)).encode())
        return Response(data, media_type="application/x-jsonl")

    async def model(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        if request.path_params["id"] != MODEL:
            return refuse("not_found", "model: not found")
        shown = {"id": MODEL, "type": "model", "display_name": "Claude", "created_at": "2025-10-01T00:00:00Z"}
        return JSONResponse(shown)

    async def message(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        body = await request.json()

        def accept() -> Response:
            try:
                prompt = read_prompt(body)
            except (ValueError, KeyError, TypeError) as error:
                return refuse("bad_request", str(error))
            if body["max_tokens"] == 0:
                # populates the cache, says nothing, and is no call a person waits for
                self.core.files["warmed"] = [*self.core.files.get("warmed", []), prompt.system]
                return JSONResponse(message(EngineAnswer("", "max_tokens", 1, 0)))
            return JSONResponse(message(self.core.answer(prompt)))

        return await self.core.single(request, accept, refuse)


def read_prompt(params: dict[str, Any]) -> PromptRequest:
    """The question in a Messages body; ValueError where Anthropic would refuse it."""
    known = {"model", "messages", "max_tokens", "system"}  # a temperature is refused since 2026-10-21
    if unknown := set(params) - known:
        raise ValueError(f"{min(unknown)}: Extra inputs are not permitted")
    if params["model"] != MODEL:
        raise ValueError("model: not found")
    (user,) = params["messages"]
    if user["role"] != "user" or not isinstance(params["max_tokens"], int):
        raise ValueError("messages")
    text = user["content"]
    if not isinstance(text, str):
        text = "\n".join(block["text"] for block in text if block["type"] == "text")
    system = params["system"]
    if not isinstance(system, str):
        (block,) = system
        if block["cache_control"] != {"type": "ephemeral", "ttl": "1h"} or block["type"] != "text":
            raise ValueError("system.0.cache_control")
        system = block["text"]
    return PromptRequest(MODEL, system, text, max_tokens=params["max_tokens"])


def message(answer: EngineAnswer, cached: int = 0) -> dict[str, Any]:
    """`cached` of its input tokens were read from a cache: they are counted beside the others."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{MODEL}-20251001",
        "content": [{"type": "text", "text": answer.text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.input_tokens - cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": answer.output_tokens,
            "service_tier": "batch",
        },
    }


def _answered(record_id: str) -> Result:
    return Result(record_id, "answered", EngineAnswer("{}", "end_turn", 1, 1))


def _line(result: Result, job: FakeJob, cached: int = 0) -> dict[str, Any]:
    shown: dict[str, Any]
    custom_id = job.stamp["ids"].get(result.record_id, f"00000000-{result.record_id}")
    if custom_id in job.stamp["wrong"]:
        wrong = job.stamp["wrong"][custom_id]
        shown = {"type": "errored", "error": error_of("invalid_request_error", wrong)}
    elif result.kind == "answered":
        assert result.answer is not None
        shown = {"type": "succeeded", "message": message(result.answer, cached)}
    elif result.kind == "never_begun":
        shown = {"type": "canceled" if job.end == "cancelled" else "expired"}
    elif result.code == "credit":
        shown = {"type": "errored", "error": error_of("invalid_request_error", _CREDIT)}
    else:
        shown = {"type": "errored", "error": error_of(_TYPES[result.status], result.message)}
    return {"custom_id": custom_id, "result": shown}


def _time(seconds: float) -> str:
    return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)).isoformat()
