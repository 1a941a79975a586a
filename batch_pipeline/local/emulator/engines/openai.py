"""Real answers from any server that speaks OpenAI's chat completions: Ollama, vLLM, llama.cpp, ..."""

import base64
from typing import Any, Final

import httpx

from batch_pipeline.local.emulator.engines.contract import (
    Attachment,
    EngineAnswer,
    EngineError,
    PromptRequest,
    StopReason,
    estimate_tokens,
    prompt_tokens,
)
from batch_pipeline.local.emulator.engines.documents import UnreadableDocument, document_text

_STOP: Final[dict[str, StopReason]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "content_filtered",
}


class OpenAIEngine:
    """`POST <base_url>/chat/completions` per request; documents go as their text, images as data URLs."""

    def __init__(
        self,
        base_url: str,
        model_name: str,
        *,
        api_key: str | None = None,
        concurrency: int = 4,
        timeout_seconds: float = 120,
    ) -> None:
        self.concurrency = concurrency
        self._model = model_name
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.Client(base_url=base_url.rstrip("/"), headers=headers, timeout=timeout_seconds)

    def answer(self, request: PromptRequest) -> EngineAnswer:
        try:
            response = self._http.post("/chat/completions", json=self._body(request))
        except httpx.TimeoutException as error:
            raise EngineError(408, "The model server did not answer in time.") from error
        except httpx.HTTPError as error:
            raise EngineError(503, f"The model server cannot be reached: {type(error).__name__}.") from error
        if response.status_code != 200:
            raise _refusal(response.status_code)
        return _answer(response, request)

    def _body(self, request: PromptRequest) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        if request.system:
            messages.append({"role": "system", "content": request.system})
        messages.append({"role": "user", "content": _content(request)})
        body: dict[str, Any] = {"model": self._model, "messages": messages, "stream": False}
        if request.max_tokens is not None:
            body["max_tokens"] = request.max_tokens
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": request.schema},
            }
        return body


def _content(request: PromptRequest) -> str | list[dict[str, Any]]:
    texts = [request.text, *(_document(part) for part in request.attachments if part.kind == "document")]
    text = "\n\n".join(part for part in texts if part)
    images = [part for part in request.attachments if part.kind == "image" and part.content is not None]
    if not images:
        return text
    return [
        {"type": "text", "text": text},
        *({"type": "image_url", "image_url": {"url": _data_url(image)}} for image in images),
    ]


def _document(part: Attachment) -> str:
    try:
        return f"<document>\n{document_text(part)}\n</document>"
    except UnreadableDocument as error:
        raise EngineError(400, str(error)) from error


def _data_url(image: Attachment) -> str:
    assert image.content is not None
    return f"data:image/{image.format};base64,{base64.b64encode(image.content).decode()}"


def _refusal(status: int) -> EngineError:
    message = f"The model server answered {status}."
    if status == 429:
        return EngineError(429, message)
    if status in (500, 502, 503, 504):
        return EngineError(503, message)
    return EngineError(424, message)


def _answer(response: httpx.Response, request: PromptRequest) -> EngineAnswer:
    try:
        body = response.json()
        choice = body["choices"][0]
        text = choice["message"].get("content") or ""
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise EngineError(424, "The model server's answer is no chat completion.") from error
    usage = body.get("usage") or {}
    return EngineAnswer(
        text=text,
        stop_reason=_STOP.get(choice.get("finish_reason"), "end_turn"),
        input_tokens=usage.get("prompt_tokens") or prompt_tokens(request),
        output_tokens=usage.get("completion_tokens") or estimate_tokens(text),
    )
