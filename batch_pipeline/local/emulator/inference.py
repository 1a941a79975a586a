"""One request through the engine, alike for a batch record and an on-demand call."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from batch_pipeline.local.emulator.aws_errors import RETRYABLE, USUAL_MESSAGES
from batch_pipeline.local.emulator.body_checks import check
from batch_pipeline.local.emulator.body_rules import BodyError, Context
from batch_pipeline.local.emulator.engines.contract import (
    Engine,
    EngineAnswer,
    EngineError,
    PromptRequest,
    estimate_tokens,
)
from batch_pipeline.local.emulator.envelopes import wrap
from batch_pipeline.local.emulator.faults import AnswerFault, FaultBook, Plane
from batch_pipeline.local.emulator.prompts import read_prompt

_INVENTED: Final = (
    '{"basics":{"name":"John Doe","email":"john.doe@example.com","phone":"+1 555 0100"},'
    '"work":[{"name":"Acme Corporation","position":"Software Engineer","startDate":"2019-01"}]}'
)
_REFUSAL: Final = "I'm sorry, but I can't help with processing this document."


@dataclass(frozen=True)
class RequestError:
    code: int
    message: str
    retryable: bool
    expired: bool = False


@dataclass(frozen=True)
class Outcome:
    """Exactly one of `output` and `error` is set. `digest` is of the body with sorted keys."""

    digest: str
    output: dict[str, Any] | None
    error: RequestError | None
    input_tokens: int
    output_tokens: int


def body_digest(body: Any) -> str:
    """SHA-256 of the body with its keys sorted: equal for the same request on either route."""
    return hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()


class Inference:
    """Checks a body, asks the engine, bends the answer as the faults say, wraps it."""

    def __init__(self, engine: Engine, faults: FaultBook) -> None:
        self.engine = engine
        self._faults = faults

    def run(self, body: Any, context: Context, record_id: str | None) -> Outcome:
        digest = body_digest(body)
        plane: Plane = "batch" if context.batch else "on_demand"
        model = context.model.base
        if fault := self._faults.record_fault(plane, model, record_id, digest):
            message = fault.message or USUAL_MESSAGES[fault.code]
            error = RequestError(fault.code, message, fault.code in RETRYABLE or fault.expired, fault.expired)
            return Outcome(digest, None, error, 0, 0)
        try:
            check(body, context)
            request = read_prompt(body, context)
            answer = self.engine.answer(request)
        except (BodyError, EngineError) as error:
            refused = RequestError(error.code, error.message, error.retryable)
            tokens = estimate_tokens(str(body)) if context.rules.unknowns.bill_failed_records else 0
            return Outcome(digest, None, refused, tokens, 0)
        answer = _within_limit(answer, request)
        if bent := self._faults.answer_fault(plane, model, record_id, digest):
            answer = _bend(answer, bent)
        nulls = context.batch and not self._faults.now.output.no_nulls
        output = wrap(answer, request, body, context, nulls=nulls)
        return Outcome(digest, output, None, answer.input_tokens, answer.output_tokens)


def _within_limit(answer: EngineAnswer, request: PromptRequest) -> EngineAnswer:
    """Cut an answer longer than the request allows, as a model does."""
    limit = request.max_tokens
    if limit is None or answer.output_tokens <= limit:
        return answer
    cut = answer.text.encode()[: limit * 4].decode(errors="ignore")
    return replace(answer, text=cut, stop_reason="max_tokens", output_tokens=limit)


def _bend(answer: EngineAnswer, fault: AnswerFault) -> EngineAnswer:  # noqa: PLR0911 -- one a style
    match fault.style:
        case "fenced":
            return _said(answer, f"```json\n{answer.text}\n```")
        case "prose":
            return _said(answer, f"Here is the structured CV:\n\n{answer.text}\n\nLet me know if I can help.")
        case "truncated":
            half = answer.text[: len(answer.text) // 2]
            return replace(_said(answer, half), stop_reason="max_tokens")
        case "refused":
            return replace(_said(answer, _REFUSAL), stop_reason="refusal")
        case "filtered":
            return replace(_said(answer, ""), stop_reason="content_filtered")
        case "invented":
            return _said(answer, _INVENTED)
        case "empty":
            return _said(answer, "")


def _said(answer: EngineAnswer, text: str) -> EngineAnswer:
    return replace(answer, text=text, output_tokens=estimate_tokens(text))
