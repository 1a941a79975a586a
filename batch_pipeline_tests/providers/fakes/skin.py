"""What a provider's skin over the core must be, and the server both run in."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import uvicorn
from starlette.applications import Starlette

from batch_pipeline.local.emulator.connections import DroppableProtocol
from batch_pipeline.provider_settings import Kind
from batch_pipeline_tests.providers.fakes.core import Core


class Skin(Protocol):
    """One provider's wire protocol over a core."""

    kind: Kind

    def app(self, core: Core) -> Starlette:
        """Its HTTP interface, strict about what it is sent."""

    def section(self, url: str) -> dict[str, Any]:
        """The provider section of a migration file that leads here."""

    def environment(self, url: str) -> Mapping[str, str]:
        """Variables with its key; none of them may lead anywhere else."""

    def content_left(self, core: Core) -> list[str]:
        """Ids of what is still held, has content (requests, answers) and could be deleted."""


@contextmanager
def running(skin: Skin, core: Core) -> Iterator[str]:
    """The skin on a free port of this machine; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(
            uvicorn.Config(
                skin.app(core),
                http=DroppableProtocol,
                ws="none",
                lifespan="off",
                log_level="error",
                access_log=False,
                timeout_graceful_shutdown=1,
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            thread.join(0.005)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(5)
