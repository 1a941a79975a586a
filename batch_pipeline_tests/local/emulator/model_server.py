"""A small OpenAI-compatible server, real as far as HTTP goes."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest


class Model(BaseHTTPRequestHandler):
    """A small OpenAI-compatible server."""

    asked: ClassVar[list[dict[str, Any]]] = []
    status = 200

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        answer = {
            "choices": [{"message": {"content": '{"basics":{}}'}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 5},
        }
        body = json.dumps(answer).encode()
        self.send_response(type(self).status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def model_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Model.asked.clear()
    Model.status = 200
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
