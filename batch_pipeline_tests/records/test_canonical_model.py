"""Stages, tags, offers and answers follow the rules of every other table."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from batch_pipeline.errors import OpenSums
from batch_pipeline.records.dataset import write_dataset
from batch_pipeline.records.erase_person import erase_person
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.rollback import rollback
from batch_pipeline.records.target import Target
from batch_pipeline.records.verify import verify
from batch_pipeline_tests.records.conftest import Query
from batch_pipeline_tests.records.rows import small_migration, source_row, write

pytestmark = pytest.mark.servers

TARGET = Target("acme", "csv", "acme-2026")
NEW = ("stage", "tag", "offer", "question_answer")


def test_the_database_holds_what_the_files_hold(postgres_url: str, tmp_path: Path, query: Query) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, TARGET, workspace)
    found = verify(postgres_url, TARGET, workspace)
    assert found.passed
    assert {name: found.rows[name] for name in NEW} == dict.fromkeys(NEW, 2)
    assert query("SELECT starts_on, details FROM offer WHERE source_id = 'o1'") == [
        (date(2026, 3, 1), {"salary": 42000})
    ]


def test_what_an_erased_person_said_never_lands(postgres_url: str, tmp_path: Path, query: Query) -> None:
    import_migration(postgres_url, TARGET, write(tmp_path, small_migration()))
    assert query("SELECT name, raw FROM tag WHERE source_id = 'g2'") == [(None, None)]
    assert query("SELECT details, raw FROM offer WHERE source_id = 'o2'") == [(None, None)]
    assert query("SELECT answer, raw FROM question_answer WHERE source_id = 'q2'") == [(None, None)]


def test_erasing_a_person_blanks_their_tags_offers_and_answers(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    import_migration(postgres_url, TARGET, write(tmp_path, small_migration()))
    done = erase_person(postgres_url, TARGET, "p1")
    assert {name: done[name] for name in NEW if name in done} == {"tag": 1, "offer": 1, "question_answer": 1}
    assert query("SELECT count(*) FROM tag WHERE num_nonnulls(name, raw) > 0") == [(0,)]
    assert query("SELECT count(*) FROM offer WHERE num_nonnulls(details, raw) > 0") == [(0,)]
    assert query("SELECT count(*) FROM question_answer WHERE num_nonnulls(answer, raw) > 0") == [(0,)]
    assert query("SELECT status FROM offer WHERE source_id = 'o1'") == [("open",)]


def test_rolling_back_leaves_none_of_them(postgres_url: str, tmp_path: Path, query: Query) -> None:
    import_migration(postgres_url, TARGET, write(tmp_path, small_migration()))
    removed = rollback(postgres_url, TARGET)
    assert {name: removed[name] for name in NEW} == dict.fromkeys(NEW, 2)


def test_a_stage_of_a_job_that_was_deleted_stands_without_it(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    rows["stage"].append(source_row("s3", job_id="j9", name="Onsite"))
    report = import_migration(postgres_url, TARGET, write(tmp_path, rows))
    assert report.tables["stage"].emptied_references == 1
    assert query("SELECT job_id, name FROM stage WHERE source_id = 's3'") == [(None, "Onsite")]


def test_an_answer_of_no_application_stops_the_import_and_is_named(postgres_url: str, tmp_path: Path) -> None:
    rows = small_migration()
    rows["question_answer"].append(source_row("q9", application_id="a9", question="Q", answer="A"))
    with pytest.raises(OpenSums, match=r"question_answer: application_id names no application in rows q9"):
        import_migration(postgres_url, TARGET, write(tmp_path, rows))


def test_a_workspace_written_before_there_were_any_is_still_read(postgres_url: str, tmp_path: Path) -> None:
    workspace = write(tmp_path, small_migration())
    for name in NEW:
        workspace.table(name).unlink()
    report = import_migration(postgres_url, TARGET, workspace)
    assert [report.tables[name].staged for name in NEW] == [0, 0, 0, 0]
    assert verify(postgres_url, TARGET, workspace).passed


def test_the_dataset_has_them_with_their_types(postgres_url: str, tmp_path: Path) -> None:
    import_migration(postgres_url, TARGET, write(tmp_path / "work", small_migration()))
    counts = write_dataset(postgres_url, TARGET, tmp_path / "dataset")
    assert {name: counts[name] for name in NEW} == dict.fromkeys(NEW, 2)
    offers = pl.read_parquet(tmp_path / "dataset" / "offer" / "part-00000.parquet")
    assert offers.schema["starts_on"] == pl.Date
