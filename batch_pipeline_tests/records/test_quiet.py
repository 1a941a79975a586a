"""Trap 14: people of a customer's past are not written to because they were imported."""

import sys
from pathlib import Path
from typing import Any

import pytest

from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.target import Target
from batch_pipeline_tests.records.conftest import Query
from batch_pipeline_tests.records.rows import small_migration, write

pytestmark = pytest.mark.servers

TARGET = Target("acme", "csv", "acme-2026")


def test_an_import_tells_nobody(postgres_url: str, tmp_path: Path, query: Query) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, TARGET, workspace)
    connected: list[Any] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in {"socket.connect", "socket.sendto", "smtplib.connect", "subprocess.Popen"}:
            connected.append(arguments)

    sys.addaudithook(watch)
    try:
        import_migration(postgres_url, TARGET, workspace)
    finally:
        watching = False
    # the database is spoken to by libpq, which no audit hook sees: whatever is seen is something else
    assert connected == []
    # and the database itself passes nothing on
    assert query("SELECT proname FROM pg_proc WHERE pronamespace = 'recruiting'::regnamespace") == []
    own_triggers = query(
        "SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
        "WHERE NOT tgisinternal AND c.relnamespace = 'recruiting'::regnamespace"
    )
    assert own_triggers == []
