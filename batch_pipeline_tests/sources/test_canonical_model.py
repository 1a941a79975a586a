"""Stages, tags, offers and answers of every source, and what of them belongs to nobody else's eyes."""

import json
from datetime import date
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

from batch_pipeline.documents.reasons import Reason
from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.attachment_fetching import Why
from batch_pipeline.sources.canonical import ENTITIES, SCHEMAS, Entity
from batch_pipeline_tests.sources.exports import notices, read, table, write
from batch_pipeline_tests.sources.payload_exports import read_payloads, write_lists

T0 = 1_768_205_100_000
ANSWERS = [{"question": "Why us?", "answer": "The work"}, {"question": "Your gender", "answer": "x"}]
FIELDS = {
    "notice": {"name": "Notice", "type": "single_select", "value": "3 months"},
    "remote": {"name": "Remote", "type": "yes_no", "value": False},
    "empty": {"name": "Empty", "type": "short_text", "value": None},
    "custom_9": {"name": "Disability", "type": "yes_no", "value": True},
}


def greenhouse(folder: Path, **more: Any) -> Path:
    lists: dict[str, Any] = {
        "jobs": [{"id": 100, "name": "Engineer", "status": "open"}],
        "job_stages": [
            {"id": 51, "name": "Applied", "job_id": 100, "priority": 0, "interviews": [{"id": 1}]},
            {"id": 52, "name": "Onsite", "job_id": 100, "priority": 1},
        ],
        "candidates": [
            {"id": 1, "first_name": "Ada", "last_name": "Example", "tags": ["Python", " ", "SQL"]}
        ],
        "applications": [
            {
                "id": 10,
                "candidate_id": 1,
                "status": "active",
                "jobs": [{"id": 100}],
                "answers": ANSWERS,
                "keyed_custom_fields": FIELDS,
            }
        ],
        "offers": [
            {
                "id": 7,
                "version": 2,
                "application_id": 10,
                "status": "unresolved",
                "created_at": "2026-02-01T08:00:00Z",
                "sent_at": "2026-02-03",
                "starts_at": "2026-03-01",
                "keyed_custom_fields": {"salary": {"name": "Salary", "type": "currency", "value": 42000}},
            }
        ],
    }
    return write_lists(folder, **(lists | more))


def test_greenhouse_gives_stages_tags_offers_and_answers(tmp_path: Path) -> None:
    report = read_payloads("greenhouse", greenhouse(tmp_path / "in"), tmp_path / "out")
    out = tmp_path / "out"
    stages = table(out, "stage").select("source_id", "job_id", "name", "position").rows()
    assert stages == [("100/51", "100", "Applied", 0), ("100/52", "100", "Onsite", 1)]
    assert "interviews" not in str(table(out, "stage")["raw"].to_list())
    assert table(out, "tag").select("person_id", "application_id", "name").rows() == [
        ("1", None, "Python"),
        ("1", None, "SQL"),
    ]
    offer = table(out, "offer").row(0, named=True)
    assert (offer["source_id"], offer["application_id"], offer["status"]) == ("7", "10", "open")
    assert (str(offer["sent_at"]), offer["starts_on"]) == ("2026-02-03 00:00:00+00:00", date(2026, 3, 1))
    assert json.loads(offer["details"])["keyed_custom_fields"]["salary"]["value"] == 42000
    answers = table(out, "question_answer").select("question", "answer", "kind").rows()
    assert answers == [
        ("Why us?", "The work", "screening"),
        ("Notice", "3 months", "custom_field"),
        ("Remote", "false", "custom_field"),
    ]
    assert not notices(report, "unused_file")


def test_answers_to_sensitive_questions_are_nowhere(tmp_path: Path) -> None:
    report = read_payloads("greenhouse", greenhouse(tmp_path / "in"), tmp_path / "out")
    for entity in ENTITIES:
        text = str(table(tmp_path / "out", entity).to_dicts())
        assert "Disability" not in text
        assert "gender" not in text
    assert (
        sum(one.count for one in notices(report, "sensitive_columns") if one.table == "question_answer") == 2
    )


def test_a_person_may_allow_a_sensitive_question(tmp_path: Path) -> None:
    folder = greenhouse(tmp_path / "in")
    read_payloads("greenhouse", folder, tmp_path / "out", keep_fields=["Disability"])
    assert "Disability" in table(tmp_path / "out", "question_answer")["question"].to_list()


@pytest.mark.parametrize("entity", ["tag", "offer", "question_answer"])
def test_what_belongs_to_an_erased_person_is_emptied(tmp_path: Path, entity: Entity) -> None:
    gone = [{"id": 1, "first_name": "Anonymized", "tags": ["Python"]}]
    read_payloads("greenhouse", greenhouse(tmp_path / "in", candidates=gone), tmp_path / "out")
    rows = table(tmp_path / "out", entity)
    column = {"tag": "name", "offer": "details", "question_answer": "answer"}[entity]
    assert rows.height
    assert rows[column].null_count() == rows["raw"].null_count() == rows.height


def test_ids_that_are_made_stay_when_an_answer_changes(tmp_path: Path) -> None:
    first = greenhouse(tmp_path / "a")
    changed = {"question": "Why us?", "answer": "The people"}
    applications = json.loads((first / "applications.json").read_text())
    applications[0]["answers"][0] = changed
    second = greenhouse(tmp_path / "b", applications=applications)
    for folder in (first, second):
        read_payloads("greenhouse", folder, folder / "out")
    before, after = (table(folder / "out", "question_answer") for folder in (first, second))
    assert before["source_id"].to_list() == after["source_id"].to_list()
    assert before["answer"].to_list() != after["answer"].to_list()


def test_lever_gives_stages_tags_offers_and_answers(tmp_path: Path) -> None:
    form = {
        "id": "f1",
        "text": "Questions",
        "createdAt": T0,
        "fields": [
            {"type": "textarea", "text": "Why us?", "value": "The work"},
            {"type": "multiple-select", "text": "Languages", "value": ["de", "en"]},
            {"type": "text", "text": "Left empty", "value": ""},
        ],
    }
    folder = write_lists(
        tmp_path / "in",
        postings=[{"id": "p1", "text": "Engineer"}],
        stages=[{"id": "s1", "text": "Applied"}, {"id": "s2", "text": "Offer"}],
        opportunities=[
            {
                "id": "o1",
                "contact": "c1",
                "createdAt": T0,
                "tags": ["Berlin"],
                "applications": [{"id": "a1", "type": "posting", "posting": "p1", "customQuestions": [form]}],
            },
            {"id": "o2", "contact": "c1", "createdAt": T0, "tags": ["Berlin"], "applications": []},
        ],
        offers__o1={
            "data": [
                {
                    "id": "of1",
                    "status": "signed",
                    "createdAt": T0,
                    "sentAt": T0,
                    "signatures": {"candidate": {"signed": True, "signedAt": T0 + 1000}},
                    "fields": [{"text": "Start date", "identifier": "start_date", "value": T0}],
                    "sentDocument": {"fileName": "o.pdf", "downloadUrl": "https://x.example.com/o?sig=1"},
                }
            ]
        },
    )
    report = read_payloads("lever", folder, tmp_path / "out")
    out = tmp_path / "out"
    assert table(out, "stage").select("source_id", "name", "position").rows() == [
        ("s1", "Applied", 0),
        ("s2", "Offer", 1),
    ]
    assert table(out, "tag").select("person_id", "application_id", "name").rows() == [
        ("c1", "o1", "Berlin"),
        ("c1", "o2", "Berlin"),
    ]
    assert table(out, "question_answer").select("application_id", "question", "answer", "kind").rows() == [
        ("o1", "Why us?", "The work", "screening"),
        ("o1", "Languages", '["de", "en"]', "screening"),
    ]
    offer = table(out, "offer").row(0, named=True)
    assert (offer["application_id"], offer["status"]) == ("o1", "accepted")
    assert offer["sent_at"] < offer["resolved_at"]
    assert "start_date" in offer["details"]
    assert "sig=1" not in str(offer)
    assert not notices(report, "unused_file")


def test_workable_gives_stages_tags_and_answers(tmp_path: Path) -> None:
    folder = write_lists(
        tmp_path / "in",
        jobs={"jobs": [{"shortcode": "J1", "title": "Engineer"}]},
        stages={"stages": [{"slug": "applied", "name": "Applied", "kind": "applied", "position": 1}]},
        candidates={
            "candidates": [
                {
                    "id": "w1",
                    "name": "Ada Example",
                    "email": "ada@example.com",
                    "job": {"shortcode": "J1"},
                    "tags": ["python"],
                    "answers": [
                        {"question": {"body": "Why us?"}, "answer": {"body": "The work"}},
                        {"question": {"body": "May you work here?"}, "answer": {"checked": True}},
                        {"question": {"body": "Which?"}, "answer": {"choices": ["a", "b"], "more": 1}},
                    ],
                }
            ]
        },
    )
    report = read_payloads("workable", folder, tmp_path / "out")
    out = tmp_path / "out"
    assert table(out, "stage").select("source_id", "name", "kind", "position").rows() == [
        ("applied", "Applied", "applied", 1)
    ]
    assert table(out, "tag").select("person_id", "application_id", "name").rows() == [("w1", "w1", "python")]
    assert table(out, "question_answer")["answer"].to_list() == [
        "The work",
        "true",
        '{"choices": ["a", "b"], "more": 1}',
    ]
    assert table(out, "offer").height == 0
    assert not notices(report, "unused_file")


def test_csv_files_of_them_are_read_by_their_names(tmp_path: Path) -> None:
    export = write(
        tmp_path / "in",
        stage_history="Application ID,Stage,Entered At\n10,Applied,2026-01-02T08:00:00Z\n",
        pipeline_stages="Job ID,Stage,Order,Type\n100,Applied,1,inbox\n100,Offer,second,\n",
        jobs="Job ID,Title\n100,Engineer\n",
        candidate_tags="Candidate ID,Tag\n1,Python\n1,Python\n1,SQL\n",
        offers="Application ID,Status,Sent On,Start Date,Salary,Gender\n10,Declined,2026-02-03,2026-03-01,42000,x\n",
        application_answers="Application ID,Question,Answer\n10,Why us?,The work\n10,Your gender?,x\n",
    )
    report = read(export, tmp_path / "out")
    out = tmp_path / "out"
    stages = table(out, "stage").select("job_id", "name", "position", "kind").rows()
    assert stages == [("100", "Applied", 1, "inbox"), ("100", "Offer", None, None)]
    assert table(out, "stage_move").height == 1
    assert table(out, "tag").select("person_id", "name").rows() == [("1", "Python"), ("1", "SQL")]
    offer = table(out, "offer").row(0, named=True)
    assert (offer["status"], offer["starts_on"], offer["details"]) == (
        "rejected",
        date(2026, 3, 1),
        '{"Salary":"42000"}',
    )
    answers = table(out, "question_answer").select("question", "answer").rows()
    assert answers == [("Why us?", "The work"), ("Your gender?", None)]
    assert table(out, "question_answer")["raw"].to_list()[1] is None
    assert [one.count for one in notices(report, "sensitive_columns") if one.table == "question_answer"] == [
        1
    ]
    assert [(one.table, one.detail) for one in notices(report, "unknown_values")] == [("stage", "position")]
    assert not notices(report, "unused_file")


def test_several_tags_of_one_cell_are_a_row_each(tmp_path: Path) -> None:
    export = write(tmp_path / "in", tags='Candidate ID,Tags\n1,"Python; SQL;"\n1,;\n')
    tables = {"tag": {"file": "tags.csv", "columns": {"name": "Tags"}}}
    read(export, tmp_path / "out", list_separator=";", tables=tables)
    assert table(tmp_path / "out", "tag").select("person_id", "name").rows() == [
        ("1", "Python"),
        ("1", "SQL"),
    ]


def test_a_day_is_the_day_where_it_was_written(tmp_path: Path) -> None:
    offers = "Offer ID,Application ID,Start Date\n1,10,2026-03-01\n2,10,2026-03-01T23:30:00-05:00\n"
    read(write(tmp_path / "in", offers=offers), tmp_path / "out", timezone="Asia/Tokyo")
    days = table(tmp_path / "out", "offer")["starts_on"].to_list()
    assert days == [date(2026, 3, 1), date(2026, 3, 2)]


def test_a_source_without_them_writes_empty_tables(tmp_path: Path) -> None:
    report = read(write(tmp_path / "in"), tmp_path / "out")
    named: tuple[Entity, ...] = ("stage", "tag", "offer", "question_answer")
    for entity in named:
        assert table(tmp_path / "out", entity).schema == SCHEMAS[entity]
        assert report.counts[entity] == 0


def test_every_reason_a_download_fails_for_is_of_the_closed_list() -> None:
    assert set(get_args(Why)) - {"gone", "no_link"} <= {reason.value for reason in Reason}
    assert SCHEMAS["attachment"]["state_reason"] == pl.String


def test_a_status_a_person_maps_must_be_canonical(tmp_path: Path) -> None:
    export = write(tmp_path / "in", offers="Application ID,Status\n10,Weird\n")
    tables = {"offer": {"file": "offers.csv", "values": {"status": {"Weird": "nice"}}}}
    with pytest.raises(ConfigurationError, match=r"accepted, deprecated, draft, open, rejected"):
        read(export, tmp_path / "out", tables=tables)
    tables = {"offer": {"file": "offers.csv", "values": {"status": {"Weird": "open"}}}}
    read(export, tmp_path / "out", tables=tables)
    assert table(tmp_path / "out", "offer")["status"].to_list() == ["open"]
