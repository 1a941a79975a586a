"""Events from a queue name jobs to ask about, and can do nothing else. The queue speaks SQS' protocol over HTTP."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from batch_pipeline.errors import TerminalError
from batch_pipeline.providers.job_events import job_of, named_jobs

ARN = "arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/abcdefghijk{}"


def event(arn: object, kind: str = "Batch Inference Job State Change", field: str = "batchJobArn") -> str:
    return json.dumps(
        {"source": "aws.bedrock", "detail-type": kind, "detail": {field: arn, "status": "Completed"}}
    )


class Queue(ThreadingHTTPServer):
    """Two operations of SQS' JSON protocol: what was not deleted comes again."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.waiting: dict[str, str] = {}
        self.denied = False

    def put(self, *bodies: str) -> None:
        for body in bodies:
            self.waiting[f"handle-{len(self.waiting)}"] = body


class _Handler(BaseHTTPRequestHandler):
    server: Queue

    def do_POST(self) -> None:
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        if self.server.denied:
            self._answer(403, {"__type": "com.amazonaws.sqs#AccessDenied", "message": "no"})
        elif operation == "ReceiveMessage":
            taken = list(self.server.waiting.items())[: asked["MaxNumberOfMessages"]]
            self._answer(
                200, {"Messages": [{"MessageId": h, "ReceiptHandle": h, "Body": body} for h, body in taken]}
            )
        else:
            for entry in asked["Entries"]:
                self.server.waiting.pop(entry["ReceiptHandle"], None)
            self._answer(
                200, {"Successful": [{"Id": entry["Id"]} for entry in asked["Entries"]], "Failed": []}
            )

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    server = Queue()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", f"http://127.0.0.1:{server.server_port}")
    for name, value in {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    yield server
    server.shutdown()
    server.server_close()


def test_every_waiting_event_is_taken_once_and_names_its_job(queue: Queue) -> None:
    queue.put(*(event(ARN.format(number % 3)) for number in range(25)))
    url = f"http://127.0.0.1:{queue.server_port}/123456789012/jobs"
    assert named_jobs(url) == {ARN.format(number) for number in range(3)}
    assert queue.waiting == {}
    assert named_jobs(url) == set()


def test_messages_that_are_no_such_events_are_removed_and_name_nothing(queue: Queue) -> None:
    queue.put("", "not json", "[]", "{}", event(None), event(5), event(ARN, kind="Something Else"))
    queue.put(event(ARN.format(1), field="jobArn"), json.dumps({"detail-type": "x", "detail": "y"}))
    assert named_jobs(f"http://127.0.0.1:{queue.server_port}/1/jobs") == set()
    assert queue.waiting == {}


def test_a_queue_that_may_not_be_read_is_an_error_of_ours(queue: Queue) -> None:
    queue.denied = True
    with pytest.raises(TerminalError, match="queue of job events"):
        named_jobs(f"http://127.0.0.1:{queue.server_port}/1/jobs")


def test_the_field_is_called_batch_job_arn() -> None:
    """F29: a handler that looked for jobArn never processed a completion."""
    assert job_of(event(ARN.format(0))) == ARN.format(0)
