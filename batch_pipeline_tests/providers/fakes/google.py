"""What the fakes of the Gemini API and of Vertex share: Google's errors and generateContent's two shapes."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from batch_pipeline.local.emulator.engines.contract import EngineAnswer, PromptRequest
from batch_pipeline_tests.providers.fakes.core import Core, Refusal, Result

MODEL: Final = "gemini-2.5-flash"
NO_CREDIT: Final = (
    "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your "
    "project and billing."
)
# Google's words for calls that come too fast: they sound as if nothing were left to pay with.
TOO_FAST: Final = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this "
    "error, head over to: https://ai.google.dev/gemini-api/docs/rate-limits."
)
_SAID: Final[Mapping[Refusal, tuple[int, str, str]]] = {
    "throttled": (429, "RESOURCE_EXHAUSTED", TOO_FAST),
    "broken": (500, "INTERNAL", "An internal error has occurred."),
    "credit": (429, "RESOURCE_EXHAUSTED", NO_CREDIT),
    "denied": (403, "PERMISSION_DENIED", "The caller does not have permission."),
    "bad_request": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "not_found": (404, "NOT_FOUND", "Requested entity was not found."),
}
_GRPC_OF: Final = {400: 3, 429: 8}
_STATES: Final = {
    "completed": "SUCCEEDED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
    "failed": "FAILED",
}


def shown(content: Any, status: int = 200) -> Response:
    """Google prints its JSON for people."""
    return Response(json.dumps(content, indent=2), status, media_type="application/json; charset=UTF-8")


def refuse(why: Refusal, message: str | None = None) -> Response:
    status, name, words = _SAID[why]
    details = []
    if why in {"throttled", "broken"}:
        details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.001s"}]
    error = {"code": status, "message": message or words, "status": name, "details": details}
    return shown({"error": error}, status)


def job_state(prefix: str, end: str, *, ended: bool) -> str:
    return f"{prefix}_{_STATES[end] if ended else 'RUNNING'}"


def instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "123Z")


def page(request: Request, items: list[Any], name: str, usual: int, most: int) -> Response:
    start = int(request.query_params.get("pageToken") or 0)
    size = min(int(request.query_params.get("pageSize") or usual), most)
    found = {name: items[start : start + size]} if items[start:] else {}
    return shown({**found, **({"nextPageToken": str(start + size)} if items[start + size :] else {})})


def job_error(core: Core) -> dict[str, Any]:
    """The Status of a job that failed as a whole."""
    if core.faults.failed_for_room:
        return {"code": 8, "message": TOO_FAST}
    return {"code": 9, "message": "The model cannot be batched."}


def item_error(result: Result) -> dict[str, Any]:
    """A google.rpc.Status of one record: its code is gRPC's."""
    if result.code == "credit":
        return {"code": 8, "message": NO_CREDIT}
    return {"code": _GRPC_OF[result.status], "message": result.message}


def unknown(body: Mapping[str, Any], known: set[str]) -> None:
    if strange := set(body) - known:
        raise ValueError(f'Invalid JSON payload received. Unknown name "{min(strange)}": Cannot find field.')


def read_prompt(body: dict[str, Any]) -> PromptRequest:
    """The question in a generateContent body; ValueError where Google would refuse it."""
    unknown(body, {"contents", "systemInstruction", "generationConfig", "model"})
    config = body.get("generationConfig", {})
    unknown(config, {"maxOutputTokens", "temperature", "responseMimeType", "responseJsonSchema"})
    (turn,) = body["contents"]
    unknown(turn, {"role", "parts"})
    if turn.get("role", "user") not in {"user", "model"}:
        raise ValueError("Please use a valid role: user, model.")
    for part in turn["parts"]:
        unknown(part, {"text", "inlineData"})
    text = "\n".join(part["text"] for part in turn["parts"] if "text" in part)
    system = "".join(part["text"] for part in body.get("systemInstruction", {"parts": []})["parts"])
    return PromptRequest(MODEL, system, text, max_tokens=config.get("maxOutputTokens"))


def response(answer: EngineAnswer) -> dict[str, Any]:
    """A model that thinks says so in parts of its own, and counts it beside its answer."""
    thoughts = min(3, answer.output_tokens)
    return {
        "candidates": [
            {
                "content": {
                    "parts": [{"text": "I shall read this.", "thought": True}, {"text": answer.text}],
                    "role": "model",
                },
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": answer.input_tokens,
            "candidatesTokenCount": answer.output_tokens - thoughts,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": answer.input_tokens + answer.output_tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": answer.input_tokens}],
        },
        "modelVersion": MODEL,
        "responseId": "r1",
    }
