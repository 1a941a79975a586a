"""Threads that never keep the process alive: a stuck engine call must not delay the end by a second."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
A = TypeVar("A")


class DaemonPool:
    """A fixed number of daemon threads taking work in order."""

    def __init__(self, threads: int, name: str) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 -- it belongs to whoever waits for the future
                future.set_exception(error)

        self._queue.put(run)
        return future

    def map(self, work: Callable[[A], T], items: Iterable[A]) -> list[T]:
        """Results in the order of the items; the first error is raised."""
        futures = [self.submit(lambda item=item: work(item)) for item in items]  # type: ignore[misc]
        return [future.result() for future in futures]

    def stop(self) -> None:
        """End idle threads; busy ones end with the process."""
        for _ in self._threads:
            self._queue.put(None)

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
