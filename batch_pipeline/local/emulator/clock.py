"""Where the emulator gets its time from."""

from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Protocol


class Clock(Protocol):
    """Time as the emulated service sees it, in UTC."""

    def now(self) -> datetime: ...


class RealClock:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class ManualClock:
    """A time that stands still until it is moved."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._lock = Lock()

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move forward; a negative number is a ValueError."""
        if seconds < 0:
            raise ValueError("time does not run backwards")
        with self._lock:
            self._now += timedelta(seconds=seconds)
            return self._now
