"""Servers that do not answer as one should."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Calls itself JSON and is none.
NO_JSON = b'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-type: application/json\r\n\r\n{"id'


@contextmanager
def silent_server(answer: bytes | None) -> Iterator[str]:
    """Takes one request, and answers these bytes or cuts the line."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            connection.recv(65_536)
            if answer is not None:
                connection.sendall(answer)
            connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def cutting_relay(port: int) -> Iterator[str]:
    """Hands one request on to the server of that port, and cuts the line when that one has answered."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            with client, socket.create_connection(("127.0.0.1", port)) as server:
                while client in select.select([client, server], [], [])[0]:
                    server.sendall(client.recv(65_536))
                server.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
