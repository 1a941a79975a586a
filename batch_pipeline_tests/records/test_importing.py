"""A migration lands whole, once, and as its workspace holds it."""

from dataclasses import replace
from pathlib import Path

import pytest

from batch_pipeline.errors import OpenSums, TerminalError, TransientError
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.target import Target
from batch_pipeline.records.verify import verify
from batch_pipeline_tests.records.conftest import Query
from batch_pipeline_tests.records.rows import RESUME, answer, md5_of, small_migration, source_row, write

pytestmark = pytest.mark.servers

TARGET = Target("acme", "csv", "acme-2026")


def test_every_row_lands_in_its_table(postgres_url: str, tmp_path: Path, query: Query) -> None:
    report = import_migration(postgres_url, TARGET, write(tmp_path, small_migration()))
    assert {name: count.inserted for name, count in report.tables.items()} == {
        "person": 2,
        "job": 1,
        "stage": 2,
        "application": 3,
        "tag": 2,
        "offer": 2,
        "question_answer": 2,
        "stage_move": 1,
        "note": 2,
        "evaluation": 1,
        "document": 3,
        "attachment": 5,
        "cv_link": 3,
        "parsed_cv": 1,
        "parsed_cv_work": 2,
        "parsed_cv_education": 1,
        "parsed_cv_skill": 1,
        "parsed_cv_language": 1,
    }
    assert query("SELECT DISTINCT tenant, source_system, migration FROM attachment") == [
        ("acme", "csv", "acme-2026")
    ]
    assert query("SELECT body_text FROM note WHERE source_id = 'n1'") == [('kind\nof, "good"',)]
    assert query(
        "SELECT position, company, job_title, end_date, highlights FROM parsed_cv_work ORDER BY 1"
    ) == [
        (0, "Contoso", "Engineer", None, ["Built a thing"]),
        (1, "Fabrikam", "Trainee", "2019-12", None),
    ]


def test_one_cv_answers_for_every_application_it_was_sent_with(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    import_migration(postgres_url, TARGET, write(tmp_path, small_migration()))
    found = query(
        "SELECT l.application_id, c.json_resume FROM cv_link l"
        " JOIN parsed_cv c ON c.tenant = l.tenant AND c.md5 = l.document_md5 ORDER BY 1"
    )
    assert found == [("a1", RESUME), ("a2", RESUME)]


def test_a_failed_cv_has_no_parsed_row_and_says_why(postgres_url: str, tmp_path: Path, query: Query) -> None:
    import_migration(postgres_url, TARGET, write(tmp_path, small_migration()))
    assert query("SELECT md5 FROM parsed_cv") == [(md5_of("cv"),)]
    assert query("SELECT parse_status, parse_reason FROM document WHERE md5 = %s", md5_of("second cv")) == [
        ("failed", "truncated")
    ]
    assert query("SELECT verdict, reason, parse_status FROM document WHERE md5 = %s", md5_of("letter")) == [
        ("not_a_cv", "cover_letter", None)
    ]


def test_a_rerun_touches_no_row(postgres_url: str, tmp_path: Path, query: Query) -> None:
    workspace = write(tmp_path, small_migration())
    first = import_migration(postgres_url, TARGET, workspace)
    tables = list(first.tables)
    versions = {table: query(f"SELECT xmin, xmax, ctid FROM {table} ORDER BY ctid") for table in tables}
    second = import_migration(postgres_url, TARGET, workspace)
    assert second.changed == 0
    assert {name: count.unchanged for name, count in second.tables.items()} == {
        name: count.inserted for name, count in first.tables.items()
    }
    assert {
        table: query(f"SELECT xmin, xmax, ctid FROM {table} ORDER BY ctid") for table in tables
    } == versions


def test_only_what_changed_is_written(postgres_url: str, tmp_path: Path, query: Query) -> None:
    rows = small_migration()
    import_migration(postgres_url, TARGET, write(tmp_path, rows))
    rows["application"][1]["status"] = "hired"
    rows["parsed"][1] = answer("second cv", {"work": [{"name": "Contoso"}]})
    report = import_migration(postgres_url, TARGET, write(tmp_path, rows))
    assert {
        name: (count.inserted, count.updated, count.removed)
        for name, count in report.tables.items()
        if count.inserted or count.updated or count.removed
    } == {
        "application": (0, 1, 0),
        "document": (0, 1, 0),
        "parsed_cv": (1, 0, 0),
        "parsed_cv_work": (1, 0, 0),
    }


def test_a_delta_updates_what_changed_adds_what_is_new_and_touches_nothing_else(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    import_migration(postgres_url, TARGET, write(tmp_path / "first", rows))
    before = {row[0]: row[1:] for row in query("SELECT source_id, xmin, status FROM application")}
    rows["application"][1]["status"] = "hired"
    rows["application"].append(source_row("a4", person_id="p1", job_id="j1", status="active", sequence_no=3))
    rows["note"] = []  # the second export leaves them out: they stay
    delta = replace(TARGET, migration="acme-delta")
    report = import_migration(postgres_url, delta, write(tmp_path / "second", rows, "acme-delta"))
    changed = {
        name: (count.inserted, count.updated, count.removed)
        for name, count in report.tables.items()
        if count.inserted or count.updated or count.removed
    }
    assert changed == {"application": (1, 1, 0)}
    after = {row[0]: row[1:] for row in query("SELECT source_id, xmin, status FROM application")}
    assert {name: after[name] for name in ("a1", "a3")} == {name: before[name] for name in ("a1", "a3")}
    assert (after["a2"][1], after["a4"][1]) == ("hired", "active")
    assert query("SELECT count(*) FROM note") == [(2,)]
    assert query("SELECT migration FROM application WHERE source_id = 'a2'") == [(TARGET.migration,)]


def test_rows_of_before_that_a_later_export_does_not_name_stay_and_are_counted(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    first = import_migration(postgres_url, TARGET, write(tmp_path / "first", rows))
    assert {count.not_named for count in first.tables.values()} == {0}
    rows["application"] = [row for row in rows["application"] if row["source_id"] != "a3"]
    later = replace(TARGET, migration="acme-delta")
    report = import_migration(postgres_url, later, write(tmp_path / "second", rows, "acme-delta"))
    assert {name: count.not_named for name, count in report.tables.items() if count.not_named} == {
        "application": 1
    }
    assert query("SELECT migration FROM application WHERE source_id = 'a3'") == [(TARGET.migration,)]


def test_what_the_workspace_no_longer_holds_is_removed(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    import_migration(postgres_url, TARGET, write(tmp_path, rows))
    rows["parsed"][0] = answer("cv", {"work": [{"name": "Contoso"}]})
    rows["attachments"] = [row for row in rows["attachments"] if row["source_id"] != "t4"]
    rows["links"] = [row for row in rows["links"] if row["attachment_id"] != "t4"]
    rows["documents"] = [row for row in rows["documents"] if row["md5"] != md5_of("second cv")]
    rows["parsed"] = rows["parsed"][:1]
    report = import_migration(postgres_url, TARGET, write(tmp_path, rows))
    assert {name: count.removed for name, count in report.tables.items() if count.removed} == {
        "attachment": 1,
        "cv_link": 1,
        "document": 1,
        "parsed_cv_work": 1,
        "parsed_cv_education": 1,
        "parsed_cv_skill": 1,
        "parsed_cv_language": 1,
    }
    assert query("SELECT company FROM parsed_cv_work") == [("Contoso",)]


def test_an_erased_person_leaves_no_personal_data(postgres_url: str, tmp_path: Path, query: Query) -> None:
    import_migration(postgres_url, TARGET, write(tmp_path, small_migration()))
    assert query("SELECT full_name, emails, raw FROM person WHERE source_id = 'p2'") == [(None, None, None)]
    assert query("SELECT body_text, raw, visibility FROM note WHERE source_id = 'n2'") == [
        (None, None, "public")
    ]
    assert query("SELECT file_name, raw, state FROM attachment WHERE source_id = 't5'") == [
        (None, None, "erased")
    ]
    assert query("SELECT raw FROM application WHERE source_id = 'a3'") == [(None,)]


def test_a_row_that_names_nobody_stops_everything_and_is_named(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    rows["application"].append(source_row("a9", person_id="p9"))
    with pytest.raises(OpenSums, match="person_id names no person in rows a9"):
        import_migration(postgres_url, TARGET, write(tmp_path, rows))
    assert query("SELECT count(*) FROM person") == [(0,)]


def test_a_key_that_stands_twice_is_named(postgres_url: str, tmp_path: Path) -> None:
    rows = small_migration()
    rows["job"].append(source_row("j1", title="Another"))
    with pytest.raises(TerminalError, match="table job: keys staged twice: j1"):
        import_migration(postgres_url, TARGET, write(tmp_path, rows))


def test_errors_quote_no_value(postgres_url: str, tmp_path: Path) -> None:
    rows = small_migration()
    rows["person"][0]["emails"] = "imogen.secret@example.com"
    with pytest.raises(TerminalError, match="table person") as caught:
        import_migration(postgres_url, TARGET, write(tmp_path, rows))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_file_never_empties_a_table(postgres_url: str, tmp_path: Path, query: Query) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, TARGET, workspace)
    workspace.table("note").unlink()
    with pytest.raises(TerminalError, match=r"note\.parquet"):
        import_migration(postgres_url, TARGET, workspace)
    assert query("SELECT count(*) FROM note") == [(2,)]


def test_two_tenants_never_meet(postgres_url: str, tmp_path: Path, query: Query) -> None:
    workspace = write(tmp_path, small_migration())
    import_migration(postgres_url, TARGET, workspace)
    report = import_migration(
        postgres_url, replace(TARGET, tenant="other", migration="other-2026"), workspace
    )
    assert report.tables["document"].inserted == 3
    assert query("SELECT tenant, count(*) FROM cv_link GROUP BY 1 ORDER BY 1") == [("acme", 3), ("other", 3)]


def test_no_column_says_which_route_an_answer_took(postgres_url: str, tmp_path: Path, query: Query) -> None:
    import_migration(postgres_url, TARGET, write(tmp_path, small_migration()))
    columns = {
        name
        for (name,) in query(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'recruiting'"
        )
    }
    assert not {name for name in columns if "route" in name or "batch" in name or "provider" in name}


def test_progress_counts_up_to_the_total(postgres_url: str, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    import_migration(
        postgres_url, TARGET, write(tmp_path, small_migration()), lambda *progress: seen.append(progress)
    )
    assert ("attachment", 5, 5) in seen


def test_an_unreachable_server_is_a_matter_of_time(tmp_path: Path) -> None:
    with pytest.raises(TransientError):
        import_migration("postgresql://postgres@127.0.0.1:1/x", TARGET, write(tmp_path, small_migration()))


def test_a_deleted_job_empties_the_reference_and_keeps_the_application(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    rows["application"][0]["job_id"] = "deleted"
    workspace = write(tmp_path, rows)
    report = import_migration(postgres_url, TARGET, workspace)
    assert report.tables["application"].emptied_references == 1
    assert query("SELECT job_id FROM application WHERE source_id = 'a1'") == [(None,)]
    assert import_migration(postgres_url, TARGET, workspace).changed == 0
    assert verify(postgres_url, TARGET, workspace).passed


def test_a_migration_without_any_answer_lands_too(postgres_url: str, tmp_path: Path, query: Query) -> None:
    workspace = write(tmp_path, small_migration())
    (workspace.parsed / "part-0.parquet").unlink()
    report = import_migration(postgres_url, TARGET, workspace)
    assert report.tables["document"].inserted == 3
    assert report.tables["parsed_cv"].staged == 0
