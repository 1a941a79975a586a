"""An open sum names its rows."""

from pathlib import Path

import pytest

from batch_pipeline.errors import OpenSums
from batch_pipeline.records.sums import check, require_closed
from batch_pipeline_tests.records.rows import Row, answer, md5_of, small_migration, write


def open_rows(root: Path, rows: dict[str, list[Row]]) -> dict[str, tuple[str, ...]]:
    return {found.name: found.open_rows for found in check(write(root, rows)) if not found.closes}


def test_a_whole_migration_closes(tmp_path: Path) -> None:
    sums = check(write(tmp_path, small_migration()))
    assert [(found.left, found.right) for found in sums] == [(5, 5), (4, 4), (2, 2), (3, 3)]
    require_closed(sums)


def test_an_attachment_without_a_final_state_is_open(tmp_path: Path) -> None:
    rows = small_migration()
    rows["attachments"][4]["state"] = "pending"
    assert open_rows(tmp_path, rows) == {
        "attachments = fetched + missing + download_failed + erased": ("t5",)
    }


def test_a_file_nobody_judged_is_open(tmp_path: Path) -> None:
    rows = small_migration()
    rows["documents"] = [row for row in rows["documents"] if row["verdict"] == "cv"]
    assert open_rows(tmp_path, rows) == {"fetched = cv + not_a_cv + quarantined": ("t3",)}


@pytest.mark.parametrize(
    "parsed", [[answer("cv", {})], [answer("cv", {}), answer("second cv", {}), answer("second cv", None)]]
)
def test_a_cv_without_one_answer_is_open(tmp_path: Path, parsed: list[Row]) -> None:
    rows = small_migration() | {"parsed": parsed}
    assert open_rows(tmp_path, rows) == {"cv documents = parsed + failed": (md5_of("second cv"),)}


def test_a_lost_link_and_a_foreign_link_are_open(tmp_path: Path) -> None:
    rows = small_migration()
    rows["links"][0]["application_id"] = "a3"
    assert open_rows(tmp_path, rows) == {"links = cv attachments x their applications": ("t1/a1", "t1/a3")}


def test_a_persons_file_must_reach_one_of_their_applications(tmp_path: Path) -> None:
    rows = small_migration()
    rows["attachments"][0]["application_id"] = None
    assert open_rows(tmp_path, rows) == {}
    rows["links"] = rows["links"][1:]
    assert open_rows(tmp_path, rows) == {"links = cv attachments x their applications": ("t1/-",)}


def test_open_sums_stop_with_their_rows(tmp_path: Path) -> None:
    rows = small_migration()
    rows["parsed"] = []
    with pytest.raises(OpenSums, match=md5_of("cv")):
        require_closed(check(write(tmp_path, rows)))
