"""Vercel AI Gateway's batch protocol over the core (contracts/providers.md section 2.5).

It answers no single calls; OpenAI's stand beside it for a migration that needs some.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from batch_pipeline.local.emulator.engines.contract import EngineAnswer, PromptRequest
from batch_pipeline_tests.providers.fakes.core import Ask, Core, FakeJob, Refusal, Result
from batch_pipeline_tests.providers.fakes.openai import OpenAISkin

MODEL: Final = "openai/gpt-5-mini"
KEY: Final = "vck-of-the-fake"
SECRET: Final = "whsec_nobody_may_see_this"
_SAID: Final[Mapping[Refusal, tuple[int, str, str]]] = {
    "throttled": (429, "rate_limit_exceeded", "Rate limit exceeded"),
    "broken": (500, "internal_server_error", "Internal server error"),
    "credit": (402, "insufficient_funds", "A positive credit balance is required"),
    "denied": (401, "authentication_error", "Invalid API key"),
    "bad_request": (400, "invalid_request_error", "Invalid request"),
    "not_found": (404, "not_found", "Batch not found"),
}
_TYPES: Final = {400: "invalid_request_error", 429: "rate_limit_exceeded"}
_OPTIONS: Final = frozenset({"prompt", "maxOutputTokens", "temperature", "toolChoice"})


def refuse(why: Refusal, message: str | None = None, status: int | None = None) -> JSONResponse:
    code, kind, words = _SAID[why]
    error = {"message": message or words, "type": kind, "param": None}
    # without this a client waits for as long as it likes before it asks again
    headers = {"retry-after": "0"}
    return JSONResponse({"error": error, "generationId": None}, status or code, headers)


class VercelSkin:
    kind: Final = "vercel"

    def section(self, url: str) -> dict[str, Any]:
        return {"kind": "vercel", "model": MODEL, "base_url": f"{url}/v4/ai"}

    def environment(self, url: str) -> Mapping[str, str]:
        return {"AI_GATEWAY_API_KEY": KEY, **OpenAISkin().environment(url)}

    def content_left(self, core: Core) -> list[str]:
        """The gateway deletes nothing, so nothing that could be is left."""
        return []

    def app(self, core: Core) -> Starlette:
        api = _Api(core)
        calls: dict[str, Callable[..., Any]] = {
            "start": api.start,
            "status": api.status,
            "results": api.results,
            "cancel": api.cancel,
        }
        routes = [Route(f"/v4/ai/batch/{name}", call, methods=["POST"]) for name, call in calls.items()]
        return Starlette(routes=[*routes, Mount("/", OpenAISkin().app(core))])


class _Api:
    def __init__(self, core: Core) -> None:
        self.core = core
        self.keys: dict[str, tuple[str, str]] = {}  # idempotency key -> digest of the body, job

    def _denied(self, request: Request, *, start: bool = False) -> Response | None:
        headers = request.headers
        if headers.get("authorization") != f"Bearer {KEY}":
            return refuse("denied")
        wanted = {"ai-gateway-protocol-version": "0.0.1", "ai-gateway-auth-method": "api-key"}
        if any(headers.get(name) != value for name, value in wanted.items()):
            return refuse("bad_request", "protocol version or auth method")
        if ("ai-model-id" in headers) != start or headers.get("content-type") != "application/json":
            return refuse("bad_request", "ai-model-id or content-type")
        return None

    async def start(self, request: Request) -> Response:
        if denied := self._denied(request, start=True):
            return denied
        raw = await request.body()
        model, key = request.headers["ai-model-id"], request.headers.get("idempotency-key", "")
        return await self.core.create(request, lambda: self._accept(raw, model, key), refuse)

    def _accept(self, raw: bytes, model: str, key: str) -> Response:
        digest = hashlib.sha256(raw).hexdigest()
        if key in self.keys:
            before, job_id = self.keys[key]
            if before != digest:
                return refuse("bad_request", "idempotency-key was used with another body", 422)
            return JSONResponse({"batchId": job_id, **self._shown(self.core.jobs[job_id])})
        try:
            asks = self._read(raw, model)
        except (ValueError, KeyError, TypeError) as error:
            return refuse("bad_request", str(error))
        job = self.core.accept("batch_", asks, {})
        if key:
            self.keys[key] = (digest, job.id)
        shown = {"batchId": job.id, **self._shown(job), "webhookSigningSecret": SECRET, "warnings": []}
        return JSONResponse(shown)

    def _read(self, raw: bytes, model: str) -> list[Ask]:
        body = json.loads(raw)
        if set(body) - {"requests", "providerOptions", "callbackUrl"} or len(raw) > 4_500_000:
            raise ValueError("an unknown field, or too large")
        asks = []
        for one in body["requests"]:
            if set(one) != {"id", "type", "modelId", "options"} or one["type"] != "text":
                raise ValueError("a request has id, type, modelId and options")
            if one["modelId"] != model or model != MODEL:
                raise ValueError("all requests of a batch use one model")
            asks.append(Ask(one["id"], one["options"], read_prompt(one["options"])))
        if not 1 <= len({ask.record_id for ask in asks}) == len(asks) <= 1000:
            raise ValueError("1 to 1000 requests with ids of their own")
        return asks

    async def _job(self, request: Request) -> FakeJob | Response:
        if denied := self._denied(request):
            return denied
        body = await request.json()
        if set(body) != {"batchId"}:
            return refuse("bad_request", "batchId")
        job = self.core.jobs.get(body["batchId"])
        return self.core.looked_at(job) if job else refuse("not_found")

    async def status(self, request: Request) -> Response:
        if fault := self.core.poll_fault(refuse):
            return fault
        job = await self._job(request)
        return job if isinstance(job, Response) else JSONResponse(self._shown(job))

    async def cancel(self, request: Request) -> Response:
        job = await self._job(request)
        if isinstance(job, Response):
            return job
        if job.results is not None:
            return refuse("bad_request", "The batch has ended.")
        job.cancel_asked = True
        return JSONResponse(self._shown(job, looked_at=False))

    def _shown(self, job: FakeJob, *, looked_at: bool = True) -> dict[str, Any]:
        """What ran out of time or was cancelled has failed, to the gateway."""
        if looked_at:
            self.core.looked_at(job)
        ended = job.results is not None
        good = job.count("answered")
        status = "completed" if job.end == "completed" else "failed"
        return {
            "status": status if ended else "pending",
            "rawStatus": job.end if ended else "in_progress",
            "requestCounts": {
                "total": len(job.asks),
                "pending": 0 if ended else len(job.asks),
                "completed": good,
                "failed": len(job.asks) - good if ended else 0,
            },
            "error": {"message": "The model cannot be batched.", "type": "invalid_request_error"}
            if ended and job.end == "failed"
            else None,
            "createdAt": datetime.fromtimestamp(job.created, UTC).isoformat(),
            "expiresAt": datetime.fromtimestamp(time.time() + 30 * 86_400, UTC).isoformat(),
            "providerMetadata": None,
        }

    async def results(self, request: Request) -> Response:
        job = await self._job(request)
        if isinstance(job, Response):
            return job
        if job.results is None or job.end == "failed":
            return refuse("bad_request", "The batch has no results.")
        if self.core.faults.results_gone:
            return refuse("not_found")
        # no order is promised
        lines = [_line(one, job) for one in reversed(job.results)]
        data = self.core.bend(lines, lambda name: _line(_answered(name), job))
        return Response(data, media_type="application/x-ndjson")


def read_prompt(options: dict[str, Any]) -> PromptRequest:
    """The question in a request's options; ValueError where the gateway would refuse it."""
    if unknown := set(options) - _OPTIONS:
        raise ValueError(f"{min(unknown)} is not supported in a batch")
    system, user = options["prompt"]
    if (system["role"], user["role"]) != ("system", "user") or not isinstance(system["content"], str):
        raise ValueError("prompt")
    text = "\n".join(part["text"] for part in user["content"] if part["type"] == "text")
    return PromptRequest(MODEL, system["content"], text, max_tokens=options["maxOutputTokens"])


def _answered(record_id: str) -> Result:
    return Result(record_id, "answered", EngineAnswer("{}", "end_turn", 1, 1))


def _line(result: Result, job: FakeJob) -> bytes:
    line: dict[str, Any] = {"type": "text", "id": result.record_id}
    if result.kind == "answered":
        assert result.answer is not None
        line |= {"status": "succeeded", "result": generated(result.answer)}
    elif result.kind == "never_begun":
        line |= {"status": "cancelled" if job.end == "cancelled" else "expired"}
    elif result.code == "credit":
        status, kind, words = _SAID["credit"]
        line |= {"status": "failed", "error": {"message": words, "type": kind, "statusCode": status}}
    else:
        error = {"message": result.message, "type": _TYPES[result.status], "statusCode": result.status}
        line |= {"status": "failed", "error": error}
    return json.dumps(line).encode()


def generated(answer: EngineAnswer) -> dict[str, Any]:
    return {
        "content": [{"type": "reasoning", "text": "Let me see."}, {"type": "text", "text": answer.text}],
        "finishReason": {"unified": "stop", "raw": "stop"},
        "usage": {
            "inputTokens": {"total": answer.input_tokens, "noCache": answer.input_tokens, "cacheRead": 0},
            "outputTokens": {"total": answer.output_tokens, "text": answer.output_tokens},
        },
        "warnings": [],
    }
