"""Free TCP ports of the loopback interface."""

import socket
from contextlib import ExitStack
from typing import Final

LOOPBACK: Final = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """`count` different ports nobody listens on now.

    All are held open until the last is found, so one call never gives a port twice. Another process
    may still take one before it is used: whoever starts a server on them must see it fail.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for bound in sockets:
            bound.bind((LOOPBACK, 0))
        return [int(bound.getsockname()[1]) for bound in sockets]


def is_open(port: int) -> bool:
    """Whether anything listens on this port of the loopback interface."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((LOOPBACK, port)) == 0
