"""What a row costs does not grow with the migration."""

from pathlib import Path

import pytest

from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.rollback import rollback
from batch_pipeline.records.target import Target
from batch_pipeline_tests.records.conftest import Query
from batch_pipeline_tests.records.rows import md5_of, small_migration, source_row, write

pytestmark = pytest.mark.servers

TARGET = Target("acme", "csv", "acme-2026")
APPLICATIONS = 4000


def test_no_row_makes_the_server_read_the_whole_tenant(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    numbers = range(APPLICATIONS)
    rows["person"] += [source_row(f"x{number}") for number in numbers]
    rows["application"] += [
        source_row(f"x{number}", person_id=f"x{number}", job_id="j1") for number in numbers
    ]
    rows["stage_move"] += [source_row(f"x{number}", application_id=f"x{number}") for number in numbers]
    rows["attachments"] += [
        source_row(
            f"x{number}",
            person_id=f"x{number}",
            application_id=f"x{number}",
            state="fetched",
            document_md5=md5_of("letter"),
            parent_attachment_id="t3" if number % 2 else None,
        )
        for number in numbers
    ]
    workspace = write(tmp_path, rows)
    for _ in range(2):
        import_migration(postgres_url, TARGET, workspace)
    rollback(postgres_url, TARGET)
    read: dict[str, int] = dict(
        query(
            "SELECT relname, coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes"
            " WHERE schemaname = 'recruiting' GROUP BY relname"
        )
    )
    scanned: dict[str, int] = dict(
        query("SELECT relname, seq_tup_read FROM pg_stat_user_tables WHERE schemaname = 'recruiting'")
    )
    for table in ("person", "application", "stage_move", "attachment"):
        assert read[table] < 60 * APPLICATIONS, table
        assert scanned[table] < 20 * APPLICATIONS, table
