"""An export in Bullhorn's loader columns is read without a column map."""

from pathlib import Path

import pytest
import yaml

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.base import open_source
from batch_pipeline.sources.csv_folder import propose
from batch_pipeline_tests.sources.exports import notices, read, table

CANDIDATES = """externalID,firstName,middleName,lastName,name,email,email2,phone,mobile,address.city,address.countryName,dateAdded,massMailOptOut,ethnicity,isDeleted
c-1            ,Ada,,Example,Wrong,ada@example.com,ada@example.org,329-555-0101,,Boston,United States,1/2/16 00:00,TRUE,Unknown,FALSE
c-2            ,Grace,B.,Example,Wrong,grace@example.com,,,473-555-0103,,,12/31/15 00:00,,Unknown,FALSE
"""
JOBS = """externalID,title,isOpen,dateClosed,status
j-1       ,Engineer,TRUE,,Accepting Candidates
j-2       ,Analyst,FALSE,1/1/17 0:00,Filled
"""
SUBMISSIONS = """candidate.externalID,jobOrder.externalID,comments           ,dateAdded   ,dateLastModified,source  ,status
c-1                 ,j-1                 ,Initial Submission ,1/2/16 00:00,1/3/16 00:00    ,Referral,Rejected
c-1                 ,j-1                 ,Second Submission  ,2/2/16 00:00,                ,        ,Submitted
c-2                 ,j-2                 ,Completed          ,1/4/16 00:00,                ,Web     ,Placed
"""
NOTES = """comments      ,externalID,commentingPerson.name  ,candidates.externalID
Called both   ,n-1       ,Recruiter CorporateUser,c-1;c-2
Called nobody ,n-2       ,Recruiter CorporateUser,
Called no one ,n-3       ,Recruiter CorporateUser,;
"""
MANIFEST = """candidate.externalID,externalID,relativeFilePath,isResume
c-1                 ,resume-001,cvs/Ada.doc   ,1
c-1                 ,file-001  ,cvs/Letter.doc,0
c-2                 ,resume-002,cvs/Grace.doc ,1
"""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    folder = tmp_path / "export"
    (folder / "attachments" / "cvs").mkdir(parents=True)
    for name, text in (
        ("Candidate", CANDIDATES),
        ("JobOrder", JOBS),
        ("JobSubmission", SUBMISSIONS),
        ("Note", NOTES),
        ("CandidateEducation", "candidate.externalID,school\nc-1,Somewhere\n"),
        ("attachments/Candidate", MANIFEST),
    ):
        (folder / f"{name}.csv").write_text(text)
    for name in ("Ada", "Letter", "Grace"):
        (folder / "attachments" / "cvs" / f"{name}.doc").write_bytes(name.encode())
    return folder


def test_the_loaders_files_are_read_without_a_column_map(export: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = read(export, out, preset="bullhorn", timezone="America/New_York")
    ada = table(out, "person").row(0, named=True)
    assert (ada["source_id"], ada["full_name"], ada["location"]) == (
        "c-1",
        "Ada Example",
        "Boston United States",
    )
    assert ada["emails"].count("norm") == 2
    assert ada["do_not_contact"] is True
    assert str(ada["source_created_at"]) == "2016-01-02 05:00:00+00:00"
    assert "ethnicity" not in ada["raw"]
    assert table(out, "job").select("source_id", "status").rows() == [("j-1", "open"), ("j-2", "closed")]
    applications = table(out, "application")
    assert applications.select("person_id", "job_id", "status", "current_stage", "sequence_no").rows() == [
        ("c-1", "j-1", "rejected", "Rejected", 1),
        ("c-1", "j-1", None, "Submitted", 2),
        ("c-2", "j-2", "hired", "Placed", 1),
    ]
    assert applications["source_id"].n_unique() == 3
    files = table(out, "attachment").select("source_id", "person_id", "file_name", "declared_type", "state")
    assert files.rows() == [
        ("resume-001", "c-1", "Ada.doc", "resume", "pending"),
        ("file-001", "c-1", "Letter.doc", "other", "pending"),
        ("resume-002", "c-2", "Grace.doc", "resume", "pending"),
    ]
    assert not notices(report, "dangling_references")
    assert not notices(report, "orphan_files")
    assert [one.table for one in notices(report, "unused_file")] == ["CandidateEducation.csv"]


def test_a_note_about_two_candidates_is_a_note_of_each(export: Path, tmp_path: Path) -> None:
    read(export, tmp_path / "out", preset="bullhorn")
    notes = table(tmp_path / "out", "note").select("source_id", "person_id", "body_text").rows()
    assert notes == [
        ("n-1/c-1", "c-1", "Called both"),
        ("n-1/c-2", "c-2", "Called both"),
        ("n-2", None, "Called nobody"),
        ("n-3", None, "Called no one"),
    ]


def test_a_new_migration_recognises_the_vendor_and_states_what_it_knows(export: Path, tmp_path: Path) -> None:
    proposed = propose(export, system="bullhorn", timezone="America/New_York").config
    stated = proposed.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    assert (stated["preset"], stated["attachment_path"]) == ("bullhorn", "attachments/{path}")
    assert stated["tables"]["application"]["date_formats"]["applied_at"] == "month_first"
    settings = yaml.safe_load(yaml.safe_dump(stated | {"kind": "csv_folder", "path": str(export)}))
    first = open_source(settings).read(tmp_path / "a").counts
    assert first == read(export, tmp_path / "b", preset="bullhorn").counts


def test_older_manifests_name_the_candidate_alone(export: Path, tmp_path: Path) -> None:
    (export / "attachments" / "Candidate.csv").unlink()
    (export / "CandidateAttachFile.csv").write_text(
        "externalID,relativeFilePath,isResume\nc-2,attachments/cvs/Grace.doc,1\n"
    )
    read(export, tmp_path / "out", preset="bullhorn")
    row = table(tmp_path / "out", "attachment").row(0, named=True)
    assert (row["person_id"], row["file_name"], row["state"]) == ("c-2", "Grace.doc", "pending")


def test_what_a_person_states_wins_over_the_preset(export: Path, tmp_path: Path) -> None:
    stated = {"job": {"file": "JobOrder.csv", "columns": {"status": "status"}}}
    read(export, tmp_path / "out", preset="bullhorn", tables=stated)
    assert table(tmp_path / "out", "job")["status"].to_list() == [None, "closed"]


def test_a_vendor_nobody_knows_is_refused(export: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"source\.preset"):
        read(export, tmp_path / "out", preset="unknown")
