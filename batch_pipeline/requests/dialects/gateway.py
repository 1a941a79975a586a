"""`options` of a request to Vercel's AI Gateway (contracts/providers.md section 2.5)."""

from collections.abc import Sequence
from typing import Any, Final

from batch_pipeline.requests.dialects.base import VISION_TEXT, Ask, Dialect, sampling
from batch_pipeline.requests.file_blocks import FileBlock


class Gateway(Dialect):
    name = "gateway"

    def text(self, ask: Ask, user_text: Any) -> dict[str, Any]:
        return self._body(ask, [{"type": "text", "text": user_text}])

    def vision(self, ask: Ask, files: Sequence[FileBlock]) -> dict[str, Any]:
        shown = [
            {"type": "file", "mediaType": file.media_type, "data": {"type": "data", "data": file.base64}}
            for file in files
        ]
        return self._body(ask, [*shown, {"type": "text", "text": VISION_TEXT}])

    def _body(self, ask: Ask, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "prompt": [
                {"role": "system", "content": ask.prompt},
                {"role": "user", "content": content},
            ],
            "maxOutputTokens": ask.max_tokens,
            **sampling(ask),
        }


GATEWAY: Final = Gateway()
