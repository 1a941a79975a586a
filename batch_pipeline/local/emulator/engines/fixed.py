"""A constant small answer that names the digest of its question, for load tests."""

import hashlib

from batch_pipeline.local.emulator.engines.contract import (
    EngineAnswer,
    PromptRequest,
    estimate_tokens,
    prompt_tokens,
)


class FixedEngine:
    """Costs next to nothing, and still shows which question it answers."""

    concurrency = 1

    def answer(self, request: PromptRequest) -> EngineAnswer:
        digest = hashlib.sha256(request.text.encode()).hexdigest()
        text = f'{{"basics":{{"name":"Fixed Answer","summary":"DIGEST-{digest[:32].upper()}"}}}}'
        return EngineAnswer(text, "end_turn", prompt_tokens(request), estimate_tokens(text))
