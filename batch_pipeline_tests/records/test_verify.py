"""Verification sees what an import cannot: a value changed on the way or afterwards."""

from pathlib import Path

import pytest

from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.target import Target
from batch_pipeline.records.verify import verify
from batch_pipeline_tests.records.conftest import Query
from batch_pipeline_tests.records.rows import md5_of, small_migration, source_row, write

pytestmark = pytest.mark.servers

TARGET = Target("acme", "csv", "acme-2026")


def test_an_untouched_import_passes_on_every_table(postgres_url: str, tmp_path: Path) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, TARGET, workspace)
    found = verify(postgres_url, TARGET, workspace)
    assert found.differences == []
    assert found.rows["parsed_cv_work"] == 2
    assert found.fields > 200


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ("UPDATE note SET body_text = 'other' WHERE source_id = 'n1'", "note n1: body_text differs"),
        ("UPDATE person SET location = '' WHERE source_id = 'p1'", "person p1: location differs"),
        (
            "UPDATE application SET source_created_at = source_created_at + interval '1 microsecond'"
            " WHERE source_id = 'a2'",
            "application a2: source_created_at differs",
        ),
        ("DELETE FROM stage_move", "stage_move m1: missing"),
        ("DELETE FROM parsed_cv_work WHERE position = 1", f"parsed_cv_work {md5_of('cv')}: rows differ"),
    ],
)
def test_a_changed_value_is_named_without_being_shown(
    postgres_url: str, tmp_path: Path, query: Query, change: str, difference: str
) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, TARGET, workspace)
    query(change)
    assert verify(postgres_url, TARGET, workspace).differences == [difference]


def test_the_sample_is_spread_over_all_rows(postgres_url: str, tmp_path: Path, query: Query) -> None:
    rows = small_migration()
    rows["job"] = [source_row(f"j{number}", title="T") for number in range(1, 101)]
    workspace = write(tmp_path, rows)
    import_migration(postgres_url, TARGET, workspace)
    query("UPDATE job SET title = 'other'")
    found = verify(postgres_url, TARGET, workspace, sample_rows=10)
    assert found.rows["job"] == 10
    assert found.differences == [f"job j{number}: title differs" for number in range(1, 101, 10)]
