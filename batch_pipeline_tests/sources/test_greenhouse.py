"""The traps of Greenhouse payloads, each with its right outcome."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batch_pipeline.errors import ConfigurationError, SourceError
from batch_pipeline.sources.base import open_source
from batch_pipeline.sources.greenhouse_activity import Candidacy, parse_move
from batch_pipeline_tests.sources.exports import notices, table
from batch_pipeline_tests.sources.payload_exports import read_payloads, write_lists

LINK = "https://storage.example.com/a/{}?Signature=secret"
JOBS = [
    {"id": 100, "name": "Engineer", "status": "open"},
    {"id": 101, "name": "Data Engineer", "status": "open"},
]


def file(name: str, **more: Any) -> dict[str, Any]:
    return {
        "filename": name,
        "url": LINK.format(name),
        "type": "resume",
        "created_at": "2026-01-02T08:00:00Z",
    } | more


def application(number: int, candidate: int = 1, job: int | None = 100, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "candidate_id": candidate,
        "prospect": job is None,
        "applied_at": "2026-01-02T08:00:00Z",
        "status": "active",
        "jobs": [{"id": job}] if job else [],
        "attachments": [],
    } | more


def candidate(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "first_name": "Ada",
        "last_name": f"Example {number}",
        "created_at": "2026-01-01T00:00:00Z",
        "email_addresses": [{"value": f"ada{number}@example.com"}],
    } | more


def feed(*bodies: str, at: str = "2026-01-19T10:30:00Z") -> dict[str, Any]:
    activities = [
        {"id": number, "created_at": at, "subject": "Candidate Stage Change", "body": body}
        for number, body in enumerate(bodies, start=1)
    ]
    return {"notes": [], "emails": [], "activities": activities}


def test_a_file_listed_on_candidate_and_application_is_one_reference(tmp_path: Path) -> None:
    carried, own = file("CV.pdf"), file("older.pdf")
    folder = write_lists(
        tmp_path / "in",
        jobs=JOBS,
        applications=[application(10, attachments=[carried])],
        candidates=[candidate(1, attachments=[carried | {"created_at": None}, own])],
    )
    report = read_payloads("greenhouse", folder, tmp_path / "out")
    rows = table(tmp_path / "out", "attachment").select("file_name", "application_id", "person_id")
    assert rows.rows() == [("CV.pdf", "10", "1"), ("older.pdf", None, "1")]
    assert notices(report, "candidate_copy")[0].count == 1


def test_two_files_of_one_name_on_one_application_stay_two(tmp_path: Path) -> None:
    same = file("CV.pdf")
    folder = write_lists(
        tmp_path / "in",
        jobs=JOBS,
        applications=[application(10, attachments=[same, same | {"url": LINK.format("other.pdf")}])],
        candidates=[candidate(1)],
    )
    read_payloads("greenhouse", folder, tmp_path / "out")
    rows = table(tmp_path / "out", "attachment")
    assert rows["source_id"].n_unique() == rows["source_handle"].n_unique() == 2


def test_no_table_keeps_a_signed_link(tmp_path: Path) -> None:
    folder = write_lists(
        tmp_path / "in",
        jobs=JOBS,
        applications=[application(10, attachments=[file("CV.pdf")])],
        candidates=[candidate(1, attachments=[file("b.pdf")], photo_url=LINK.format("photo"))],
    )
    read_payloads("greenhouse", folder, tmp_path / "out")
    kept = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"secret" not in kept
    handle = table(tmp_path / "out", "attachment")["source_handle"][0]
    assert handle.startswith("applications/10?filename=CV.pdf&type=resume")


@pytest.mark.parametrize(
    ("note", "visibility"),
    [
        ({"visibility": "public", "private": False}, "public"),
        ({"visiblity": "admin_only"}, "admin_only"),
        ({"visiblity": "admin_only", "visibility": "public"}, "admin_only"),
        ({"visibility": "public", "private": True}, "private"),
        ({"visibility": "hr circle"}, "private"),
        ({}, "private"),
    ],
)
def test_a_note_is_as_visible_as_its_strictest_word(
    tmp_path: Path, note: dict[str, Any], visibility: str
) -> None:
    given_feed = {"notes": [{"id": 7, "created_at": "2026-01-02T08:00:00Z", "body": "<b>x</b>"} | note]}
    folder = write_lists(
        tmp_path / "in",
        candidates=[candidate(1)],
        applications=[application(10)],
        activity_feed__1=given_feed,
    )
    read_payloads("greenhouse", folder, tmp_path / "out")
    row = table(tmp_path / "out", "note").row(0, named=True)
    assert (row["visibility"], row["body_raw"], row["body_text"]) == (visibility, "<b>x</b>", "x")


def test_a_stage_change_in_prose_goes_to_the_job_it_names(tmp_path: Path) -> None:
    folder = write_lists(
        tmp_path / "in",
        jobs=JOBS,
        candidates=[candidate(1)],
        applications=[application(10, job=100), application(11, job=101)],
        activity_feed__1=feed(
            "Ada was moved into Screen for fit for Data Engineer on 01/19/2026 by Rae Recruiter",
            "Ada was moved into Offer for Engineer on 01/19/2026",
            "Ada was moved into Offer for a job that is gone on 01/19/2026 by Rae",
            "Ada changed stages somehow",
        ),
    )
    report = read_payloads("greenhouse", folder, tmp_path / "out")
    moves = table(tmp_path / "out", "stage_move").sort("source_id")
    assert moves.select("application_id", "to_stage", "actor", "origin").rows() == [
        ("10", "Offer", None, "parsed_from_text"),
        ("11", "Screen for fit", "Rae Recruiter", "parsed_from_text"),
    ]
    assert {one.detail: one.count for one in notices(report, "unmatched_moves")} == {
        "no application of that candidate fits": 1,
        "the sentence cannot be read": 1,
    }


def test_a_move_belongs_to_the_application_under_way_when_someone_applied_twice() -> None:
    def day(month: int) -> datetime:
        return datetime(2026, month, 10, tzinfo=UTC)

    twice = [Candidacy("old", "Engineer", day(1), day(3)), Candidacy("new", "Engineer", day(6), None)]
    body = "A was moved into Offer for Engineer on {:02}/10/2026 by B"
    found = {month: parse_move(body.format(month), day(month), twice) for month in (2, 7)}
    assert {month: move and move.application_id for month, move in found.items()} == {2: "old", 7: "new"}


@given(
    stage=st.from_regex(r"[A-Za-z][A-Za-z ]{0,20}[A-Za-z]", fullmatch=True),
    job=st.from_regex(r"[A-Za-z][A-Za-z ]{0,20}[A-Za-z]", fullmatch=True),
    person=st.text(min_size=1, max_size=20),
)
def test_stage_and_job_of_any_name_are_read_back(stage: str, job: str, person: str) -> None:
    at = datetime(2026, 5, 4, 12, tzinfo=UTC)
    body = f"{person.replace('was moved', '')} was moved into {stage} for {job} on 05/04/2026 by Rae"
    move = parse_move(body, at, [Candidacy("1", job, at, None)])
    assert move is not None
    assert (move.application_id, move.to_stage, move.moved_at, move.actor) == ("1", stage, at, "Rae")


def test_a_move_entered_days_later_has_the_day_it_names() -> None:
    at = datetime(2026, 5, 4, 12, tzinfo=UTC)
    move = parse_move("A was moved into B for C on 04/01/2026 by D", at, [Candidacy("1", "C", at, None)])
    assert move is not None
    assert (move.moved_at, move.day_only) == (datetime(2026, 4, 1, tzinfo=UTC), True)


def test_scorecards_land_on_one_scale_beside_their_own_words(tmp_path: Path) -> None:
    words = ["definitely_not", "no", "mixed", "yes", "strong_yes", "no_decision", "superb"]
    cards = [
        {
            "id": number,
            "application_id": 10,
            "overall_recommendation": word,
            "attributes": [{"name": "SQL", "rating": "yes", "note": "clear"}],
            "questions": [{"question": "Notice?", "answer": "3 months"}],
        }
        for number, word in enumerate(words)
    ]
    folder = write_lists(
        tmp_path / "in", candidates=[candidate(1)], applications=[application(10)], scorecards=cards
    )
    report = read_payloads("greenhouse", folder, tmp_path / "out")
    rows = table(tmp_path / "out", "evaluation")
    assert rows["overall"].to_list() == [1, 2, 3, 4, 5, None, None]
    assert rows["overall_raw"].to_list() == words
    assert json.loads(rows["items"][0]) == [
        {"question": "SQL", "answer": "clear", "rating": "yes"},
        {"question": "Notice?", "answer": "3 months", "rating": None},
    ]
    assert notices(report, "unknown_values")[0].count == 1


def test_a_prospect_has_no_job_whatever_jobs_it_is_considered_for(tmp_path: Path) -> None:
    prospect = application(10, job=None) | {"jobs": [{"id": 100}, {"id": 101}]}
    folder = write_lists(tmp_path / "in", jobs=JOBS, candidates=[candidate(1)], applications=[prospect])
    read_payloads("greenhouse", folder, tmp_path / "out")
    row = table(tmp_path / "out", "application").row(0, named=True)
    assert (row["kind"], row["job_id"]) == ("prospect", None)


def test_an_anonymised_person_keeps_an_application_and_nothing_personal(tmp_path: Path) -> None:
    gone = candidate(1, first_name="Anonymized", last_name=None, updated_at="2026-02-01T00:00:00Z")
    files = tmp_path / "files" / "10"
    files.mkdir(parents=True)
    (files / "Ada.pdf").write_bytes(b"%PDF-")
    folder = write_lists(
        tmp_path / "in",
        candidates=[gone],
        applications=[application(10, attachments=[file("Ada.pdf")])],
        activity_feed__1={"notes": [{"id": 1, "body": "about Ada", "created_at": "2026-01-02T08:00:00Z"}]},
    )
    report = read_payloads("greenhouse", folder, tmp_path / "out", attachments=str(tmp_path / "files"))
    person = table(tmp_path / "out", "person").row(0, named=True)
    assert person["erased_at"] == datetime(2026, 2, 1, tzinfo=UTC)
    assert (person["full_name"], person["emails"], person["raw"]) == (None, None, None)
    attachment = table(tmp_path / "out", "attachment").row(0, named=True)
    assert (attachment["state"], attachment["local_path"], attachment["file_name"]) == ("erased", None, None)
    assert table(tmp_path / "out", "note")["body_raw"].to_list() == [None]
    assert table(tmp_path / "out", "application")["source_id"].to_list() == ["10"]
    assert "Ada" not in str(report.notices)


def test_answers_to_equal_opportunity_questions_are_left_out_of_raw(tmp_path: Path) -> None:
    person = candidate(
        1,
        custom_fields={"gender": "x", "notice_period": "3 months"},
        keyed_custom_fields={"f": {"name": "Race", "value": "y"}},
        answers=[
            {"question": "Do you have a disability?", "answer": "z"},
            {"question": "Start?", "answer": "May"},
        ],
    )
    folder = write_lists(tmp_path / "in", candidates=[person], applications=[application(10)])
    report = read_payloads("greenhouse", folder, tmp_path / "out")
    raw = json.loads(table(tmp_path / "out", "person")["raw"][0])
    assert raw["custom_fields"] == {"notice_period": "3 months"}
    assert raw["answers"] == [{"question": "Start?", "answer": "May"}]
    assert notices(report, "sensitive_columns")
    read_payloads("greenhouse", folder, tmp_path / "kept", keep_fields=["gender"])
    assert json.loads(table(tmp_path / "kept", "person")["raw"][0])["custom_fields"]["gender"] == "x"


def test_a_status_no_map_knows_stays_null_and_is_said(tmp_path: Path) -> None:
    folder = write_lists(
        tmp_path / "in", candidates=[candidate(1)], applications=[application(10, status="parked")]
    )
    report = read_payloads("greenhouse", folder, tmp_path / "out")
    assert table(tmp_path / "out", "application")["status"].to_list() == [None]
    assert notices(report, "unknown_values")[0].detail == "status"


def test_a_layout_that_could_be_two_is_asked_about(tmp_path: Path) -> None:
    files = tmp_path / "files"
    for path in ("20/CV.pdf", "10/CV.pdf"):
        (files / path).parent.mkdir(parents=True)
        (files / path).write_bytes(b"%PDF-")
    listed = [
        {"id": 20, "application_id": 10, "candidate_id": 1, "type": "resume", "filename": "CV.pdf"},
        {"id": 30, "application_id": 20, "candidate_id": 1, "type": "resume", "filename": "CV.pdf"},
        {"id": 31, "application_id": 10, "candidate_id": 1, "type": "resume", "filename": "CV.pdf"},
    ]
    folder = write_lists(
        tmp_path / "in",
        candidates=[candidate(1)],
        applications=[application(10), application(20)],
        attachments=listed,
    )
    read_payloads("greenhouse", folder, tmp_path / "out", attachments=str(files))
    rows = table(tmp_path / "out", "attachment")
    assert [Path(one).parent.name for one in rows["local_path"]] == ["10", "20", "10"]
    (files / "30").mkdir()
    (files / "30" / "b.pdf").write_bytes(b"%PDF-")
    only = [listed[0], listed[1] | {"filename": "b.pdf"}, listed[2] | {"id": 32, "filename": "c.pdf"}]
    (files / "10" / "c.pdf").write_bytes(b"%PDF-")
    write_lists(folder, attachments=only)
    with pytest.raises(ConfigurationError, match=r"source\.attachment_path"):
        read_payloads("greenhouse", folder, tmp_path / "out", attachments=str(files))
    read_payloads(
        "greenhouse",
        folder,
        tmp_path / "out",
        attachments=str(files),
        attachment_path="{attachment_id}/{file_name}",
    )
    found = table(tmp_path / "out", "attachment")["local_path"]
    assert [one and Path(one).parent.name for one in found] == ["20", "30", None]


def test_without_a_folder_of_files_every_reference_is_missing_and_said(tmp_path: Path) -> None:
    folder = write_lists(
        tmp_path / "in",
        candidates=[candidate(1)],
        applications=[application(10, attachments=[file("a.pdf"), file("b.pdf")])],
    )
    report = read_payloads("greenhouse", folder, tmp_path / "out")
    assert table(tmp_path / "out", "attachment")["state"].to_list() == ["missing", "missing"]
    assert notices(report, "missing_files")[0].count == 2


def test_pages_in_a_folder_read_like_one_file(tmp_path: Path) -> None:
    people = [candidate(number) for number in range(5)]
    applications = [application(10 + number, candidate=number) for number in range(5)]
    one = write_lists(tmp_path / "one", candidates=people, applications=applications)
    many = write_lists(
        tmp_path / "many",
        candidates__000000=people[:2],
        candidates__000001={"data": people[2:]},
        applications__000000=applications[:4],
        applications__000001=applications[3:],
    )
    read_payloads("greenhouse", one, tmp_path / "a")
    report = read_payloads("greenhouse", many, tmp_path / "b")
    for entity in ("person", "application"):
        assert table(tmp_path / "a", entity).equals(table(tmp_path / "b", entity))
    assert notices(report, "duplicate_rows")[0].count == 1  # the page that shifted under the reader


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_half_an_emoji_and_a_byte_order_mark_do_not_stop_a_reading(tmp_path: Path, encoding: str) -> None:
    folder = write_lists(tmp_path / "in", applications=[application(10)])
    text = json.dumps([candidate(1, first_name="A\ud83d", title="\U0001f600")])
    (folder / "candidates.json").write_bytes(text.encode(encoding))
    read_payloads("greenhouse", folder, tmp_path / "out")
    person = table(tmp_path / "out", "person").row(0, named=True)
    assert person["given_name"] == "A\ufffd"
    assert json.loads(person["raw"])["title"] == "\U0001f600"


def test_a_page_that_is_cut_off_is_named_without_its_words(tmp_path: Path) -> None:
    folder = write_lists(tmp_path / "in", applications=[application(10)])
    (folder / "candidates.json").write_text('[{"id": 1, "first_name": "Zebedee"')
    with pytest.raises(SourceError, match=r"candidates\.json") as caught:
        read_payloads("greenhouse", folder, tmp_path / "out")
    assert "Zebedee" not in str(caught.value)


@pytest.mark.parametrize("broken", [{"first_name": "Zebedee"}, {"id": 1, "email_addresses": ["Zebedee"]}])
def test_an_object_of_another_shape_is_an_error_without_its_words(
    tmp_path: Path, broken: dict[str, Any]
) -> None:
    folder = write_lists(tmp_path / "in", candidates=[broken], applications=[application(10)])
    with pytest.raises(SourceError, match="not as greenhouse documents it") as caught:
        read_payloads("greenhouse", folder, tmp_path / "out")
    assert "Zebedee" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({}, "source"),
        ({"path": "x", "api": {"key_env": "KEY"}}, "source"),
        ({"api": {"key_env": "the key itself"}}, "source.api.key_env"),
        ({"api": {"key": "abc", "key_env": "KEY"}}, "source.api.key"),
        ({"api": {"key_env": "KEY"}, "attachments": "files"}, "source"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_source({"kind": "greenhouse"} | settings)
    assert caught.value.field == field


def test_the_lists_of_v3_say_what_v1_nests(tmp_path: Path) -> None:
    """Fields as the clients of v3 read them: ratings, answers, rejections and names are lists apart."""
    rated = {"scorecard_id": 5, "candidate_attribute_rating": "strong_yes", "note": "clear"}
    folder = write_lists(
        tmp_path / "in",
        jobs=[{"id": 100, "name": "Engineer", "status": "open", "department_id": 3, "office_ids": [4]}],
        departments=[{"id": 3, "name": "R&D"}],
        offices=[{"id": 4, "name": "Lisbon"}],
        candidates=[{"id": 1, "first_name": "Ada", "last_name": "L", "private": True, "tags": ["2026"]}],
        applications=[
            {
                "id": 10,
                "candidate_id": 1,
                "job_id": 100,
                "status": "in_process",
                "stage_id": 71,  # of application_stages; another list has this number too
                "stage_name": "Onsite",
                "created_at": "2026-01-02T08:00:00Z",
                "custom_fields": {"notice": {"name": "Notice", "type": "short_text", "value": "3 months"}},
            },
            {"id": 11, "candidate_id": 1, "job_id": 100, "status": "rejected", "prospect": False},
        ],
        application_stages=[
            {
                "id": 71,
                "application_id": 10,
                "job_interview_stage_id": 8,
                "entered_at": "2026-01-03T08:00:00Z",
            },
            {"id": 72, "application_id": 10, "job_interview_stage_id": 9, "entered_at": None},
        ],
        job_interview_stages=[
            {"id": 8, "job_id": 100, "name": "Onsite", "sort_order": 1, "active": True},
            {"id": 71, "job_id": 100, "name": "Review", "sort_order": 0, "active": True},
        ],
        rejection_reasons=[{"id": 9, "name": "Not now", "type": {"key": "WE_REJECTED_THEM"}}],
        rejection_details=[{"id": 1, "application_id": 11, "rejection_reason_id": 9}],
        users=[{"id": 301, "first_name": "Rae", "last_name": "Recruiter"}],
        notes=[
            {"id": number, "candidate_id": 1, "type": "NOTE", "body": "x", "visibility": seen}
            for number, seen in enumerate(("admin_only_visible", "privately_visible", "publicly_visible"))
        ],
        scorecards=[
            {
                "id": 5,
                "application_id": 10,
                "interviewer_id": 301,
                "candidate_rating": "strong_no",
                "status": "complete",
                "submitted_at": "2026-01-04T08:00:00Z",
                "private_notes": "Asked for more",
            },
            {"id": 6, "application_id": 10, "candidate_rating": None, "status": "draft"},
        ],
        scorecard_candidate_attributes=[{"id": 1, "job_candidate_attribute_id": 900, **rated}],
        job_candidate_attributes=[{"id": 900, "name": "SQL"}],
        scorecard_questions=[
            {"id": 1, "question": "<p>Notice &amp; start?</p>", "answer_type": "text"},
            {"id": 2, "question": "Would travel?", "answer_type": "yes_no"},
            {"id": 3, "question": "Team?", "answer_type": "multi_select"},
        ],
        scorecard_question_answers=[
            {"id": 21, "scorecard_id": 5, "scorecard_question_id": 1, "answer": "3 months"},
            {"id": 22, "scorecard_id": 5, "scorecard_question_id": 2, "boolean_value": False},
            {"id": 23, "scorecard_id": 5, "scorecard_question_id": 3},
            {"id": 24, "scorecard_id": 5, "scorecard_question_id": 1, "answer": None},
        ],
        scorecard_question_options=[{"id": 31, "name": "Core"}, {"id": 32, "name": "Data"}],
        scorecard_question_answer_options=[
            {"id": 1, "scorecard_question_answer_id": 23, "scorecard_question_option_id": 31},
            {"id": 2, "scorecard_question_answer_id": 23, "scorecard_question_option_id": 32},
        ],
        offers=[
            {
                "id": 1,
                "application_id": 10,
                "status": "Accepted",
                "sent_on": "2026-02-01",
                "starts_on": "2026-03-01",
                "resolved_at": "2026-02-03T10:00:00Z",
            }
        ],
    )
    report = read_payloads("greenhouse", folder, tmp_path / "out")
    out = tmp_path / "out"
    job = table(out, "job").row(0, named=True)
    assert (job["department"], job["location"]) == ("R&D", "Lisbon")
    first, second = table(out, "application").sort("source_id").iter_rows(named=True)
    assert (first["status"], first["current_stage"]) == ("active", "Onsite")
    assert first["hired_at"] == datetime(2026, 2, 3, 10, tzinfo=UTC)
    assert (second["status"], second["reject_reason"]) == ("rejected", "Not now")
    assert table(out, "stage_move")["to_stage"].to_list() == ["Onsite"]
    assert table(out, "stage").sort("position")["name"].to_list() == ["Review", "Onsite"]
    assert table(out, "person")["is_private"].to_list() == [True]
    assert table(out, "tag")["name"].to_list() == ["2026"]
    assert table(out, "question_answer")["answer"].to_list() == ["3 months"]
    assert table(out, "note")["visibility"].to_list() == ["admin_only", "private", "public"]
    offer = table(out, "offer").row(0, named=True)
    assert (offer["status"], str(offer["starts_on"]), offer["sent_at"].day) == ("accepted", "2026-03-01", 1)
    card = table(out, "evaluation").row(0, named=True)
    assert (card["source_id"], card["overall"], card["overall_raw"]) == ("5", 1, "strong_no")
    assert card["author"] == "Rae Recruiter"
    assert json.loads(card["items"]) == [
        {"question": "Private notes", "answer": "Asked for more", "rating": None},
        {"question": "SQL", "answer": "clear", "rating": "strong_yes"},
        {"question": "Notice & start?", "answer": "3 months", "rating": None},
        {"question": "Would travel?", "answer": "No", "rating": None},
        {"question": "Team?", "answer": "Core, Data", "rating": None},
    ]
    left = {one.detail for one in notices(report, "not_imported")}
    assert left == {"scorecards that are still drafts", "stages without a time of entering"}
    assert not notices(report, "unknown_values")
    assert not notices(report, "unused_file")


def test_lists_of_one_object_a_line_read_like_arrays(tmp_path: Path) -> None:
    folder = write_lists(tmp_path / "in", applications=[application(10)])
    lines = "\n".join(json.dumps(candidate(number)) for number in (1, 2))
    (folder / "candidates.json").write_text(lines + "\n")
    assert read_payloads("greenhouse", folder, tmp_path / "out").counts["person"] == 2
