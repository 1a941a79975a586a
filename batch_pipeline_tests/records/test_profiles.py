"""The source's word wins; what it does not say is filled from the newest CV, and says so."""

from pathlib import Path

import pytest

from batch_pipeline.records.erase_person import erase_person
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.target import Target
from batch_pipeline_tests.records.conftest import Query
from batch_pipeline_tests.records.rows import NOON, answer, md5_of, small_migration, source_row, write

pytestmark = pytest.mark.servers

TARGET = Target("acme", "csv", "acme-2026")
BASICS = {
    "name": "Somebody Else",
    "email": "Wrong@ocr.example",  # what a scan read in place of the real one
    "phone": "+44 20 7946 0018",
    "location": {"city": "Leeds", "countryCode": "GB"},
    "label": "Engineer",
}


def test_the_source_wins_and_the_cv_fills_gaps_and_says_so(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    rows["person"].append(source_row("p3", full_name="No CV"))
    rows["parsed"] = [answer("cv", {"basics": BASICS}), answer("second cv", None)]
    import_migration(postgres_url, TARGET, write(tmp_path, rows))
    columns = "full_name, full_name_from, emails #>> '{0,raw}', emails_from, phones #>> '{0,raw}', phones_from, location, location_from, headline"
    found = query(f"SELECT source_id, {columns} FROM person_profile ORDER BY 1")
    assert found[0] == (
        *("p1", "Imogen Example", "source", "i@example.com", "source"),
        *("+44 20 7946 0018", "cv", "Leeds, GB", "cv", "Engineer"),
    )
    assert found[1] == ("p2", *[None] * 9)  # erased
    assert found[2] == ("p3", "No CV", "source", *[None] * 7)
    assert query("SELECT emails #>> '{0,raw}' FROM person WHERE source_id = 'p1'") == [("i@example.com",)]


def test_the_newest_cv_is_the_persons_and_the_older_stays_on_its_application(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    for attachment in rows["attachments"]:
        if attachment["source_id"] == "t1":
            attachment["source_created_at"] = NOON.replace(year=2020)
    rows["parsed"] = [answer("cv", {"basics": BASICS}), answer("second cv", {"basics": {"label": "Lead"}})]
    import_migration(postgres_url, TARGET, write(tmp_path, rows))
    assert query("SELECT person_id, attachment_id FROM person_latest_cv") == [("p1", "t4")]
    assert query("SELECT headline, cv_md5 FROM person_profile WHERE source_id = 'p1'") == [
        ("Lead", md5_of("second cv"))
    ]
    assert query("SELECT document_md5 FROM cv_link WHERE application_id = 'a1'") == [(md5_of("cv"),)]
    erase_person(postgres_url, TARGET, "p1")
    assert query("SELECT full_name, emails, headline FROM person_profile WHERE source_id = 'p1'") == [
        (None, None, None)
    ]
    assert query("SELECT * FROM person_latest_cv") == []
