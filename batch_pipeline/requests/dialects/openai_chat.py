"""OpenAI's chat completions, the body most other servers take too.

Text stands as a plain string, which every such server takes; lists of blocks only where a file is shown.
No temperature: OpenAI's reasoning models refuse one, and which models reason is not in a name.
"""

from collections.abc import Sequence
from typing import Any, Final

from batch_pipeline.requests.dialects.base import VISION_TEXT, Ask, Dialect
from batch_pipeline.requests.file_blocks import FileBlock


class OpenAIChat(Dialect):
    name = "chat_completions"

    def text(self, ask: Ask, user_text: Any) -> dict[str, Any]:
        return self._body(ask, user_text)

    def vision(self, ask: Ask, files: Sequence[FileBlock]) -> dict[str, Any]:
        blocks = [_block(file, number) for number, file in enumerate(files, start=1)]
        return self._body(ask, [*blocks, {"type": "text", "text": VISION_TEXT}])

    def _body(self, ask: Ask, content: Any) -> dict[str, Any]:
        return {
            "max_completion_tokens": ask.max_tokens,
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "system", "content": ask.prompt},
                {"role": "user", "content": content},
            ],
        }


def _block(file: FileBlock, number: int) -> dict[str, Any]:
    if file.is_image:
        return {"type": "image_url", "image_url": {"url": file.data_url}}
    named = {"filename": f"document-{number}.pdf", "file_data": file.data_url}
    return {"type": "file", "file": named}


CHAT: Final = OpenAIChat()
