"""InvokeModel and Converse on demand, through the same checks, engine and meter as batch."""

from dataclasses import dataclass
from typing import Any

import msgspec

from batch_pipeline.local.emulator import constraints
from batch_pipeline.local.emulator.aws_errors import RUNTIME_ERRORS, AwsError
from batch_pipeline.local.emulator.body_rules import Context
from batch_pipeline.local.emulator.faults import FaultBook
from batch_pipeline.local.emulator.inference import Inference
from batch_pipeline.local.emulator.job import InvocationType
from batch_pipeline.local.emulator.models import require_profile, resolve
from batch_pipeline.local.emulator.rules import Rules
from batch_pipeline.local.emulator.store import Payment, Store


@dataclass(frozen=True)
class Reply:
    """A model's answer and its token counts, which InvokeModel also sends as headers."""

    body: dict[str, Any]
    input_tokens: int
    output_tokens: int


class RuntimePlane:
    """One call, one payment."""

    def __init__(self, store: Store, faults: FaultBook, inference: Inference) -> None:
        self._store = store
        self._faults = faults
        self._inference = inference
        self.rules = Rules()

    def invoke(self, model_id: str, raw: bytes, operation: InvocationType) -> Reply:
        """Answer one request; AwsError where Bedrock would answer one."""
        found = constraints.Findings()
        found.text(model_id, "modelId", constraints.MODEL_ID, shortest=1, longest=2048)
        found.raise_any()
        model = resolve(model_id, self.rules.models)
        require_profile(model, self.rules.models)
        if self._faults.take("no_capacity_next"):
            raise AwsError(
                "ServiceUnavailableException",
                "Bedrock is unable to process your request: insufficient capacity for the model.",
            )
        try:
            body = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise AwsError(
                "ValidationException", "Malformed input request, please reformat your input and try again."
            ) from error
        outcome = self._inference.run(body, Context(model, operation, batch=False, rules=self.rules), None)
        if outcome.input_tokens or outcome.output_tokens:
            self._store.pay(
                Payment(None, None, outcome.digest, outcome.input_tokens, outcome.output_tokens, model.base)
            )
        if outcome.error is not None:
            raise AwsError(RUNTIME_ERRORS[outcome.error.code], outcome.error.message)
        assert outcome.output is not None
        return Reply(outcome.output, outcome.input_tokens, outcome.output_tokens)
