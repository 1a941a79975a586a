"""The traps of CSV exports, each with its right outcome."""

import json
import unicodedata
import zipfile
from pathlib import Path

import polars as pl
import pytest

from batch_pipeline.errors import ConfigurationError, SourceError
from batch_pipeline.sources.base import open_source
from batch_pipeline_tests.sources.exports import PEOPLE, notices, read, table, write

MANIFEST = "Attachment ID,Candidate ID,Application ID,File Name,Type,Path\n"


def applied(*dates: str) -> str:
    rows = "".join(f"{number},1,100,{date},active\n" for number, date in enumerate(dates, start=10))
    return "Application ID,Candidate ID,Job ID,Applied On,Status\n" + rows


def test_a_column_of_small_days_is_asked_about_by_name(tmp_path: Path) -> None:
    export = write(tmp_path / "in", applications=applied("03/04/2026", "01/12/2026"))
    with pytest.raises(ConfigurationError, match=r"applied_at.*'Applied On' of applications.csv.*day_first"):
        read(export, tmp_path / "out")
    stated = {"application": {"file": "applications.csv", "date_formats": {"applied_at": "day_first"}}}
    read(export, tmp_path / "out", tables=stated, timezone="UTC")
    assert table(tmp_path / "out", "application")["applied_at"].dt.month().to_list() == [4, 12]


@pytest.mark.parametrize("dates", [("13/04/2026", "04/13/2026"), ("13/04/2026", "2026-04-13")])
def test_a_column_of_two_formats_is_refused(tmp_path: Path, dates: tuple[str, str]) -> None:
    export = write(tmp_path / "in", applications=applied(*dates))
    with pytest.raises(ConfigurationError, match="mixes"):
        read(export, tmp_path / "out")


def test_every_open_question_is_asked_at_once(tmp_path: Path) -> None:
    people = PEOPLE.replace("2026-01-02 08:00", "01/02/2026 08:00")
    export = write(tmp_path / "in", candidates=people, applications=applied("03/04/2026"))
    with pytest.raises(ConfigurationError, match=r"2 open questions.*Created At.*Applied On"):
        read(export, tmp_path / "out")


def test_ids_stay_text_and_formula_wrapping_is_undone(tmp_path: Path) -> None:
    export = write(
        tmp_path / "in",
        candidates='Candidate ID,Phone\n="007",+44 20\n0123456789012345678901,\n',
        applications="Application ID,Candidate ID\n0010,007\n",
    )
    report = read(export, tmp_path / "out")
    assert table(tmp_path / "out", "person")["source_id"].to_list() == ["007", "0123456789012345678901"]
    assert not notices(report, "dangling_references")
    assert notices(report, "formula_cells")[0].count == 1


@pytest.mark.parametrize(
    ("encoding", "delimiter"), [("utf-8-sig", ","), ("cp1252", ";"), ("utf-16", "\t"), ("utf-8", "|")]
)
def test_encoding_and_delimiter_are_found_and_said(tmp_path: Path, encoding: str, delimiter: str) -> None:
    rows = ["  Candidate ID  ", "First  Name", "Notes"], ["1", "Jörg", '"two\nlines, ""quoted"""']
    text = "\r\n".join(delimiter.join(row) for row in rows)
    export = write(tmp_path / "in", candidates=text.encode(encoding))
    report = read(export, tmp_path / "out")
    person = table(tmp_path / "out", "person").row(0, named=True)
    assert person["full_name"] == "Jörg"
    assert json.loads(person["raw"])["Notes"] == 'two\nlines, "quoted"'
    assert repr(delimiter) in notices(report, "delimiter")[0].detail


def test_an_encoding_that_cannot_be_told_is_asked_for(tmp_path: Path) -> None:
    people = "Candidate ID,First Name\n1,Наталья\n".encode("cp1251")
    export = write(tmp_path / "in", candidates=people)
    with pytest.raises(ConfigurationError, match=r"source\.encoding"):
        read(export, tmp_path / "out")
    read(write(tmp_path / "two", candidates=people), tmp_path / "out", encoding="cp1251")
    assert table(tmp_path / "out", "person")["full_name"][0] == "Наталья"


def test_a_row_with_too_many_cells_is_named_by_number(tmp_path: Path) -> None:
    export = write(tmp_path / "in", candidates="Candidate ID,First Name\n1,A\n2,B,surplus\n")
    with pytest.raises(SourceError, match=r"candidates.csv: row 3 has 3 cells, the header 2"):
        read(export, tmp_path / "out")


@pytest.mark.parametrize("more", [0, 40_000])
@pytest.mark.parametrize("broken", ['2,"B,C', '2,B,"C', '2,"B,C\n3,"D",E'])
def test_a_quote_that_is_never_closed_is_named_by_its_row(tmp_path: Path, broken: str, more: int) -> None:
    rows = "".join(f"{number},Ann,Lee\n" for number in range(10, 10 + more))
    people = f"Candidate ID,First Name,Last Name\n1,A,B\n{broken}\n4,F,G\n{rows}"
    with pytest.raises(SourceError, match=r"candidates\.csv: row 3 .*quote that is never closed"):
        read(write(tmp_path / "in", candidates=people), tmp_path / "out")


def test_tables_that_lie_in_a_folder_are_pointed_at(tmp_path: Path) -> None:
    write(tmp_path / "in" / "2026" / "data")
    (tmp_path / "in" / "attachments" / "Ann Lee").mkdir(parents=True)
    (tmp_path / "in" / "attachments" / "Ann Lee" / "list.csv").write_text("a,b\n")
    with pytest.raises(SourceError, match="2 in 2026/data: give that folder") as told:
        read(tmp_path / "in", tmp_path / "out")
    assert "Ann" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "said"), [(None, "is empty"), ("rows.json", "state source.kind"), ("a.pdf", "saved as CSV")]
)
def test_an_export_without_tables_says_what_it_has(tmp_path: Path, name: str | None, said: str) -> None:
    (tmp_path / "in").mkdir()
    if name:
        (tmp_path / "in" / name).write_text("[]")
    with pytest.raises(SourceError, match=said):
        read(tmp_path / "in", tmp_path / "out")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    export = tmp_path / "in"
    export.mkdir()
    (export / "people.csv").write_text("Candidate ID\n1\n")
    with pytest.raises(ConfigurationError, match=r"tables\.application\.file.*state one of people\.csv"):
        read(export, tmp_path / "out")
    (export / "people.csv").rename(export / "people.xlsx")
    with pytest.raises(SourceError, match="saved as CSV"):
        read(export, tmp_path / "out")
    with pytest.raises(ConfigurationError, match=r"source\.kind"):
        open_source({"kind": "fax"})
    with pytest.raises(ConfigurationError, match=r"source\.timezone"):
        open_source({"kind": "csv_folder", "path": "x", "system": "a", "timezone": "Mars/Olympus"})


def test_times_without_a_zone_are_the_migrations(tmp_path: Path) -> None:
    people = PEOPLE + "2,B,C,,2026-07-01T08:00:00+05:30,\n3,D,E,,2026-03-29 02:30,\n"
    read(write(tmp_path / "in", candidates=people), tmp_path / "out")
    rows = table(tmp_path / "out", "person")
    assert rows["source_created_at"].dt.strftime("%d %H:%M").to_list() == ["02 07:00", "01 02:30", "29 01:30"]
    assert rows["tz_assumed"].to_list() == [True, False, True]


def test_a_note_of_unknown_visibility_is_private_and_its_html_is_made_readable(tmp_path: Path) -> None:
    notes = (
        "Note ID,Candidate ID,Visibility,Body,Created At\n"
        '1,1,everyone,"<p>Good &amp; fast<br>second</p><script>steal()</script>",2026-01-01\n'
        "2,1,moderators,a < b,2026-01-01\n3,1,,x,2026-01-01\n"
    )
    report = read(write(tmp_path / "in", notes=notes), tmp_path / "out")
    rows = table(tmp_path / "out", "note")
    assert rows["visibility"].to_list() == ["public", "private", "private"]
    assert rows["body_text"].to_list() == ["Good & fast\nsecond", "a < b", "x"]
    assert "<script>" in rows["body_raw"][0]
    assert notices(report, "unknown_values")[0].count == 1


def test_special_category_columns_stay_out_unless_allowed(tmp_path: Path) -> None:
    people = "Candidate ID,First Name,Gender,Disability Status\n1,A,f,none\n"
    export = write(tmp_path / "in", candidates=people)
    report = read(export, tmp_path / "out")
    assert json.loads(table(tmp_path / "out", "person")["raw"][0]) == {"Candidate ID": "1", "First Name": "A"}
    assert notices(report, "sensitive_columns")[0].count == 2
    read(export, tmp_path / "out", keep_columns=["gender"])
    assert json.loads(table(tmp_path / "out", "person")["raw"][0])["Gender"] == "f"


def test_prospects_reapplications_and_the_order_of_stages(tmp_path: Path) -> None:
    applications = (
        "Application ID,Candidate ID,Job ID,Applied On\n"
        "12,1,100,2026-03-01\n11,1,100,2026-01-01\n13,1,,2026-01-01\n"
    )
    stages = (
        "Application ID,Stage,Entered At\n11,Offer,2026-03-01T00:00:00Z\n"
        "11,Applied,2026-01-01T00:00:00Z\n11,Applied,2026-01-01T00:00:00Z\n"
    )
    export = write(tmp_path / "in", applications=applications, stage_history=stages)
    report = read(export, tmp_path / "out")
    rows = table(tmp_path / "out", "application").sort("source_id")
    assert rows["sequence_no"].to_list() == [1, 2, 1]
    assert rows["kind"].to_list() == ["applied", "applied", "prospect"]
    moves = table(tmp_path / "out", "stage_move")
    assert moves.select("from_stage", "to_stage").rows() == [("Applied", "Offer"), (None, "Applied")]
    assert notices(report, "duplicate_rows")[0].count == 1
    assert notices(report, "dangling_references")[0].detail == "job_id is in no job"


def test_one_id_with_two_contents_loses_no_attachment(tmp_path: Path) -> None:
    people = "Candidate ID,First Name\n1,A\n1,B\n1,A\n"
    manifest = MANIFEST + "5,1,10,a.pdf,resume,a.pdf\n5,1,10,b.pdf,resume,b.pdf\n,1,10,c.pdf,resume,c.pdf\n"
    export = write(tmp_path / "in", candidates=people, attachments=manifest)
    report = read(export, tmp_path / "out")
    assert table(tmp_path / "out", "person")["full_name"].to_list() == ["A"]
    assert table(tmp_path / "out", "attachment")["source_id"].to_list()[:2] == ["5", "5#2"]
    assert table(tmp_path / "out", "attachment").height == 3
    assert [n.table for n in notices(report, "duplicate_ids")] == ["person", "attachment"]


def test_no_path_of_a_manifest_leaves_the_export(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    export = write(tmp_path / "in")
    (export / "link.pdf").symlink_to(tmp_path / "secret.txt")
    paths = [
        "../secret.txt",
        str(tmp_path / "secret.txt"),
        "a/../../secret.txt",
        "C:\\secret.txt",
        "link.pdf",
    ]
    rows = "".join(f"{number},1,10,x.pdf,resume,{path}\n" for number, path in enumerate(paths))
    report = read(write(export, attachments=MANIFEST + rows), tmp_path / "out")
    found = table(tmp_path / "out", "attachment")
    assert found["state"].unique().to_list() == ["missing"]
    assert found["local_path"].null_count() == 5
    assert notices(report, "unsafe_paths")[0].count == 4
    assert notices(report, "symbolic_links")[0].count == 1


def test_a_file_is_found_in_another_unicode_form_and_with_backslashes(tmp_path: Path) -> None:
    export = write(tmp_path / "in")
    (export / "files").mkdir()
    (export / "files" / unicodedata.normalize("NFD", "Jörg.pdf")).write_bytes(b"%PDF-")
    row = "1,1,10,x.pdf,resume,files\\" + unicodedata.normalize("NFC", "Jörg.pdf") + "\n"
    report = read(write(export, attachments=MANIFEST + row), tmp_path / "out")
    assert table(tmp_path / "out", "attachment")["state"].to_list() == ["pending"]
    assert notices(report, "normalised_paths")[0].count == 1
    assert not notices(report, "orphan_files")


def test_files_of_erased_people_are_named_to_nobody(tmp_path: Path) -> None:
    people = PEOPLE + "2,Anonymized,Person,,2026-01-02 08:00,2026-02-01\n"
    applications = applied("2026-01-01") + "20,2,100,2026-01-01,active\n"
    manifest = MANIFEST + "1,2,,Eve.pdf,resume,Eve.pdf\n2,,20,Eve2.pdf,resume,Eve2.pdf\n"
    export = write(tmp_path / "in", candidates=people, applications=applications, attachments=manifest)
    (export / "Eve.pdf").write_bytes(b"%PDF-")
    report = read(export, tmp_path / "out")
    rows = table(tmp_path / "out", "attachment")
    assert rows["state"].to_list() == ["erased", "erased"]
    for column in ("local_path", "file_name", "source_handle", "raw"):
        assert rows[column].null_count() == 2
    assert not notices(report, "orphan_files")


def test_a_mark_that_is_no_date_erases_all_the_same(tmp_path: Path) -> None:
    people = "Candidate ID,First Name,Anonymized\n1,Ada,yes\n2,Bea,no\n3,Cid,\n"
    read(write(tmp_path / "in", candidates=people), tmp_path / "out")
    rows = table(tmp_path / "out", "person")
    assert rows["full_name"].to_list() == [None, "Bea", "Cid"]
    assert rows["erased_at"].is_not_null().to_list() == [True, False, False]


def test_the_persons_copy_of_an_applications_file_is_one_reference(tmp_path: Path) -> None:
    manifest = MANIFEST + "1,1,,a.pdf,resume,a.pdf\n2,1,10,a.pdf,resume,a.pdf\n3,1,,b.pdf,resume,b.pdf\n"
    export = write(tmp_path / "in", attachments=manifest)
    for name in ("a.pdf", "b.pdf"):
        (export / name).write_bytes(b"%PDF-")
    report = read(export, tmp_path / "out")
    assert table(tmp_path / "out", "attachment")["source_id"].to_list() == ["2", "3"]
    assert notices(report, "candidate_copy")[0].count == 1


def test_paths_are_made_from_a_template(tmp_path: Path) -> None:
    manifest = "Attachment ID,Application ID,File Name\n1,10,cv.pdf\n"
    export = write(tmp_path / "in", attachments=manifest)
    (export / "cvs" / "ada@example.com").mkdir(parents=True)
    (export / "cvs" / "ada@example.com" / "cv.pdf").write_bytes(b"%PDF-")
    with pytest.raises(ConfigurationError, match=r"source\.attachment_path"):
        read(export, tmp_path / "out")
    read(export, tmp_path / "out", attachment_path="cvs/{email}/{file_name}")
    row = table(tmp_path / "out", "attachment").row(0, named=True)
    assert (row["state"], row["person_id"]) == ("pending", "1")


def test_no_notice_repeats_what_people_wrote(tmp_path: Path) -> None:
    people = "Candidate ID,First Name,Email\n1,Zebedee,zeb@example.com\n1,Zebedee,other@example.com\n"
    manifest = MANIFEST + "1,1,10,Zebedee.pdf,resume,../Zebedee.pdf\n"
    export = write(tmp_path / "in", candidates=people, attachments=manifest)
    (export / "Zebedee orphan.pdf").write_bytes(b"")
    assert "zeb" not in str(read(export, tmp_path / "out").notices).lower()


@pytest.mark.parametrize("name", ["../out.csv", "/out.csv", "a/../../out.csv"])
def test_a_zip_that_climbs_out_of_itself_is_refused(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("candidates.csv", PEOPLE)
        bundle.writestr(name, "x")
    with pytest.raises(SourceError, match="climbs out"):
        read(archive, tmp_path / "work" / "out")
    assert not list(tmp_path.rglob("out.csv"))


def test_a_zip_that_grows_beyond_reason_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("Ann Lee.csv", PEOPLE)
        bundle.writestr("candidates.csv", b"0" * (101 << 20))
    with pytest.raises(SourceError, match=r"grows.*number 2 of 2, grows.*unpack the file and give") as told:
        read(archive, tmp_path / "out")
    assert "Ann" not in str(told.value)


def test_a_status_no_map_knows_is_said_and_can_be_mapped(tmp_path: Path) -> None:
    export = write(tmp_path / "in", applications=applied("2026-01-01").replace("active", "Parked"))
    report = read(export, tmp_path / "out")
    assert table(tmp_path / "out", "application")["status"].to_list() == [None]
    assert notices(report, "unknown_values")[0].detail == "status"
    values = {"application": {"file": "applications.csv", "values": {"status": {"parked": "active"}}}}
    read(export, tmp_path / "out", tables=values)
    assert table(tmp_path / "out", "application")["status"].to_list() == ["active"]
    assert pl.read_parquet(tmp_path / "out" / "application.parquet").height == 1


SCORECARDS = "Application ID,Author,Submitted At,Overall Recommendation,Question,Answer\n"


def test_the_questions_of_one_scorecard_are_its_items(tmp_path: Path) -> None:
    cards = SCORECARDS + (
        '10,Rae,2026-01-05 09:00,yes,SQL,"Clear, with ""joins"""\n'
        "10,Rae,2026-01-05 09:00,yes,Streaming,\n"
        "10,Bo,2026-01-05 09:00,strong_yes,,\n"
    )
    read(write(tmp_path / "in", scorecards=cards), tmp_path / "out")
    rows = table(tmp_path / "out", "evaluation").sort("author")
    assert rows.select("author", "overall", "overall_raw").rows() == [
        ("Bo", 5, "strong_yes"),
        ("Rae", 4, "yes"),
    ]
    assert rows["items"][0] is None
    assert json.loads(rows["items"][1]) == [
        {"question": "SQL", "answer": 'Clear, with "joins"', "rating": None},
        {"question": "Streaming", "answer": None, "rating": None},
    ]
    assert [row["Question"] for row in json.loads(rows["raw"][1])] == ["SQL", "Streaming"]


def test_the_files_of_people_whose_consent_ended_are_not_opened(tmp_path: Path) -> None:
    people = "Candidate ID,First Name,Consent Until\n1,Ada,2020-01-01\n2,Bea,2099-01-01\n"
    manifest = MANIFEST + "1,1,,Ada.pdf,resume,Ada.pdf\n2,2,,Bea.pdf,resume,Bea.pdf\n"
    export = write(tmp_path / "in", candidates=people, attachments=manifest)
    for name in ("Ada.pdf", "Bea.pdf"):
        (export / name).write_bytes(b"%PDF-")
    report = read(export, tmp_path / "out")
    rows = table(tmp_path / "out", "attachment")
    assert rows.select("state", "file_name").rows() == [("erased", None), ("pending", "Bea.pdf")]
    assert table(tmp_path / "out", "person")["full_name"].to_list() == ["Ada", "Bea"]
    assert [notice.detail for notice in notices(report, "consent_expired")] == [
        "files not read, state erased: 1"
    ]


def test_people_who_may_be_one_are_named_by_id_and_kept_apart(tmp_path: Path) -> None:
    people = (
        "Candidate ID,Full Name,Email,Phone\n"
        "1,Ada Example,ada@example.com,+44 20 7946 0018\n"
        "2,Bea Other, ADA+jobs@Example.com,\n"
        "3,Ada  Example,,020 7946 0018\n"
        "4,Cid Else,,020 7946 0018\n"
    )
    report = read(write(tmp_path / "in", candidates=people), tmp_path / "out")
    assert [notice.detail for notice in notices(report, "possible_duplicates")] == [
        "kept apart: 1 = 2; 1 = 3"
    ]
    assert table(tmp_path / "out", "person").height == 4
    listed = pl.read_parquet(tmp_path / "out" / "possible_duplicates.parquet")
    assert set(listed.select("person_id", "same").rows()) == {
        ("1", "e-mail"),
        ("2", "e-mail"),
        ("1", "phone and name"),
        ("3", "phone and name"),
    }


def test_a_file_that_maps_addresses_to_resumes_is_a_manifest(tmp_path: Path) -> None:
    people = (
        "Candidate ID,Name,Email,Created At,Anonymized At\n"
        "1,Ada,Ada@example.com,2026-01-02T08:00:00Z,\n"
        "2,Bob,desk@example.com,2026-01-02T08:00:00Z,\n"
        "3,Cyd,desk@example.com,2026-01-02T08:00:00Z,\n"
        "4,Gone,gone@example.com,2026-01-02T08:00:00Z,2026-02-01\n"
        "5,Eve,gone@example.com,2026-01-02T08:00:00Z,\n"
    )
    rows = [
        "ada@example.com ,a.pdf",
        "desk@example.com,b.pdf",
        "gone@example.com,c.pdf",
        "x@example.com,d.pdf",
    ]
    export = write(tmp_path / "in", candidates=people, resumes="Email,File\n" + "\n".join(rows) + "\n")
    for name in "abcd":
        (export / f"{name}.pdf").write_bytes(b"%PDF-")
    report = read(export, tmp_path / "out")
    found = table(tmp_path / "out", "attachment").select("person_id", "file_name", "state").rows()
    assert found == [
        ("1", "a.pdf", "pending"),
        (None, "b.pdf", "pending"),
        ("4", None, "erased"),
        (None, "d.pdf", "pending"),
    ]
    lost = [one for one in notices(report, "dangling_references") if one.table == "attachment"]
    assert [(one.detail, one.count) for one in lost] == [("an e-mail address is not of one person", 2)]


def test_names_are_compared_without_their_hidden_signs_and_kept_as_written(tmp_path: Path) -> None:
    """Trap 20: decomposed letters of macOS, right-to-left marks and a byte order mark inside a cell."""
    decomposed = unicodedata.normalize("NFD", "José Ğüş")
    people = f"Candidate ID,First Name,Phone\n1,\u200f{decomposed}\u202c,+44 20 7946 0018\n2,José Ğüş,0044 20 7946 0018\n"
    report = read(write(tmp_path / "in", candidates=people), tmp_path / "out")
    rows = table(tmp_path / "out", "person")
    assert rows["full_name"].to_list() == ["José Ğüş", "José Ğüş"]
    assert json.loads(rows["raw"][0])["First Name"] == f"\u200f{decomposed}\u202c"
    assert notices(report, "possible_duplicates")[0].count == 1


def test_files_of_a_zip_are_never_stored_under_their_own_names(tmp_path: Path) -> None:
    """Trap 21: names that differ by case alone, names longer than a file system takes, and thousands of CV.pdf."""
    long = "ü" * 300 + ".pdf"
    names = ["1/CV.pdf", "2/CV.pdf", "3/cv.pdf", "3/CV.PDF", f"4/{long}", "5/no ending", "6/CV\U0001f4c4.pdf"]
    rows = "".join(f"{number},1,10,{name.split('/')[1]},resume,{name}\n" for number, name in enumerate(names))
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("candidates.csv", PEOPLE)
        bundle.writestr("applications.csv", applied("2026-01-01"))
        bundle.writestr("attachments.csv", MANIFEST + rows)
        for number, name in enumerate(names):
            bundle.writestr(name, f"%PDF- {number}")
    report = read(archive, tmp_path / "out")
    found = table(tmp_path / "out", "attachment")
    assert found["state"].to_list() == ["pending"] * len(names)
    assert found["file_name"].to_list() == [name.split("/")[1] for name in names]
    contents = [Path(path).read_text() for path in found["local_path"]]
    assert contents == [f"%PDF- {number}" for number in range(len(names))]
    assert not notices(report, "orphan_files")


ONE = "Candidate ID,First Name\n1,Ada\n"


@pytest.mark.parametrize(
    "content",
    [
        "sep=;\n" + ONE.replace(",", ";"),  # Excel's own first line
        "\r\n\r\n" + ONE,
        ONE.replace("\n", "\r"),  # old Macs
        ONE.encode("utf-16-le"),  # without a mark
        b"\xfe\xff" + ONE.encode("utf-16-be"),
        '"Candidate\nID","First Name"\n1,Ada\n',
        ONE + "\n,\n\n",
    ],
)
def test_what_spreadsheets_and_old_systems_write_around_a_table_is_no_part_of_it(
    tmp_path: Path, content: str | bytes
) -> None:
    read(write(tmp_path / "in", candidates=content), tmp_path / "out")
    assert table(tmp_path / "out", "person").select("source_id", "full_name").rows() == [("1", "Ada")]


def test_ids_that_a_spreadsheet_rounded_stop_the_reading(tmp_path: Path) -> None:
    people = "Candidate ID,First Name\n4.10002E+11,A\n4.10002E+11,B\n3,C\n"
    with pytest.raises(SourceError, match=r"candidates\.csv: ids were rounded.*2 of source_id"):
        read(write(tmp_path / "in", candidates=people), tmp_path / "out")


def test_cells_that_a_spreadsheet_broke_are_counted(tmp_path: Path) -> None:
    people = "Candidate ID,First Name,Phone,Created At\n1,#NAME?,4.42079E+11,2026-01-02\n2,B,,########\n"
    report = read(write(tmp_path / "in", candidates=people), tmp_path / "out")
    found = {one.detail.partition(" ")[0]: one.count for one in notices(report, "excel_damage")}
    assert found == {"cells": 2, "phone": 1}
    assert notices(report, "unreadable_dates")[0].count == 1


def test_days_counted_by_a_spreadsheet_and_years_of_nobody_are_told(tmp_path: Path) -> None:
    read(write(tmp_path / "in", applications=applied("46035", "46036.5")), tmp_path / "out", timezone="UTC")
    days = table(tmp_path / "out", "application")["applied_at"].dt.strftime("%F %H:%M").to_list()
    assert days == ["2026-01-13 00:00", "2026-01-14 12:00"]
    export = write(tmp_path / "old", applications=applied("0001-01-01", "1955-05-13", "2026-01-01"))
    report = read(export, tmp_path / "out", timezone="UTC")
    assert table(tmp_path / "out", "application")["applied_at"].dt.year().to_list() == [1, 1955, 2026]
    assert notices(report, "dates_out_of_range")[0].count == 2


def test_a_table_without_rows_is_empty_and_a_file_without_anything_is_none(tmp_path: Path) -> None:
    export = write(tmp_path / "in", notes="Note ID,Candidate ID,Body\n", scorecards=b"\xef\xbb\xbf\r\n")
    report = read(export, tmp_path / "out")
    assert report.counts["note"] == 0
    assert [(one.table, one.detail) for one in notices(report, "unused_file")] == [
        ("scorecards.csv", "is empty")
    ]
    with pytest.raises(SourceError, match=r"candidates\.csv is empty"):
        read(write(tmp_path / "bare", candidates=""), tmp_path / "out")


def test_columns_of_one_name_are_told_apart(tmp_path: Path) -> None:
    people = "Candidate ID,First Name,Email,Email\n1,Ada,a@example.com,b@example.com\n"
    export = write(tmp_path / "in", candidates=people)
    stated = {"person": {"file": "candidates.csv", "columns": {"emails": ["Email", "Email (2)"]}}}
    read(export, tmp_path / "out", tables=stated)
    emails = json.loads(table(tmp_path / "out", "person")["emails"][0])
    assert [one["raw"] for one in emails] == ["a@example.com", "b@example.com"]


def test_two_files_of_one_name_in_other_case_are_asked_about(tmp_path: Path) -> None:
    export = write(tmp_path / "in", Candidates=PEOPLE)
    with pytest.raises(ConfigurationError, match=r"state one of Candidates\.csv, candidates\.csv"):
        read(export, tmp_path / "out")


def test_a_note_of_ten_megabytes_and_a_name_of_joined_signs_arrive_whole(tmp_path: Path) -> None:
    note = 'Note ID,Candidate ID,Body\n1,1,"' + "ten bytes.\n" * 1_000_000 + '"\n'
    people = "Candidate ID,First Name\n1,\U0001f9d1\u200d\U0001f4bb علی\u200cرضا\n"
    read(write(tmp_path / "in", candidates=people, notes=note), tmp_path / "out")
    assert len(table(tmp_path / "out", "note")["body_raw"][0]) > 10_000_000
    assert table(tmp_path / "out", "person")["full_name"][0] == "\U0001f9d1\u200d\U0001f4bb علی\u200cرضا"
