"""Progress in the terminal: bars for people, plain lines where nobody can see a bar."""

import sys
import time
from typing import Final, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

_SECONDS_BETWEEN_LINES: Final = 5.0

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


class TerminalProgress:
    """One bar per kind of work; in a file or a pipe, one line per kind every few seconds."""

    def __init__(self) -> None:
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._said: dict[str, tuple[float, int]] = {}
        self._live = sys.stdout.isatty()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if self._live:
            if what not in self._tasks:
                self._tasks[what] = self._bars.add_task(what, total=total)
            self._bars.update(self._tasks[what], completed=done, total=total)
            return
        now = time.monotonic()
        last, before = self._said.get(what, (0.0, -1))
        if done != before and (now - last >= _SECONDS_BETWEEN_LINES or done == total):
            console.print(f"{what}: {done}" + (f" of {total}" if total is not None else ""))
            self._said[what] = (now, done)

    def say(self, text: str) -> None:
        """A line above the bars."""
        console.print(text)

    def __enter__(self) -> Self:
        if self._live:
            self._bars.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live:
            self._bars.stop()
