"""The points at which a process is killed: around everything that reaches a database, S3 or Bedrock.

Only third-party libraries are patched, at their outer edges: psycopg where it waits for the server,
botocore where it sends a request. What happens between two of them changes nothing outside but files.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

Process = Literal["run", "courier"]

_PROGRAMS: dict[str, Process] = {
    "batch_pipeline_tests.flows.command": "run",
    "batch_pipeline.stages.courier": "courier",
}


@dataclass(frozen=True)
class Fault:
    """Which process to kill at which of its points, and where to write down what it passed."""

    process: Process | None
    """None: both, to count their points."""
    log: str
    point: int | None = None
    group: bool = False
    """Kill the whole process group, as a terminal's or a container's end does."""

    def as_text(self) -> str:
        return json.dumps(asdict(self))


class Points:
    """Counts points over all threads of this process; kills it at the one that is wanted."""

    def __init__(self, fault: Fault, process: Process) -> None:
        self._fault = fault
        self._lock = threading.Lock()
        self._passed = 0
        self._log = os.open(f"{fault.log}-{process}", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def reached(self, kind: str, label: str) -> None:
        with self._lock:
            self._passed += 1
            wanted = self._passed == self._fault.point
            if wanted or self._fault.point is None:
                os.write(self._log, f"{kind}\t{label}\n".encode())
            if wanted:
                if self._fault.group:
                    os.killpg(0, signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)


def arm(text: str) -> None:
    """Patch this process's libraries if it is the one the fault is about."""
    fault = Fault(**json.loads(text))
    program = next((_PROGRAMS[word] for word in sys.orig_argv if word in _PROGRAMS), None)
    if program is not None and fault.process in {program, None}:
        passed = Path(f"{fault.log}-{program}")
        if fault.point is not None and passed.exists() and passed.read_text():
            return  # it was killed once; the next process in its place lives
        points = Points(fault, program)
        _watch_database(points)
        _watch_http(points)


def _watch_database(points: Points) -> None:
    import psycopg  # noqa: PLC0415 - only in the process that is to be killed

    wait: Callable[..., Any] = psycopg.Connection.wait

    def watched(connection: Any, steps: Generator[Any, Any, Any], *more: Any, **named: Any) -> Any:
        kind, label = _meaning(steps)
        if kind == "commit":
            points.reached("before commit", label)
        result = wait(connection, steps, *more, **named)
        if kind is not None:
            points.reached(f"after {kind}", label)
        return result

    psycopg.Connection.wait = watched  # type: ignore[assignment,method-assign]


def _meaning(steps: Generator[Any, Any, Any]) -> tuple[str | None, str]:
    """What a conversation with the server is about; reading changes nothing and is no point."""
    name = getattr(steps, "__name__", "")
    if name in {"_exit_gen", "_commit_gen"}:
        return "commit", "commit"
    frame = getattr(steps, "gi_frame", None)
    asked = frame.f_locals.get("query", frame.f_locals.get("statement", "")) if frame else ""
    words = _text(asked).split()
    label = " ".join(words[:4])
    if name == "_start_copy_gen":
        return "copy", label
    if name == "_execute_gen" and words and words[0].lower() not in {"select", "set", "show"}:
        return "statement", label
    if name == "_execute_gen" and "advisory" in " ".join(words):
        return "lock", "advisory lock"
    return None, label


def _text(asked: Any) -> str:
    if isinstance(asked, bytes):
        return asked.decode()
    return str(asked.as_string(None)) if hasattr(asked, "as_string") else str(asked)


def _watch_http(points: Points) -> None:
    from botocore.httpsession import URLLib3Session  # noqa: PLC0415

    send = URLLib3Session.send
    stores = urlsplit(os.environ["AWS_ENDPOINT_URL_S3"]).netloc

    def watched(session: Any, request: Any) -> Any:
        parts = urlsplit(request.url)
        service = "S3" if parts.netloc == stores else "Bedrock"
        label = f"{request.method} {Path(parts.path).name if service == 'S3' else _operation(parts.path)}"
        points.reached(f"before {service} call", label)
        answer = send(session, request)
        points.reached(f"after {service} call", label)
        return answer

    URLLib3Session.send = watched  # type: ignore[assignment,method-assign]


def _operation(path: str) -> str:
    return path.split("/")[1] if not path.startswith("/model/") else f"model {path.rpartition('/')[2]}"
