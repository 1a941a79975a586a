"""OpenAI's Files, Batches and chat completions over the core (contracts/providers.md section 2.2)."""

import json
import re
import time
from collections.abc import Mapping
from typing import Any, Final

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from batch_pipeline.local.emulator.engines.contract import EngineAnswer, PromptRequest
from batch_pipeline_tests.providers.fakes.core import Ask, Core, FakeJob, Refusal, Result

MODEL: Final = "gpt-5-mini"
KEY: Final = "sk-of-the-fake"
_ENDPOINT: Final = "/v1/chat/completions"
_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SAID: Final[Mapping[Refusal, tuple[int, str, str]]] = {
    "throttled": (429, "rate_limit_exceeded", "Rate limit reached. Please try again in 1s."),
    "broken": (500, "server_error", "The server had an error while processing your request."),
    "credit": (
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing.",
    ),
    "denied": (401, "invalid_api_key", "Incorrect API key provided."),
    "bad_request": (400, "invalid_request_error", "Invalid request."),
    "not_found": (404, "not_found", "No such object."),
}


def refuse(why: Refusal, message: str | None = None) -> JSONResponse:
    status, code, words = _SAID[why]
    error = {"message": message or words, "type": "invalid_request_error", "param": None, "code": code}
    # without this an SDK waits for as long as it likes before it asks again
    headers = {"retry-after-ms": "1"}
    return JSONResponse({"error": error}, status, headers)


class OpenAISkin:
    kind: Final = "openai"

    def section(self, url: str) -> dict[str, Any]:
        return {"kind": "openai", "model": MODEL, "base_url": f"{url}/v1"}

    def environment(self, url: str) -> Mapping[str, str]:
        return {"OPENAI_API_KEY": KEY}

    def content_left(self, core: Core) -> list[str]:
        return sorted(core.files)

    def app(self, core: Core) -> Starlette:
        api = _Api(core)
        return Starlette(
            routes=[
                Route("/v1/files", api.upload, methods=["POST"]),
                Route("/v1/files", api.list_files, methods=["GET"]),
                Route("/v1/files/{id}", api.show_file, methods=["GET"]),
                Route("/v1/files/{id}", api.delete_file, methods=["DELETE"]),
                Route("/v1/files/{id}/content", api.content, methods=["GET"]),
                Route("/v1/batches", api.create, methods=["POST"]),
                Route("/v1/batches", api.list_batches, methods=["GET"]),
                Route("/v1/batches/{id}", api.show_batch, methods=["GET"]),
                Route("/v1/batches/{id}/cancel", api.cancel, methods=["POST"]),
                Route("/v1/models/{id}", api.model, methods=["GET"]),
                Route(_ENDPOINT, api.chat, methods=["POST"]),
            ]
        )


class _Api:
    def __init__(self, core: Core) -> None:
        self.core = core

    def _denied(self, request: Request) -> Response | None:
        return None if request.headers.get("authorization") == f"Bearer {KEY}" else refuse("denied")

    async def upload(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        async with request.form() as form:
            file = form.get("file")
            if not isinstance(file, UploadFile) or form.get("purpose") != "batch":
                return refuse("bad_request", "a file and purpose=batch are required")
            seconds = form.get("expires_after[seconds]")
            if seconds is not None and not 3600 <= int(str(seconds)) <= 2_592_000:
                return refuse("bad_request", "expires_after.seconds")
            return JSONResponse(self._shown(self._store(str(file.filename), "batch", await file.read())))

    def _store(self, name: str, purpose: str, data: bytes) -> str:
        with self.core.lock:
            file_id = self.core.new_id("file-")
            created = int(time.time())
            self.core.files[file_id] = {"filename": name, "purpose": purpose, "data": data, "at": created}
            return file_id

    def _shown(self, file_id: str) -> dict[str, Any]:
        file = self.core.files[file_id]
        return {
            "id": file_id,
            "object": "file",
            "bytes": len(file["data"]),
            "created_at": file["at"],
            "filename": file["filename"],
            "purpose": file["purpose"],
            "status": "processed",
        }

    async def list_files(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        purpose = request.query_params.get("purpose")
        ids = [name for name, file in self.core.files.items() if purpose in {None, file["purpose"]}]
        return self._page(request, [self._shown(one) for one in reversed(ids)], 10_000)

    def _page(self, request: Request, items: list[dict[str, Any]], usual: int) -> Response:
        after = request.query_params.get("after")
        names = [item["id"] for item in items]
        start = names.index(after) + 1 if after in names else 0
        limit = int(request.query_params.get("limit", usual))
        page = items[start : start + limit]
        return JSONResponse({"object": "list", "data": page, "has_more": start + limit < len(items)})

    async def show_file(self, request: Request) -> Response:
        name = request.path_params["id"]
        return JSONResponse(self._shown(name)) if name in self.core.files else refuse("not_found")

    async def delete_file(self, request: Request) -> Response:
        name = request.path_params["id"]
        if self.core.files.pop(name, None) is None:
            return refuse("not_found")
        return JSONResponse({"id": name, "object": "file", "deleted": True})

    async def content(self, request: Request) -> Response:
        file = self.core.files.get(request.path_params["id"])
        gone = self.core.faults.results_gone and file and file["purpose"] == "batch_output"
        if file is None or gone:
            return refuse("not_found")
        return Response(file["data"], media_type="application/octet-stream")

    async def create(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        body = await request.json()
        return await self.core.create(request, lambda: self._accept(body), refuse)

    def _accept(self, body: dict[str, Any]) -> Response:
        known = {"input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after"}
        if unknown := set(body) - known:
            return refuse("bad_request", f"Unknown parameter: '{min(unknown)}'.")
        if body.get("endpoint") != _ENDPOINT or body.get("completion_window") != "24h":
            return refuse("bad_request", "endpoint or completion_window")
        file = self.core.files.get(body.get("input_file_id", ""))
        if file is None:
            return refuse("bad_request", "No such File object")
        for name, value in (body.get("metadata") or {}).items():
            if len(name) > 64 or not isinstance(value, str) or len(value) > 512:
                return refuse("bad_request", "metadata")
        asks, wrong = self._read(file["data"])
        job = self.core.accept("batch_", asks, {**body, "errors": wrong})
        if wrong:
            job.end = "failed"
        return JSONResponse(self._batch(job))

    def _read(self, data: bytes) -> tuple[list[Ask], list[dict[str, Any]]]:
        """Lines are looked at after create, as OpenAI does: what is wrong fails the batch as a whole."""
        asks: list[Ask] = []
        wrong: list[dict[str, Any]] = []
        for number, line in enumerate(data.splitlines(), start=1):
            try:
                read = json.loads(line)
                body = read["body"]
                legal = set(read) == {"custom_id", "method", "url", "body"}
                if not legal or read["url"] != _ENDPOINT or read["method"] != "POST":
                    raise ValueError("a line has custom_id, method, url and body")
                if not _ID.fullmatch(read["custom_id"]):
                    raise ValueError("custom_id")
                asks.append(Ask(read["custom_id"], body, read_prompt(body)))
            except (ValueError, KeyError, TypeError) as error:
                wrong.append(
                    {"code": "invalid_json_line", "line": number, "message": str(error), "param": None}
                )
        if len({ask.record_id for ask in asks}) != len(asks):
            wrong.append({"code": "duplicate_custom_id", "line": None, "message": "custom_id", "param": None})
        return asks, wrong

    async def list_batches(self, request: Request) -> Response:
        if denied := self._denied(request) or self.core.poll_fault(refuse):
            return denied
        return self._page(request, [self._batch(job) for job in self.core.newest_first()], 20)

    async def show_batch(self, request: Request) -> Response:
        if fault := self.core.poll_fault(refuse):
            return fault
        job = self.core.jobs.get(request.path_params["id"])
        return JSONResponse(self._batch(job)) if job else refuse("not_found")

    async def cancel(self, request: Request) -> Response:
        job = self.core.jobs.get(request.path_params["id"])
        if job is None:
            return refuse("not_found")
        if self.core.looked_at(job).results is not None:
            return refuse("bad_request", "Batch has ended.")
        job.cancel_asked = True
        return JSONResponse(self._batch(job))

    def _batch(self, job: FakeJob) -> dict[str, Any]:
        self.core.looked_at(job)
        if job.results is not None and not job.things.get("written"):
            self._write(job)
        ended = job.results is not None
        failed = ended and job.end == "failed"
        errors = job.stamp["errors"] or [
            {
                "code": "token_limit_exceeded" if self.core.faults.failed_for_room else "model_not_found",
                "line": None,
                "message": "The model cannot be batched.",
                "param": None,
            }
        ]
        answered, refused = job.count("answered"), job.count("refused")
        return {
            "id": job.id,
            "object": "batch",
            "endpoint": _ENDPOINT,
            "input_file_id": job.stamp["input_file_id"],
            "completion_window": "24h",
            "status": job.end if ended else "in_progress",
            "created_at": int(job.created),
            "expires_at": int(job.created) + 86_400,
            f"{job.end}_at": int(time.time()) if ended else None,
            "output_file_id": job.things.get("output"),
            "error_file_id": job.things.get("errors"),
            "errors": {"object": "list", "data": errors} if failed else None,
            "request_counts": {"total": len(job.asks), "completed": answered, "failed": refused},
            "metadata": job.stamp.get("metadata"),
        }

    def _write(self, job: FakeJob) -> None:
        """Answers and errors in two files, either of them missing where it would be empty."""
        with self.core.lock:
            job.things["written"] = "yes"
            assert job.results is not None
            # no order is promised
            results = list(reversed(job.results))
            good = [_line(one) for one in results if one.kind == "answered"]
            bad = [_line(one) for one in results if one.kind != "answered"]
            if good:
                data = self.core.bend(good, lambda name: _line(_answered(name)))
                job.things["output"] = self._store(f"{job.id}_output.jsonl", "batch_output", data)
            if bad:
                data = b"".join(line + b"\n" for line in bad)
                job.things["errors"] = self._store(f"{job.id}_error.jsonl", "batch_output", data)

    async def model(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        if request.path_params["id"] != MODEL:
            return refuse("not_found", "The model does not exist.")
        return JSONResponse({"id": MODEL, "object": "model", "created": 1, "owned_by": "openai"})

    async def chat(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        body = await request.json()

        def accept() -> Response:
            try:
                prompt = read_prompt(body)
            except (ValueError, KeyError, TypeError) as error:
                return refuse("bad_request", str(error))
            return JSONResponse(completion(self.core.answer(prompt)))

        return await self.core.single(request, accept, refuse)


def read_prompt(body: dict[str, Any]) -> PromptRequest:
    """The question in a chat completion's body; ValueError where OpenAI would refuse it."""
    known = {"model", "messages", "max_completion_tokens", "response_format"}
    if unknown := set(body) - known:
        raise ValueError(f"Unknown parameter: '{min(unknown)}'.")
    if body["model"] != MODEL:
        raise ValueError("The model does not exist.")
    system, user = body["messages"]
    if (system["role"], user["role"]) != ("system", "user"):
        raise ValueError("messages")
    if body["response_format"] != {"type": "json_object"} or "json" not in str(system["content"]).lower():
        raise ValueError("'messages' must contain the word 'json' in some form.")
    text = user["content"]
    if not isinstance(text, str):
        text = "\n".join(block["text"] for block in text if block["type"] == "text")
    return PromptRequest(MODEL, system["content"], text, max_tokens=body["max_completion_tokens"])


def completion(answer: EngineAnswer) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": f"{MODEL}-2025-08-07",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer.text, "refusal": None, "annotations": []},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        },
    }


def _answered(record_id: str) -> Result:
    return Result(record_id, "answered", EngineAnswer("{}", "end_turn", 1, 1))


def _line(result: Result) -> bytes:
    response: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    if result.kind == "answered":
        assert result.answer is not None
        response = {"status_code": 200, "request_id": "req_1", "body": completion(result.answer)}
    elif result.kind == "never_begun":
        error = {
            "code": "batch_expired",
            "message": "This request could not be executed before the batch expired.",
        }
    elif result.code == "credit":
        status, code, message = _SAID["credit"]
        body = {"error": {"message": message, "type": "insufficient_quota", "param": None, "code": code}}
        response = {"status_code": status, "request_id": "req_1", "body": body}
    else:
        body = {
            "error": {
                "message": result.message,
                "type": "invalid_request_error",
                "param": None,
                "code": result.code,
            }
        }
        response = {"status_code": result.status, "request_id": "req_1", "body": body}
    line = {"id": "batch_req_1", "custom_id": result.record_id, "response": response, "error": error}
    return json.dumps(line).encode()
