"""The Parquet dataset holds the rows of the database, and of this migration only."""

from pathlib import Path

import polars as pl
import psycopg
import pytest

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.records.dataset import write_dataset
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.tables import TABLES
from batch_pipeline.records.target import Target
from batch_pipeline.workspace import Workspace
from batch_pipeline_tests.records.rows import small_migration, write

pytestmark = pytest.mark.servers

TARGET = Target("acme", "csv", "acme-2026")
OTHER = Target("other", "csv", "other-2026")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return write(tmp_path / "work", small_migration())


def test_the_dataset_is_the_database_row_for_row(
    postgres_url: str, workspace: Workspace, tmp_path: Path
) -> None:
    import_migration(postgres_url, TARGET, workspace)
    counts = write_dataset(postgres_url, TARGET, tmp_path / "out", part_rows=2)
    with psycopg.connect(postgres_url) as connection:
        for table in TABLES:
            rows = connection.execute(f"select * from recruiting.{table.name} order by 1".encode()).fetchall()
            written = pl.read_parquet(tmp_path / "out" / table.name / "part-*.parquet")
            assert counts[table.name] == len(rows) == written.height, table.name
            assert written.columns == [
                column.name
                for column in connection.execute(
                    f"select * from recruiting.{table.name} limit 0".encode()
                ).description
                or ()
            ]
    people = pl.read_parquet(tmp_path / "out" / "person" / "part-*.parquet")
    assert people.schema["source_created_at"] == pl.Datetime("us", "UTC")


def test_another_migrations_rows_are_not_in_it(
    postgres_url: str, workspace: Workspace, tmp_path: Path
) -> None:
    import_migration(postgres_url, TARGET, workspace)
    import_migration(postgres_url, OTHER, workspace)
    counts = write_dataset(postgres_url, OTHER, tmp_path / "out")
    assert counts["person"] == pl.read_parquet(workspace.table("person")).height
    assert set(pl.read_parquet(tmp_path / "out" / "person" / "*.parquet")["tenant"]) == {OTHER.tenant}


def test_a_folder_with_something_in_it_is_left_alone(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(ConfigurationError, match="give a folder that is empty"):
        write_dataset(postgres_url, TARGET, tmp_path)


@pytest.mark.parametrize("schema", ["elsewhere", "recruiting"])
def test_nothing_imported_is_said_and_nothing_written(
    postgres_url: str, workspace: Workspace, tmp_path: Path, schema: str
) -> None:
    import_migration(postgres_url, OTHER, workspace)
    with pytest.raises(ConfigurationError, match=r"'m': nothing of it is in schema"):
        write_dataset(postgres_url, Target("t", "s", "m", schema=schema), tmp_path / "out")
    assert not (tmp_path / "out").exists()
