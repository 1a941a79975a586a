"""One person is erased on request: before anything is sent, while jobs run, and after the import."""

import csv
import hashlib
import shutil
from pathlib import Path

import pytest

from batch_pipeline_tests.flows.bench import Bench

pytestmark = [pytest.mark.servers, pytest.mark.timeout(200)]


def someone(bench: Bench, tenant: str) -> tuple[str, str, list[str]]:
    """(person id, their name, MD5s of CVs only they sent) of an imported twin of the sample."""
    row = bench.query(
        """
        select p.source_id, p.full_name, array_agg(distinct l.document_md5) as md5s
        from recruiting.person p join recruiting.cv_link l on l.person_id = p.source_id and l.tenant = p.tenant
        join recruiting.parsed_cv c on c.tenant = p.tenant and c.md5 = l.document_md5
        where p.tenant = %s and not exists (select from recruiting.cv_link o where o.tenant = l.tenant
          and o.document_md5 = l.document_md5 and o.person_id <> l.person_id)
        group by 1, 2 order by 1 limit 1
        """,
        tenant,
    )[0]
    return row["source_id"], row["full_name"], row["md5s"]


def traces(bench: Bench, tenant: str, person: str, name: str, md5s: list[str]) -> dict[str, int]:
    """Rows that still say something about them."""
    asked = {
        "named": ("select count(*) as n from recruiting.person where tenant = %s and full_name = %s", name),
        "raw": (
            "select count(*) as n from recruiting.application where tenant = %s and person_id = %s "
            "and raw is not null",
            person,
        ),
        "files": (
            "select count(*) as n from recruiting.attachment where tenant = %s and person_id = %s "
            "and (state <> 'erased' or document_md5 is not null or file_name is not null)",
            person,
        ),
        "documents": (
            "select count(*) as n from recruiting.document where tenant = %s and md5 = any(%s)",
            md5s,
        ),
        "parsed": (
            "select count(*) as n from recruiting.parsed_cv where tenant = %s and md5 = any(%s)",
            md5s,
        ),
        "work": (
            "select count(*) as n from recruiting.parsed_cv_work where tenant = %s and md5 = any(%s)",
            md5s,
        ),
        "links": (
            "select count(*) as n from recruiting.cv_link where tenant = %s and person_id = %s",
            person,
        ),
    }
    return {what: bench.query(statement, tenant, value)[0]["n"] for what, (statement, value) in asked.items()}


GONE = {"named": 0, "raw": 0, "files": 0, "documents": 0, "parsed": 0, "work": 0, "links": 0}


def test_a_person_is_erased_after_the_import_and_nobody_else(bench: Bench) -> None:
    key, _ = bench.small(40)
    assert bench.run(key).code == 0
    person, name, md5s = someone(bench, key)
    others = "select count(*) as n from recruiting.person where tenant = %s and full_name is not null"
    before = bench.query(others, key)[0]["n"]
    erased = bench.command("erase-person", key, person, "--yes")
    assert erased.code == 0, erased.said
    assert name not in erased.said
    assert traces(bench, key, person, name, md5s) == GONE
    assert bench.query(others, key)[0]["n"] == before - 1
    assert bench.command("erase-person", key, person, "--yes").code == 0


def test_a_later_export_does_not_bring_an_erased_person_back(bench: Bench) -> None:
    key, _ = bench.small(40)
    assert bench.run(key).code == 0
    person, name, md5s = someone(bench, key)
    assert bench.command("erase-person", key, person, "--yes").code == 0
    export, _ = bench.sample(40)
    provider = {"quotas": {"min_records": 10}}
    second = bench.migration(export, provider=provider)
    bench.write(second, export, tenant=key, provider=provider)
    ended = bench.run(second)
    assert ended.code == 0, ended.said
    assert traces(bench, key, person, name, md5s) == GONE
    assert not {f"cv-{md5}" for md5 in md5s} & bench.paid(second).keys()


def test_a_person_erased_before_sending_is_never_sent(bench: Bench) -> None:
    twin, _ = bench.small(40)
    assert bench.run(twin).code == 0
    person, name, md5s = someone(bench, twin)

    key, _ = bench.small(40)
    assert bench.command("migration", "check", key).code == 0
    assert bench.command("erase-person", key, person, "--yes").code == 0
    ended = bench.run(key)
    assert ended.code == 0, ended.said
    assert not {f"cv-{md5}" for md5 in md5s} & bench.paid(key).keys()
    assert traces(bench, key, person, name, md5s) == GONE
    assert bench.left(key) == []


def test_a_person_erased_while_jobs_run_has_no_answer_imported(bench: Bench) -> None:
    twin, _ = bench.small(40)
    assert bench.run(twin).code == 0
    person, name, md5s = someone(bench, twin)

    key, _ = bench.small(40)
    running = bench.start_held(key)
    erased = bench.command("erase-person", key, person, "--yes")
    assert erased.code == 0, erased.said
    bench.faults()
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 0, said
    # it was paid for before the request to erase; it is used by nobody
    assert {f"cv-{md5}" for md5 in md5s} <= bench.paid(key).keys()
    assert traces(bench, key, person, name, md5s) == GONE
    assert bench.left(key) == []


def test_an_unknown_person_is_said_to_be_unknown(bench: Bench) -> None:
    key, _ = bench.small(40)
    assert bench.command("migration", "check", key).code == 0
    ended = bench.command("erase-person", key, "no-such-id", "--yes")
    assert ended.code == 2
    assert "no person of migration" in ended.said


TEXT = (
    "Nora Example\nnora@example.org\n+44 20 7946 0999\n\nExperience\nClerk, Example Ltd, 2019 - 2023\n"
    "\nEducation\nExample College, 2015 - 2018\n\nSkills\nFiling, typing\n"
    + "Kept the books in order.\n"
    * 10
)


def with_one_text_of_two_people(bench: Bench, export: Path) -> tuple[tuple[str, str], tuple[str, str]]:
    """An export in which two people sent one text in other bytes: (person, MD5) of each, asked about first."""
    source, _ = bench.sample(40)
    shutil.copytree(source, export)
    with (export / "applications.csv").open(encoding="utf-8-sig", newline="") as file:
        applications = list(csv.DictReader(file))
    with (export / "candidates.csv").open(encoding="utf-8-sig", newline="") as file:
        known = {row["Candidate ID"] for row in csv.DictReader(file) if row["First Name"] != "Anonymized"}
    owners = {
        row["Candidate ID"]: row["Application ID"] for row in applications if row["Candidate ID"] in known
    }
    files = {
        person: (TEXT + "\n" * number).encode() for number, person in enumerate(sorted(owners)[:2], start=1)
    }
    listing = export / "attachments.csv"
    header = listing.read_text(encoding="utf-8-sig").splitlines()[0].split(",")
    with listing.open("a", encoding="utf-8", newline="") as file:
        for person, content in files.items():
            path = export / "attachments" / f"same-{person}" / "cv.txt"
            path.parent.mkdir()
            path.write_bytes(content)
            row = {
                "Attachment ID": f"same-{person}",
                "Candidate ID": person,
                "Application ID": owners[person],
                "File Name": "cv.txt",
                "Type": "resume",
                "Path": f"attachments/same-{person}/cv.txt",
            }
            csv.DictWriter(file, header, restval="").writerow(row)
    first, second = sorted((hashlib.md5(content).hexdigest(), person) for person, content in files.items())
    return (first[1], first[0]), (second[1], second[0])


@pytest.mark.parametrize("stage", ["read", "running", "imported"])
def test_who_sent_the_same_text_keeps_its_answer_when_the_one_that_was_asked_about_goes(
    bench: Bench, tmp_path: Path, stage: str
) -> None:
    (erased, gone), (_, stays) = with_one_text_of_two_people(bench, tmp_path / "export")
    bench.rules(limits={"min_records_per_job": 10})
    provider = {"quotas": {"min_records": 10}}
    key = bench.migration(tmp_path / "export", provider=provider, reuse_identical_text=True)
    if stage == "read":
        assert bench.command("migration", "check", key).code == 0
        assert bench.command("erase-person", key, erased, "--yes").code == 0
        ended = bench.run(key)
    elif stage == "running":
        running = bench.start_held(key)
        assert f"cv-{stays}" not in {
            row["record_id"]
            for row in bench.query("select record_id from batch_ledger.document where migration = %s", key)
        }
        erasing = bench.command("erase-person", key, erased, "--yes")
        assert erasing.code == 0, erasing.said
        bench.faults()
        said, _ = running.communicate(timeout=90)
        assert running.returncode == 0, said
        ended = bench.run(key)
    else:
        assert bench.run(key).code == 0
        ended = bench.command("erase-person", key, erased, "--yes")
    assert ended.code == 0, ended.said
    held = "select md5 from recruiting.parsed_cv where tenant = %s and md5 = any(%s)"
    assert bench.query(held, key, [gone, stays]) == [{"md5": stays}]
    assert bench.query("select 1 from recruiting.document where tenant = %s and md5 = %s", key, gone) == []
    assert bench.left(key) == []


def later_migration(bench: Bench, tenant: str) -> str:
    """A new file of the same customer, system and export."""
    export, _ = bench.sample(40)
    provider = {"quotas": {"min_records": 10}}
    key = bench.migration(export, provider=provider)
    bench.write(key, export, tenant=tenant, provider=provider)
    return key


def assert_left_out(bench: Bench, key: str, tenant: str, person: str, name: str, md5s: list[str]) -> None:
    """Their row is there, with nothing in it, and nothing of theirs was sent."""
    assert traces(bench, tenant, person, name, md5s) == GONE
    assert not {f"cv-{md5}" for md5 in md5s} & bench.paid(key).keys()
    row = "select erased_at is not null as erased from recruiting.person where tenant = %s and source_id = %s"
    assert bench.query(row, tenant, person) == [{"erased": True}]


def test_an_erased_person_does_not_come_back_after_a_rollback(bench: Bench) -> None:
    key, _ = bench.small(40)
    assert bench.run(key).code == 0
    person, name, md5s = someone(bench, key)
    assert bench.command("erase-person", key, person, "--yes").code == 0
    removed = bench.command("rollback", key, "--yes")
    assert removed.code == 0, removed.said
    later = later_migration(bench, key)
    ended = bench.run(later)
    assert ended.code == 0, ended.said
    assert_left_out(bench, later, key, person, name, md5s)


def test_an_erasure_asked_of_a_cancelled_migration_holds_for_the_next(bench: Bench) -> None:
    twin, _ = bench.small(40)
    assert bench.run(twin).code == 0
    person, name, md5s = someone(bench, twin)

    key, _ = bench.small(40)
    assert bench.command("migration", "check", key).code == 0
    assert bench.command("erase-person", key, person, "--yes").code == 0
    assert bench.command("cancel", key).code == 0
    later = later_migration(bench, key)
    ended = bench.run(later)
    assert ended.code == 0, ended.said
    assert_left_out(bench, later, key, person, name, md5s)


@pytest.mark.parametrize("planned", [False, True])
def test_a_person_erased_while_no_file_is_here_is_remembered_and_never_sent(
    bench: Bench, planned: bool
) -> None:
    twin, _ = bench.small(40)
    assert bench.run(twin).code == 0
    person, name, md5s = someone(bench, twin)

    key, _ = bench.small(40)
    if planned:
        bench.faults(api={"deny": ["ListModelInvocationJobs"]})
        assert bench.run(key).code == 1
        assert bench.documents(key)["owed"]
        bench.forget_files(key)
        bench.faults()
    erased = bench.command("erase-person", key, person, "--yes")
    assert erased.code == 0, erased.said
    assert "not known yet: remembered" in erased.said
    ended = bench.run(key)
    assert ended.code == 0, ended.said
    assert_left_out(bench, key, key, person, name, md5s)
    assert bench.left(key) == []


@pytest.mark.parametrize("lost", ["here", "elsewhere"])
def test_a_person_erased_without_the_files_while_jobs_run_has_no_answer_imported(
    bench: Bench, tmp_path: Path, lost: str
) -> None:
    """The disk was lost, or the command is given on another machine than the one whose run has the files."""
    twin, _ = bench.small(40)
    assert bench.run(twin).code == 0
    person, name, md5s = someone(bench, twin)

    key, _ = bench.small(40)
    running = bench.start_held(key)
    if lost == "here":
        bench.forget_files(key)
    home = {"BATCH_PIPELINE_HOME": str(tmp_path)} if lost == "elsewhere" else {}
    erased = bench.command("erase-person", key, person, "--yes", **home)
    assert erased.code == 0, erased.said
    assert "not known yet: remembered" in erased.said
    bench.faults()
    said, _ = running.communicate(timeout=90)
    assert running.returncode == 0, said
    # it was paid for before the request to erase; it is used by nobody
    assert {f"cv-{md5}" for md5 in md5s} <= bench.paid(key).keys()
    assert traces(bench, key, person, name, md5s) == GONE
    assert bench.left(key) == []


def test_an_id_the_import_does_not_hold_is_not_remembered(bench: Bench) -> None:
    key, _ = bench.small(40)
    assert bench.run(key).code == 0
    ended = bench.command("erase-person", key, "no-such-id", "--yes")
    assert ended.code == 2
    assert "nothing is remembered" in ended.said
    remembered = "select 1 from batch_ledger.erased_person where source_id = 'no-such-id' and migration = %s"
    assert bench.query(remembered, key) == []
