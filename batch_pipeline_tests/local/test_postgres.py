"""The embedded PostgreSQL keeps its data, starts again after anything, and leaves no process behind."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from batch_pipeline.local.postgres import EmbeddedPostgres
from batch_pipeline.local.processes import ServerFailed, command_of

pytestmark = pytest.mark.servers

OWNER = """
import sys, time
from pathlib import Path
from batch_pipeline.local.postgres import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])) as server:
    print(server.url, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bp-") as name:
        yield Path(name) / "postgres"


def postmaster(folder: Path) -> int:
    return int((folder / "cluster" / "postmaster.pid").read_text().split("\n")[0])


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while command_of(pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_data_outlives_the_server(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'ß ﷺ 😀' AS word")
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT word FROM kept").fetchone() == ("ß ﷺ 😀",)


def test_nothing_runs_after_the_block(folder: Path) -> None:
    with EmbeddedPostgres(folder):
        pid = postmaster(folder)
        assert command_of(pid) is not None
    assert command_of(pid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no parent-death signal")
def test_a_killed_owner_takes_its_server_along_and_the_folder_starts_again(folder: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline().startswith("postgresql://")
    pid = postmaster(folder)
    owner.kill()
    owner.wait()
    wait_until_gone(pid)
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    owner.stdout.close()


def test_the_folder_is_taken_over_while_a_killed_owners_server_still_ends(folder: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    owner.stdout.readline()
    owner.kill()
    owner.wait()
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url):
        pass
    owner.stdout.close()


def test_a_killed_server_starts_again_with_what_was_committed(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server:
        with psycopg.connect(server.url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
        pid = postmaster(folder)
        os.kill(pid, signal.SIGKILL)
    assert (folder / "cluster" / "postmaster.pid").exists()
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT one FROM kept").fetchone() == (1,)


def test_a_pid_that_is_somebody_else_by_now_is_left_alone(folder: Path) -> None:
    with EmbeddedPostgres(folder):
        pass
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        (folder / "cluster" / "postmaster.pid").write_text(f"{bystander.pid}\n{folder / 'cluster'}\n")
        (folder / "server.pid").write_text(str(bystander.pid))
        with EmbeddedPostgres(folder) as server, psycopg.connect(server.url):
            assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_half_an_initialisation_is_made_again(folder: Path) -> None:
    (folder / "cluster" / "base").mkdir(parents=True)
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url):
        pass


def test_a_second_process_uses_the_running_server_and_leaves_it(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server:
        look = (
            "import sys, psycopg\nfrom pathlib import Path\n"
            "from batch_pipeline.local.postgres import EmbeddedPostgres\n"
            "with EmbeddedPostgres(Path(sys.argv[1])) as server: psycopg.connect(server.url).close()\n"
        )
        subprocess.run([sys.executable, "-c", look, str(folder)], check=True, timeout=60)
        with psycopg.connect(server.url):
            pass


def test_a_long_path_works(folder: Path) -> None:
    deep = folder.with_name("x" * 120)
    with EmbeddedPostgres(deep) as server, psycopg.connect(server.url):
        assert len(server.url) < 120


def test_nobody_else_can_read_the_data_or_reach_the_server(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server:
        assert stat.S_IMODE((folder / "cluster").stat().st_mode) == 0o700
        assert not stat.S_IMODE(folder.stat().st_mode) & 0o066
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_a_failed_statement_leaves_no_value_in_the_log(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE person (email text PRIMARY KEY)")
        connection.execute("INSERT INTO person VALUES ('secret@example.com')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO person VALUES ('secret@example.com')")
    log = (folder / "postgres.log").read_text()
    assert "duplicate key" in log
    assert "secret" not in log


def test_a_broken_folder_says_which_log_to_read(folder: Path) -> None:
    with EmbeddedPostgres(folder):
        pass
    (folder / "cluster" / "PG_VERSION").write_text("13\n")
    with pytest.raises(ServerFailed, match=r"postgres\.log"), EmbeddedPostgres(folder):
        pass
