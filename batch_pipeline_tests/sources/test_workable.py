"""The traps of Workable payloads, each with its right outcome."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from batch_pipeline_tests.sources.exports import notices, table
from batch_pipeline_tests.sources.payload_exports import read_payloads, write_lists


def candidate(
    name: str, full: str = "Ada Example", email: str | None = "ada@example.com", **more: Any
) -> dict[str, Any]:
    return {
        "id": name,
        "name": full,
        "email": email,
        "job": {"shortcode": "J1"},
        "stage": "Applied",
        "disqualified": False,
        "withdrew": False,
        "hired_at": None,
        "created_at": f"2026-01-{len(name):02}T08:00:00Z",
        "resume_url": None,
    } | more


def read(tmp_path: Path, *candidates: dict[str, Any], **lists: Any) -> Any:
    folder = write_lists(
        tmp_path / "in",
        candidates={"candidates": list(candidates), "paging": {}},
        jobs={"jobs": [{"shortcode": "J1", "title": "Engineer", "state": "published"}]},
        **lists,
    )
    return read_payloads("workable", folder, tmp_path / "out")


def people_of(tmp_path: Path) -> dict[str, str]:
    return dict(table(tmp_path / "out", "application").select("source_id", "person_id").iter_rows())


def test_one_address_and_name_is_one_person_however_written(tmp_path: Path) -> None:
    report = read(
        tmp_path,
        candidate("bb", "EXAMPLE, Adá", " Ada@Example.com "),
        candidate("a"),
        candidate("ccc"),
    )
    assert people_of(tmp_path) == {"bb": "a", "a": "a", "ccc": "a"}
    assert table(tmp_path / "out", "person").height == 1
    details = [one.detail for one in notices(report, "merged_records")]
    assert "records of one person" in details
    assert any("written differently" in one and "a" in one for one in details)
    assert "Example" not in str(report.notices)


def test_an_address_shared_by_different_names_is_several_people(tmp_path: Path) -> None:
    report = read(tmp_path, candidate("a"), candidate("bb", "Bea Other"))
    assert people_of(tmp_path) == {"a": "a", "bb": "bb"}
    assert notices(report, "possible_duplicates")[0].detail == "kept apart: a = bb"


def test_records_without_an_address_are_people_of_their_own(tmp_path: Path) -> None:
    read(tmp_path, candidate("a", email=None), candidate("bb", email=None), candidate("ccc", email=" "))
    assert people_of(tmp_path) == {"a": "a", "bb": "bb", "ccc": "ccc"}


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, "active"),
        ({"disqualified": True, "disqualified_at": "2026-02-01T00:00:00Z"}, "rejected"),
        ({"disqualified": True, "withdrew": True}, "withdrawn"),
        ({"hired_at": "2026-02-27"}, "hired"),
        ({"stage": "Ganz am Ende", "stage_kind": "hired"}, "hired"),
    ],
)
def test_the_kind_of_stage_and_not_its_name_tells_the_status(tmp_path: Path, given: Any, status: str) -> None:
    read(tmp_path, candidate("a", **given))
    assert table(tmp_path / "out", "application")["status"].to_list() == [status]


def test_a_hiring_day_without_a_zone_says_so(tmp_path: Path) -> None:
    read(tmp_path, candidate("a", hired_at="2026-02-27"))
    row = table(tmp_path / "out", "application").row(0, named=True)
    assert (row["hired_at"], row["tz_assumed"]) == (datetime(2026, 2, 27, tzinfo=UTC), True)


def test_the_resume_is_one_attachment_with_a_handle_and_no_link(tmp_path: Path) -> None:
    read(tmp_path, candidate("a", resume_url="https://storage.example.com/x/CV%20(1).pdf?sig=secret"))
    row = table(tmp_path / "out", "attachment").row(0, named=True)
    assert (row["file_name"], row["source_handle"], row["application_id"]) == (
        "CV (1).pdf",
        "candidates/a/resume",
        "a",
    )
    kept = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"secret" not in kept


def test_comments_are_private_notes_and_moves_are_structured(tmp_path: Path) -> None:
    activities = [
        {"id": "1", "action": "moved", "stage_name": "Onsite", "created_at": "2026-01-05T00:00:00Z"},
        {"id": "2", "action": "comment", "body": "<p>Strong</p>", "created_at": "2026-01-06T00:00:00Z"},
        {"id": "3", "action": "rating", "created_at": "2026-01-07T00:00:00Z"},
    ]
    report = read(tmp_path, candidate("a"), activities={"a": {"activities": activities}})
    move = table(tmp_path / "out", "stage_move").row(0, named=True)
    assert (move["source_id"], move["to_stage"], move["origin"]) == ("a/1", "Onsite", "structured")
    note = table(tmp_path / "out", "note").row(0, named=True)
    assert (note["body_text"], note["visibility"], note["person_id"]) == ("Strong", "private", "a")
    assert notices(report, "not_imported")[0].count == 1


def test_an_anonymised_record_is_an_erased_person(tmp_path: Path) -> None:
    gone = candidate("a", "Anonymized Candidate", None, resume_url="https://storage.example.com/x.pdf")
    read(tmp_path, gone)
    assert table(tmp_path / "out", "person")["erased_at"].null_count() == 0
    assert table(tmp_path / "out", "attachment").select("state", "file_name").rows() == [("erased", None)]


def test_records_with_the_parts_of_a_name_alone_are_told_apart_by_them(tmp_path: Path) -> None:
    shared = {"email": "family@example.com", "created_at": "2026-01-01T00:00:00Z", "job": {"shortcode": "J1"}}
    candidates = [
        shared | {"id": "a", "firstname": "Ada", "lastname": "Example"},
        shared | {"id": "b", "firstname": "Bea", "lastname": "Example"},
        shared | {"id": "c", "name": "Ada Example", "firstname": "Ada", "lastname": "Example"},
    ]
    folder = write_lists(tmp_path / "in", candidates={"candidates": candidates}, activities={})
    read_payloads("workable", folder, tmp_path / "out")
    assert table(tmp_path / "out", "person")["full_name"].to_list() == ["Ada Example", "Bea Example"]
