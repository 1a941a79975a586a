"""Gemini's generateContent, at the Gemini API and on Vertex alike (contracts/providers.md section 2.3)."""

from collections.abc import Sequence
from typing import Any, Final

from batch_pipeline.requests.dialects.base import VISION_TEXT, Ask, Dialect, sampling
from batch_pipeline.requests.file_blocks import FileBlock


class Gemini(Dialect):
    name = "generate_content"

    def text(self, ask: Ask, user_text: Any) -> dict[str, Any]:
        return self._body(ask, [{"text": user_text}])

    def vision(self, ask: Ask, files: Sequence[FileBlock]) -> dict[str, Any]:
        shown = [{"inlineData": {"mimeType": file.media_type, "data": file.base64}} for file in files]
        return self._body(ask, [*shown, {"text": VISION_TEXT}])

    def _body(self, ask: Ask, parts: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "systemInstruction": {"parts": [{"text": ask.prompt}]},
            "contents": [{"role": "user", "parts": parts}],
            "generationConfig": {
                "maxOutputTokens": ask.max_tokens,
                **sampling(ask),
                "responseMimeType": "application/json",
            },
        }


GEMINI: Final = Gemini()
