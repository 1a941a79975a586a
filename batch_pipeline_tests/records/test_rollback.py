"""A rollback takes exactly one migration out."""

from dataclasses import replace
from pathlib import Path

import pytest

from batch_pipeline.errors import OpenSums
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.rollback import rollback
from batch_pipeline.records.tables import TABLES
from batch_pipeline.records.target import Target
from batch_pipeline.records.verify import verify
from batch_pipeline_tests.records.conftest import Query
from batch_pipeline_tests.records.rows import Row, md5_of, small_migration, source_row, write

pytestmark = pytest.mark.servers

FIRST = Target("acme", "csv", "acme-2026")
SECOND = Target("acme", "lever", "acme-lever")


def rows_left(query: Query) -> dict[str, int]:
    counts = {table.name: query(f"SELECT count(*) FROM {table.name}")[0][0] for table in TABLES}
    return {name: count for name, count in counts.items() if count}


def test_everything_of_the_migration_goes(postgres_url: str, tmp_path: Path, query: Query) -> None:
    report = import_migration(postgres_url, FIRST, write(tmp_path, small_migration()))
    assert rollback(postgres_url, FIRST) == {name: count.inserted for name, count in report.tables.items()}
    assert rows_left(query) == {}
    assert set(rollback(postgres_url, FIRST).values()) == {0}


def test_other_tenants_and_systems_stay(postgres_url: str, tmp_path: Path, query: Query) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, replace(FIRST, tenant="other"), workspace)
    before = rows_left(query)
    import_migration(postgres_url, FIRST, workspace)
    rollback(postgres_url, FIRST)
    assert rows_left(query) == before
    assert verify(postgres_url, replace(FIRST, tenant="other"), workspace).passed


def test_a_file_two_migrations_hold_outlives_the_first(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, FIRST, workspace)
    second = import_migration(postgres_url, SECOND, workspace)
    assert second.tables["document"].unchanged == 3
    removed = rollback(postgres_url, FIRST)
    assert (removed["attachment"], removed["document"], removed["parsed_cv"]) == (5, 0, 0)
    assert verify(postgres_url, SECOND, workspace).passed
    rollback(postgres_url, SECOND)
    assert rows_left(query) == {}


def test_rows_another_migration_rests_on_are_not_taken_away(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    import_migration(postgres_url, FIRST, write(tmp_path, small_migration()))
    before = rows_left(query)
    empty: dict[str, list[Row]] = {name: [] for name in small_migration()}
    later = empty | {"person": small_migration()["person"], "application": [source_row("b1", person_id="p1")]}
    import_migration(postgres_url, replace(FIRST, migration="acme-delta"), write(tmp_path / "later", later))
    with pytest.raises(OpenSums, match="roll that one back first"):
        rollback(postgres_url, FIRST)
    assert rows_left(query) == before | {"application": 4}
    rollback(postgres_url, replace(FIRST, migration="acme-delta"))
    rollback(postgres_url, FIRST)
    assert rows_left(query) == {}


def test_a_rolled_back_migration_can_be_imported_again(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, FIRST, workspace)
    rollback(postgres_url, FIRST)
    import_migration(postgres_url, FIRST, workspace)
    assert query("SELECT count(*) FROM cv_link WHERE document_md5 = %s", md5_of("cv")) == [(2,)]
