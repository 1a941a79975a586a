"""Cutting a connection after its request was served, as a network does.

ASGI has no word for this, so the server's protocol keeps each connection's transport by its peer.
"""

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

_open: Final[dict[tuple[str, int], asyncio.Transport]] = {}


class DroppableProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol, remembered by peer address while open."""

    _peer: tuple[str, int] | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self.client is not None:
            self._peer = self.client
            _open[self.client] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._peer is not None:
            _open.pop(self._peer, None)
        super().connection_lost(exc)


async def drop_connection(request: Request) -> Response:
    """Cut the connection of a request; nothing of the returned response reaches the client."""
    client = request.client
    transport = _open.get((client.host, client.port)) if client else None
    if transport is None:
        raise RuntimeError("this server cannot drop connections: run the app through server.py")
    transport.abort()
    await asyncio.sleep(0.01)  # the transport tells its protocol in a later turn of the loop
    return Response(status_code=500)
