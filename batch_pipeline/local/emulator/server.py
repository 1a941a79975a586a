"""Running the emulator: in the foreground until a signal, or beside a test."""

import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import uvicorn

from batch_pipeline.local.emulator.app import create_app
from batch_pipeline.local.emulator.connections import DroppableProtocol
from batch_pipeline.local.emulator.emulator import Emulator
from batch_pipeline.local.emulator.settings import EmulatorSettings


@dataclass(frozen=True)
class RunningEmulator:
    """An emulator that answers at `url`; `emulator` is its inside, for tests in the same process."""

    url: str
    emulator: Emulator


def serve(settings: EmulatorSettings) -> None:
    """Serve until SIGINT or SIGTERM; print one line with the address when ready. OSError: port taken."""
    listener = _listen(settings)
    url = _url(listener)
    server = _server(settings)
    # uvicorn raises its signal again after its own clean end: without handlers of ours that would kill us
    before = {number: signal.signal(number, _ignore) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        sys.stdout.write(f"bedrock emulator ready at {url}\n")
        sys.stdout.flush()
        server.run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        listener.close()


@contextmanager
def running_emulator(settings: EmulatorSettings) -> Iterator[RunningEmulator]:
    """An emulator in a thread of this process, ended with the block. Port 0 takes a free one."""
    listener = _listen(settings)
    server = _server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the emulator did not start; its log says why")
            thread.join(0.01)
        yield RunningEmulator(_url(listener), server.config.app.state.emulator)  # type: ignore[union-attr]
    finally:
        server.should_exit = True
        thread.join(5)
        listener.close()


def _server(settings: EmulatorSettings) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            create_app(settings),
            http=DroppableProtocol,
            ws="none",
            lifespan="on",
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=1,
        )
    )


def _listen(settings: EmulatorSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """A signal uvicorn has already acted on."""
