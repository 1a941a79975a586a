"""CPU-seconds, peak memory and the ratio to a floor, each measured in a process of its own.

A ratio to a floor of the same run survives a slower machine; a wall time does not.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# ru_maxrss is in KiB on Linux and in bytes on macOS.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Measured:
    """What one child process used, imports included."""

    name: str
    cpu_seconds: float
    peak_mb: float


def measure(name: str, work: Callable[[], object]) -> Measured:
    """Run `work` in a fresh interpreter and wait for it.

    `work` must be importable (a module-level function or a `functools.partial` of one). Raises
    RuntimeError where the child failed: a figure of half the work would look like a fast one.
    The caller must stay small: Linux counts the parent's memory at the fork as the child's first peak.
    """
    child = multiprocessing.get_context("spawn").Process(target=work, name=name)
    child.start()
    if child.pid is None:
        raise RuntimeError(f"{name}: no process was started")
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"{name}: the measured process ended with {os.waitstatus_to_exitcode(status)}")
    return Measured(name, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _RSS_UNIT / 1e6)


def show(title: str, floor: Measured, measured: Sequence[Measured]) -> str:
    """An aligned table of the floor and of what stands on it."""
    rows = [("", "CPU-s", "peak MB", "x floor")]
    for one in (floor, *measured):
        ratio = one.cpu_seconds / floor.cpu_seconds
        rows.append((one.name, f"{one.cpu_seconds:.2f}", f"{one.peak_mb:.0f}", f"{ratio:.1f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return "\n".join([title, *lines])
