"""`batch-pipeline demo`: to the end by sensors alone, twice, and gone without a trace when interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.servers, pytest.mark.timeout(420)]

COMMAND = [
    str(Path(sys.executable).parent / "batch-pipeline"),
    "demo",
    "--applications",
    "180",
    "--documents",
    "120",
]


def processes_of(folder: Path) -> list[str]:
    """Command lines of processes whose command or environment names the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (process / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if int(process.name) != os.getpid() and str(folder) in command + environment:
            found.append(command)
    return found


def _takes_interrupts() -> None:
    """A shell's background jobs ignore Ctrl-C, and pass that on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_the_demo_ends_right_twice_in_one_folder_and_leaves_no_process(tmp_path: Path) -> None:
    for _ in range(2):
        ended = subprocess.run(
            COMMAND, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200
        )
        assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
        assert "done: imported, erased; verified when somebody knows of" in ended.stdout
        assert "not as expected" not in ended.stdout
        assert "OPEN" not in ended.stdout
    if sys.platform == "linux":
        assert processes_of(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_an_interrupted_demo_leaves_no_process(tmp_path: Path) -> None:
    with (tmp_path / "output").open("w") as output:
        demo = subprocess.Popen(
            [*COMMAND, "--folder", str(tmp_path / "data")],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_takes_interrupts,  # noqa: PLW1509 - this test has no threads
        )
        deadline = time.monotonic() + 120
        while "to be read and planned" not in (tmp_path / "output").read_text():
            assert time.monotonic() < deadline, (tmp_path / "output").read_text()
            time.sleep(0.5)
        os.killpg(demo.pid, signal.SIGINT)
        assert demo.wait(60) == 130
    assert processes_of(tmp_path / "data") == []
