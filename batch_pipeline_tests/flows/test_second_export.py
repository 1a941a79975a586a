"""A later export of the same customer: what is new is read and paid, what was read before is reused."""

import shutil
from pathlib import Path

import pytest

from batch_pipeline_tests.flows.bench import Bench

pytestmark = [pytest.mark.servers, pytest.mark.timeout(200)]


def rows(bench: Bench, tenant: str) -> dict[str, int]:
    tables = ("application", "person", "attachment", "document", "parsed_cv", "parsed_cv_work", "cv_link")
    return {
        table: bench.query(f"select count(*) as n from recruiting.{table} where tenant = %s", tenant)[0]["n"]
        for table in tables
    }


def test_a_second_export_pays_for_new_cvs_only_and_touches_nothing_else(bench: Bench, tmp_path: Path) -> None:
    first, expected = bench.small(40)
    ended = bench.run(first)
    assert ended.code == 0, ended.said
    before = rows(bench, first)
    stamps = bench.query(
        "select md5, xmin::text as x from recruiting.parsed_cv where tenant = %s order by 1", first
    )

    export, _ = bench.sample(40)
    again = tmp_path / "again"
    shutil.copytree(export, again)
    added = again / "attachments" / "new" / "cv.txt"
    added.parent.mkdir()
    added.write_text(
        "Nora Example\nnora@example.org\n+44 20 7946 0999\n\nExperience\nClerk, Example Ltd, 2019 - 2023\n"
        "\nEducation\nExample College, 2015 - 2018\n\nSkills\nFiling, typing\n"
        + "Kept the books in order.\n"
        * 10
    )
    listing = again / "attachments.csv"
    application = bench.query(
        "select source_id, person_id from recruiting.application where tenant = %s order by 1 limit 1", first
    )[0]
    header = listing.read_text(encoding="utf-8-sig").splitlines()[0].split(",")
    values = {
        "Attachment ID": "new-1",
        "Candidate ID": application["person_id"],
        "Application ID": application["source_id"],
        "File Name": "cv.txt",
        "Type": "resume",
        "Created At": "2026-11-01T08:00:00Z",
        "Path": "attachments/new/cv.txt",
    }
    with listing.open("a", encoding="utf-8") as file:
        file.write(",".join(values.get(name, "") for name in header) + "\n")

    jobs = again / "jobs.csv"
    jobs.write_text(
        "".join(jobs.read_text(encoding="utf-8-sig").splitlines(keepends=True)[:-1]), encoding="utf-8"
    )

    bench.reset()
    bench.rules(limits={"min_records_per_job": 10})
    second = bench.migration(again, provider={"quotas": {"min_records": 10}})
    bench.write(second, again, tenant=first, provider={"quotas": {"min_records": 10}})
    ended = bench.run(second)
    assert ended.code == 0, ended.said
    said = " ".join(ended.said.replace("│", " ").split())
    assert "kept from earlier exports, not named by this one" in said
    assert bench.query("select count(*) as n from recruiting.job where tenant = %s", first) == [
        {"n": expected.jobs}
    ]
    meter = bench.meter()
    # the scans the model could not read are asked about again: they have no parsed CV to reuse
    assert bench.jobs(second) == []
    assert meter["on_demand"]["requests"] == 1 + len(expected.scan_documents)

    after = rows(bench, first)
    assert after == before | {
        name: before[name] + 1 for name in ("attachment", "document", "parsed_cv", "cv_link")
    } | {"parsed_cv_work": before["parsed_cv_work"] + 1}
    now = bench.query(
        "select md5, xmin::text as x from recruiting.parsed_cv where tenant = %s order by 1", first
    )
    assert [row for row in now if row in stamps] == stamps


def test_equal_texts_in_other_bytes_are_asked_about_once_when_the_file_says_so(
    bench: Bench, tmp_path: Path
) -> None:
    export, _ = bench.sample(40)
    again = tmp_path / "again"
    shutil.copytree(export, again)
    pdfs = [
        path for path in sorted((again / "attachments").rglob("*.pdf")) if path.read_bytes()[:5] == b"%PDF-"
    ]
    changed = 0
    for path in pdfs[::2]:
        with path.open("ab") as file:  # another re-export of what other applications hold too
            file.write(b"\n% saved again\n")
            changed += 1
    assert changed
    bench.rules(limits={"min_records_per_job": 10})
    reuse = {"provider": {"quotas": {"min_records": 10}}, "reuse_identical_text": True}
    key = bench.migration(again, **reuse)
    ended = bench.run(key)
    assert ended.code == 0, ended.said
    documents = bench.query("select md5, text_sha, verdict from recruiting.document where tenant = %s", key)
    texts = {row["text_sha"] for row in documents if row["verdict"] == "cv" and row["text_sha"]}
    with_text = [row for row in documents if row["verdict"] == "cv" and row["text_sha"]]
    assert len(with_text) > len(texts)
    assert len(bench.paid(key)) == len(texts)
    parsed = bench.query("select count(*) as n from recruiting.parsed_cv where tenant = %s", key)[0]["n"]
    assert parsed == len(with_text)
