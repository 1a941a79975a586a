"""A function over many items in worker processes, in chunks, in order, with bounded waiting.

Only for work that cannot crash or hang; text extraction has its own killable workers.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

CHUNK_FILES: Final = 200
"""A chunk of one file costs 2.2 times the CPU of batched work (measured)."""


def chunked(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of `size` items, the last one shorter."""
    stream = iter(items)
    while chunk := list(islice(stream, size)):
        yield chunk


def _end_with(owner: int) -> None:
    """End this worker when its owner is gone: a killed owner cannot say so, and a pool waits for ever."""

    def watch() -> None:
        while True:
            time.sleep(1.0)
            try:
                os.kill(owner, 0)
            except ProcessLookupError:
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def map_chunks(
    function: Callable[[list[Item]], list[Result]], items: Iterable[Item], *, workers: int, chunk: int
) -> Iterator[Result]:
    """Every item's result, in order. One worker or one chunk needs no process at all.

    The pool is a fork server: forking this process would copy the locks of its threads.
    """
    chunks = chunked(items, chunk)
    first = next(chunks, None)
    if first is None:
        return
    second = next(chunks, None)
    if workers <= 1 or second is None:
        yield from function(first)
        while second is not None:
            yield from function(second)
            second = next(chunks, None)
        return
    with ProcessPoolExecutor(
        workers, mp_context=get_context("forkserver"), initializer=_end_with, initargs=(os.getpid(),)
    ) as pool:
        waiting: deque[Future[list[Result]]] = deque(
            [pool.submit(function, first), pool.submit(function, second)]
        )
        while waiting:
            while len(waiting) < workers * 2 and (more := next(chunks, None)) is not None:
                waiting.append(pool.submit(function, more))
            yield from waiting.popleft().result()
