"""A child server is started, probed and ended, with everything it started."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from batch_pipeline.local.folder_lock import FolderLock
from batch_pipeline.local.ports import free_ports, is_open
from batch_pipeline.local.processes import ServerFailed, ServerProcess, command_of

STUBBORN = (
    "import signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)\n"
)


def server(tmp_path: Path, code: str, stop_seconds: float = 20) -> ServerProcess:
    return ServerProcess("child", [sys.executable, "-c", code], tmp_path / "log", stop_seconds=stop_seconds)


def test_a_stubborn_server_and_its_children_are_killed(tmp_path: Path) -> None:
    child = server(tmp_path, STUBBORN, stop_seconds=0.5)
    child.start()
    child.wait_ready(lambda: bool((tmp_path / "log").read_text().strip()), 20)
    pids = [child.pid, int((tmp_path / "log").read_text())]
    child.stop()
    time.sleep(0.1)
    assert [command_of(pid) for pid in pids] == [None, None]


def test_a_server_that_ends_early_is_named_with_its_log(tmp_path: Path) -> None:
    child = server(tmp_path, "raise SystemExit(3)")
    child.start()
    with pytest.raises(ServerFailed, match=r"child ended with code 3 .*log"):
        child.wait_ready(lambda: False, 20)
    child.stop()


def test_a_server_that_is_never_ready_is_given_up(tmp_path: Path) -> None:
    with (
        server(tmp_path, "import time; time.sleep(600)") as child,
        pytest.raises(ServerFailed, match=r"not ready after 0\.3 s"),
    ):
        child.wait_ready(lambda: False, 0.3)


def test_stopping_twice_is_harmless(tmp_path: Path) -> None:
    child = server(tmp_path, "import time; time.sleep(600)")
    child.start()
    child.stop()
    child.stop()


def test_an_owner_that_ends_without_stopping_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom batch_pipeline.local.processes import ServerProcess\n"
        "child = ServerProcess('child', [sys.executable, '-c', 'import time; time.sleep(600)'], Path(sys.argv[1]))\n"
        "child.start()\nprint(child.pid)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "log")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert command_of(int(ran.stdout)) is None


def test_a_server_is_not_tied_to_a_passing_thread(tmp_path: Path) -> None:
    failed: list[Exception] = []

    def start() -> None:
        try:
            server(tmp_path, "pass").start()
        except ServerFailed as error:
            failed.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in str(failed[0])


def test_free_ports_are_different_and_closed() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert not any(is_open(port) for port in ports)


def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()
