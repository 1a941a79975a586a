"""Two imports at once, and an import that is killed."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from batch_pipeline.errors import TransientError
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.schema import migrate, names
from batch_pipeline.records.tables import TABLES
from batch_pipeline.records.target import Target, connect
from batch_pipeline.records.verify import verify
from batch_pipeline.workspace import Workspace
from batch_pipeline_tests.records.conftest import Query
from batch_pipeline_tests.records.rows import small_migration, source_row, write

pytestmark = pytest.mark.servers

TARGET = Target("acme", "csv", "acme-2026")


def large_migration(root: Path, people: int = 3000) -> Workspace:
    rows = small_migration()
    rows["person"] += [source_row(f"x{number}", full_name="X") for number in range(people)]
    return write(root, rows)


def test_two_imports_of_one_migration_write_it_once(postgres_url: str, tmp_path: Path, query: Query) -> None:
    workspace = large_migration(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: import_migration(postgres_url, TARGET, workspace), range(4)))
    assert sorted(report.tables["person"].inserted for report in reports) == [0, 0, 0, 3002]
    assert sorted(report.changed > 0 for report in reports) == [False, False, False, True]
    assert query("SELECT count(*) FROM person") == [(3002,)]
    assert verify(postgres_url, TARGET, workspace).passed


def test_tenants_do_not_wait_for_each_other(postgres_url: str, tmp_path: Path) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, TARGET, workspace)
    with connect(postgres_url) as connection:
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('records ' || %s || ' ' || %s, 0))",
            ("recruiting", "acme"),
        )
        assert import_migration(postgres_url, Target("other", "csv", "other-2026"), workspace).changed > 0


def test_the_schema_is_made_once_by_whoever_comes_first(postgres_url: str) -> None:
    def apply(_: int) -> list[str]:
        with connect(postgres_url) as connection:
            return migrate(connection, "recruiting")

    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(apply, range(4)))
    assert sorted(applied) == [[], [], [], names()]


@pytest.mark.parametrize("dies_at", ["person", "attachment", "parsed_cv"])
def test_a_killed_import_leaves_nothing(
    postgres_url: str, tmp_path: Path, query: Query, dies_at: str
) -> None:
    workspace = write(tmp_path, small_migration())
    child = multiprocessing.get_context("spawn").Process(
        target=_import_and_die, args=(postgres_url, workspace, dies_at)
    )
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    _wait_until_alone(postgres_url)
    assert {query(f"SELECT count(*) FROM {table.name}")[0][0] for table in TABLES} == {0}
    assert import_migration(postgres_url, TARGET, workspace).changed > 0


def test_a_server_that_goes_away_is_a_matter_of_time(postgres_url: str, tmp_path: Path, query: Query) -> None:
    workspace = write(tmp_path, small_migration())

    def cut(table: str, done: int, total: int) -> None:
        if table == "note":
            with psycopg.connect(postgres_url) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

    with pytest.raises(TransientError):
        import_migration(postgres_url, TARGET, workspace, cut)
    assert query("SELECT count(*) FROM person") == [(0,)]


def _import_and_die(url: str, workspace: Workspace, at: str) -> None:
    def die(table: str, done: int, total: int) -> None:
        if table == at:
            os.kill(os.getpid(), signal.SIGKILL)

    import_migration(url, TARGET, workspace, die)


def _wait_until_alone(url: str) -> None:
    deadline = time.monotonic() + 30
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(
            "SELECT count(*) > 0 FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchone() != (False,):
            assert time.monotonic() < deadline
            time.sleep(0.05)
