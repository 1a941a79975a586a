"""Child servers that never outlive us.

A server runs in its own session, so that a Ctrl-C in the terminal reaches only us and we stop it in
order. It ends with us in every case: `stop()` on the normal path, `atexit` where nobody called it,
and on Linux the kernel's parent-death signal where we were killed. macOS has no such signal: there a
killed parent leaves its server, and the next start on the same folder ends it (`end_orphan`).
"""

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

from batch_pipeline.errors import TerminalError

PROBE_INTERVAL_SECONDS: Final = 0.1
_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class ServerFailed(TerminalError):
    """A local server did not start or did not become ready; names its log."""


@dataclass(frozen=True)
class RunAs:
    """The account a server runs under when we are root and it refuses root."""

    uid: int
    gid: int


@dataclass
class ServerProcess:
    """One child server: `start()`, `wait_ready(probe)`, `stop()`; or a `with` block around it.

    `stop_signal` asks for an orderly end; what is left of the process group after `stop_seconds`
    is killed. `death_signal` is what the kernel sends when we were killed ourselves: the stop signal
    unless the server is known to linger on it. `pid_file` remembers the child for whoever finds the folder after we were killed.
    """

    name: str
    command: Sequence[str]
    log: Path
    cwd: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    run_as: RunAs | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_seconds: float = 20.0
    death_signal: signal.Signals | None = None
    pid_file: Path | None = None
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)

    @property
    def pid(self) -> int:
        """The child's process id; also its process group."""
        if self._child is None:
            raise ServerFailed(f"{self.name} was not started")
        return self._child.pid

    def start(self) -> None:
        """Start the child; returns at once.

        The kernel ties the parent-death signal to the thread that started the child, not to the
        process, so a server started in a short-lived thread would die with it: refused.
        """
        if threading.current_thread() is not threading.main_thread():
            raise ServerFailed(f"{self.name} must be started from the main thread")
        self.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.log.open("ab") as log:
            self.log.chmod(0o600)
            self._child = subprocess.Popen(
                list(self.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.cwd,
                env={**os.environ, **self.environment},
                start_new_session=True,
                user=self.run_as.uid if self.run_as else None,
                group=self.run_as.gid if self.run_as else None,
                extra_groups=[] if self.run_as else None,
                preexec_fn=_die_with(os.getpid(), self.death_signal or self.stop_signal),  # noqa: PLW1509 - two libc calls only
            )
        if self.pid_file is not None:
            self.pid_file.write_text(str(self._child.pid))
        atexit.register(self.stop)

    def wait_ready(self, probe: Callable[[], bool], seconds: float) -> None:
        """Return once `probe()` is true.

        Raises:
            ServerFailed: the child ended, or `seconds` passed.
        """
        deadline = time.monotonic() + seconds
        while not probe():
            if self._child is None or self._child.poll() is not None:
                code = None if self._child is None else self._child.returncode
                raise ServerFailed(f"{self.name} ended with code {code} before it was ready: {self.log}")
            if time.monotonic() > deadline:
                raise ServerFailed(f"{self.name} was not ready after {seconds:g} s: {self.log}")
            time.sleep(PROBE_INTERVAL_SECONDS)

    def check(self) -> None:
        """Raise ServerFailed where the child ended by itself."""
        if self._child is not None and (code := self._child.poll()) is not None:
            raise ServerFailed(f"{self.name} ended with code {code}: {self.log}")

    def stop(self) -> None:
        """End the child and everything it started; harmless when it has ended already."""
        child, self._child = self._child, None
        if child is None:
            return
        atexit.unregister(self.stop)
        if child.poll() is None:
            child.send_signal(self.stop_signal)
            try:
                child.wait(self.stop_seconds)
            except subprocess.TimeoutExpired:
                kill_group(child.pid)
        kill_group(child.pid)
        child.wait()
        if self.pid_file is not None:
            self.pid_file.unlink(missing_ok=True)

    def __enter__(self) -> "ServerProcess":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def kill_group(group: int) -> None:
    """SIGKILL whatever is left of a process group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM for a group of which only zombies are left.
        return


def command_of(pid: int) -> str | None:
    """The command line of a running process, or None where there is none."""
    shown = subprocess.run(
        ["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    state, _, command = shown.partition(" ")
    return None if not shown or state.startswith("Z") else command.strip()


def end_orphan(pid_file: Path, marks: Sequence[str], stop_signal: signal.Signals, seconds: float) -> None:
    """End the server a killed owner left, or wait for it to end; leave whoever has its id by now alone.

    `marks` are words that only this server's command line holds (its program and its folder). To be
    called by the owner of the folder's lock only: then nobody else can be using the server.
    """
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text() or 0)
    deadline = time.monotonic() + seconds
    asked = False
    while pid and (command := command_of(pid)) is not None and all(mark in command for mark in marks):
        if not asked:
            os.kill(pid, stop_signal)
            asked = True
        elif time.monotonic() > deadline:
            kill_group(pid)
        time.sleep(PROBE_INTERVAL_SECONDS)
    pid_file.unlink()


def _die_with(parent: int, death_signal: signal.Signals) -> Callable[[], None] | None:
    if _libc is None:
        return None
    prctl = _libc.prctl

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:  # the parent died before the tie was made
            os._exit(1)

    return tie
