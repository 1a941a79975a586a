"""The traps of Lever payloads, each with its right outcome."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from batch_pipeline_tests.sources.exports import notices, table
from batch_pipeline_tests.sources.payload_exports import read_payloads, write_lists

REASONS = {
    "data": [
        {"id": "r1", "text": "Not enough experience", "type": "non-hired"},
        {"id": "r2", "text": "Hired", "type": "hired"},
    ]
}
STAGES = {"data": [{"id": "s1", "text": "Applied"}, {"id": "s2", "text": "Onsite"}]}
T0 = 1_768_205_100_000


def opportunity(name: str, /, contact: str | None = "c1", **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "contact": contact,
        "candidateId": name,
        "name": "Ada Example",
        "emails": ["ada@example.com"],
        "stage": "s1",
        "createdAt": T0,
        "updatedAt": None,
        "archived": None,
        "isAnonymized": False,
        "applications": [{"id": f"a-{name}", "opportunityId": name, "posting": "p1", "createdAt": T0}],
    } | more


def resume(name: str = "CV.pdf") -> dict[str, Any]:
    return {"data": [{"id": "res1", "createdAt": T0, "file": {"name": name, "downloadUrl": "https://x"}}]}


def read(tmp_path: Path, *opportunities: dict[str, Any], **lists: Any) -> Any:
    settings = {name: lists.pop(name) for name in ("expired_consent", "attachments") if name in lists}
    folder = write_lists(
        tmp_path / "in",
        opportunities={"data": list(opportunities)},
        archive_reasons=REASONS,
        stages=STAGES,
        postings={"data": [{"id": "p1", "text": "Engineer", "state": "published"}]},
        **lists,
    )
    return read_payloads("lever", folder, tmp_path / "out", **settings)


def test_candidacies_of_one_contact_are_one_person(tmp_path: Path) -> None:
    second = opportunity(
        "o2", emails=["ADA@example.com", "ada@home.example"], createdAt=T0 + 1000, name="Ada Newer"
    )
    read(tmp_path, opportunity("o1"), second)
    people = table(tmp_path / "out", "person")
    assert people.select("source_id", "full_name").rows() == [("c1", "Ada Newer")]
    assert [one["norm"] for one in json.loads(people["emails"][0])] == ["ada@example.com", "ada@home.example"]
    applications = table(tmp_path / "out", "application")
    assert applications.select("source_id", "person_id", "job_id", "sequence_no").rows() == [
        ("o1", "c1", "p1", 1),
        ("o2", "c1", "p1", 2),
    ]


@pytest.mark.parametrize("moment", [1_676_016_000_000, 1_676_016_000])
def test_milliseconds_and_seconds_are_told_apart_by_magnitude(tmp_path: Path, moment: int) -> None:
    read(tmp_path, opportunity("o1", createdAt=moment, applications=[]))
    row = table(tmp_path / "out", "application").row(0, named=True)
    assert row["applied_at"] == datetime(2023, 2, 10, 8, tzinfo=UTC)
    assert row["source_updated_at"] is None


@pytest.mark.parametrize(
    ("moment", "kind"), [(10**19, "unreadable_dates"), (-(10**12), "dates_out_of_range")]
)
def test_a_time_beyond_reason_is_flagged(tmp_path: Path, moment: int, kind: Any) -> None:
    report = read(tmp_path, opportunity("o1", updatedAt=moment))
    assert notices(report, kind)


def test_a_candidacy_made_after_it_was_read_is_flagged(tmp_path: Path) -> None:
    report = read(tmp_path, opportunity("o1", createdAt=1_900_000_000_000))
    assert ("application", "source_created_at lies ahead") in [
        (one.table, one.detail) for one in notices(report, "dates_out_of_range")
    ]


def test_stage_changes_may_go_back_and_start_as_a_lead(tmp_path: Path) -> None:
    changes = [
        {"toStageId": stage, "updatedAt": T0 + 1000 * step, "userId": "u1"}
        for step, stage in enumerate(("lead-new", "s2", "s1"))
    ]
    read(tmp_path, opportunity("o1", stageChanges=changes), users={"data": [{"id": "u1", "name": "Rae"}]})
    moves = table(tmp_path / "out", "stage_move").sort("moved_at")
    assert moves.select("from_stage", "to_stage", "actor", "origin").rows() == [
        (None, "lead-new", "Rae", "structured"),
        ("lead-new", "Onsite", "Rae", "structured"),
        ("Onsite", "Applied", "Rae", "structured"),
    ]


@pytest.mark.parametrize(
    ("reason", "status"), [("r1", "rejected"), ("r2", "hired"), ("unheard of", "rejected")]
)
def test_an_archive_reason_tells_rejected_from_hired(tmp_path: Path, reason: str, status: str) -> None:
    report = read(tmp_path, opportunity("o1", archived={"reason": reason, "archivedAt": T0}))
    row = table(tmp_path / "out", "application").row(0, named=True)
    assert row["status"] == status
    assert (row["rejected_at"] is None, row["hired_at"] is None) == (status == "hired", status != "hired")
    assert bool(notices(report, "unknown_values")) == (reason == "unheard of")


def test_a_resume_without_a_file_is_no_attachment(tmp_path: Path) -> None:
    listed = {"data": [{"id": "res9", "createdAt": T0, "file": None, "parsedData": {"positions": [{}]}}]}
    report = read(tmp_path, opportunity("o1"), resumes__o1=listed)
    assert table(tmp_path / "out", "attachment").height == 0
    assert notices(report, "without_file")[0].detail == "resumes without a file: res9"


def consent(until: int | None, *, allowed: bool = True) -> dict[str, Any]:
    return {"store": {"allowed": allowed, "expiresAt": until}, "contact": {"allowed": False}}


@pytest.mark.parametrize(
    ("protection", "state"),
    [
        (consent(1_798_675_200_000), "missing"),
        (consent(1_700_000_000_000), "erased"),
        (consent(1_798_675_200_000, allowed=False), "erased"),
        (consent(None, allowed=False), "erased"),
        (None, "missing"),
    ],
)
def test_files_of_people_whose_consent_ended_are_not_read(
    tmp_path: Path, protection: Any, state: str
) -> None:
    report = read(tmp_path, opportunity("o1", dataProtection=protection), resumes__o1=resume("Ada.pdf"))
    row = table(tmp_path / "out", "attachment").row(0, named=True)
    assert row["state"] == state
    assert row["file_name"] == (None if state == "erased" else "Ada.pdf")
    person = table(tmp_path / "out", "person").row(0, named=True)
    assert person["full_name"] == "Ada Example"
    assert person["is_private"] is (True if state == "erased" else None)
    assert [one.detail for one in notices(report, "consent_expired")] == (
        ["files not read, state erased: c1"] if state == "erased" else []
    )


def test_a_migration_may_empty_people_whose_consent_ended(tmp_path: Path) -> None:
    ended = opportunity("o1", dataProtection=consent(1_700_000_000_000))
    read(tmp_path, ended, expired_consent="erased")
    person = table(tmp_path / "out", "person").row(0, named=True)
    assert (person["full_name"], person["emails"]) == (None, None)
    assert person["erased_at"] == person["consent_until"]


def test_one_anonymised_candidacy_erases_the_person(tmp_path: Path) -> None:
    gone = opportunity("o2", isAnonymized=True, name="Anonymized Candidate", emails=[])
    report = read(tmp_path, opportunity("o1"), gone, resumes__o1=resume(), notes__o1={"data": [note("n")]})
    assert table(tmp_path / "out", "person")["full_name"].to_list() == [None]
    assert table(tmp_path / "out", "attachment")["state"].to_list() == ["erased"]
    assert table(tmp_path / "out", "note")["body_text"].to_list() == [None]
    assert table(tmp_path / "out", "application")["raw"].null_count() == 2
    assert notices(report, "erased_people")[0].count == 1


def note(name: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "text": "Strong",
        "fields": [],
        "secret": False,
        "createdAt": T0,
        "deletedAt": None,
    } | more


def test_secret_notes_are_private_and_deleted_ones_stay_away(tmp_path: Path) -> None:
    form = note("n4", text="Note", fields=[{"type": "note", "text": "Comment", "value": "in a field"}])
    listed = [note("n1"), note("n2", secret=True), note("n3", deletedAt=T0), form, note("n5", secret=None)]
    report = read(tmp_path, opportunity("o1"), notes={"o1": {"data": listed}})
    rows = table(tmp_path / "out", "note")
    assert rows.select("source_id", "visibility", "body_text").rows() == [
        ("n1", "public", "Strong"),
        ("n2", "private", "Strong"),
        ("n4", "public", "in a field"),
        ("n5", "private", "Strong"),
    ]
    assert rows["person_id"].unique().to_list() == ["c1"]
    assert notices(report, "deleted_rows")[0].count == 1


def test_feedback_lands_on_the_common_scale(tmp_path: Path) -> None:
    scores = ["1 - Strong No Hire", "2 - No Hire", "3 - Hire", "4 - Strong Hire", "banana"]
    forms = [
        {
            "id": f"f{number}",
            "createdAt": T0,
            "fields": [
                {"type": "score-system", "text": "Rating", "value": score},
                {"type": "textarea", "text": "Why", "value": "because"},
            ],
        }
        for number, score in enumerate(scores)
    ]
    report = read(tmp_path, opportunity("o1"), feedback__o1={"data": forms})
    rows = table(tmp_path / "out", "evaluation")
    assert rows["overall"].to_list() == [1, 2, 4, 5, None]
    assert rows["overall_raw"].to_list() == scores
    assert json.loads(rows["items"][0]) == [{"question": "Why", "answer": "because", "rating": None}]
    assert notices(report, "unknown_values")[0].count == 1


def test_an_opportunity_without_an_application_is_a_prospect(tmp_path: Path) -> None:
    read(tmp_path, opportunity("o1", applications=[], origin="sourced"), opportunity("o2", origin="referred"))
    rows = table(tmp_path / "out", "application").select("kind", "job_id").rows()
    assert rows == [("prospect", None), ("referred", "p1")]
