"""A server that does not answer as one should."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
