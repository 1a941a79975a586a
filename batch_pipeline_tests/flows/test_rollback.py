"""Rollback as an operator meets it: when there is nothing yet, when a later export came, when the file moved."""

import csv
import shutil
from pathlib import Path

import pytest
import yaml

from batch_pipeline_tests.flows.bench import Bench

pytestmark = [pytest.mark.servers, pytest.mark.timeout(200)]
SMALL = {"quotas": {"min_records": 10}}


def people(bench: Bench, tenant: str) -> int:
    count: int = bench.query("select count(*) as n from recruiting.person where tenant = %s", tenant)[0]["n"]
    return count


def words(said: str) -> str:
    return " ".join(said.split())


def test_nothing_is_rolled_back_that_was_not_imported(bench: Bench) -> None:
    key, _ = bench.small(20)
    early = bench.command("rollback", key, "--yes")
    assert early.code == 1
    assert "is not imported, so there is nothing to roll back" in words(early.said)
    assert bench.run(key).code == 0
    assert "rolled back" not in bench.command("status", key).said
    assert bench.command("rollback", key, "--yes").code == 0
    again = bench.command("rollback", key, "--yes")
    assert (again.code, "was rolled back at" in words(again.said)) == (1, True)


def test_rows_stay_where_they_are_when_the_file_names_another_place(bench: Bench) -> None:
    key, expected = bench.small(20)
    assert bench.run(key).code == 0
    path = bench.stack.migrations / f"{key}.yaml"
    before = path.read_text()
    for change in ({"target": {"schema": "elsewhere"}}, {"source": {"system": "another"}}):
        content = yaml.safe_load(before)
        for section, values in change.items():
            content[section] = content.get(section, {}) | values
        path.write_text(yaml.safe_dump(content))
        for command in (("rollback", key, "--yes"), ("erase-person", key, "7001", "--yes")):
            refused = bench.command(*command)
            assert refused.code == 2, refused.said
            assert "put the setting back" in words(refused.said)
    path.write_text(before)
    assert people(bench, key) == expected.people
    assert bench.query("select 1 from pg_namespace where nspname = 'elsewhere'") == []


def moved(export: Path, to: Path) -> Path:
    """A later export: one more application, and somebody's attachment hangs on it now."""
    shutil.copytree(export, to)
    with (to / "attachments.csv").open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        attachments = list(reader)
        names = list(reader.fieldnames or [])
    moving = next(row for row in attachments if row["Application ID"])
    with (to / "applications.csv").open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        applications = list(reader)
        columns = list(reader.fieldnames or [])
    old = next(row for row in applications if row["Application ID"] == moving["Application ID"])
    applications.append(old | {"Application ID": "later-1"})
    moving["Application ID"] = "later-1"
    for table, rows, header in (("attachments", attachments, names), ("applications", applications, columns)):
        with (to / f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, header)
            writer.writeheader()
            writer.writerows(rows)
    return to


def test_a_base_and_its_later_export_go_out_in_order_or_together(bench: Bench, tmp_path: Path) -> None:
    export, expected = bench.sample(20)
    bench.rules(limits={"min_records_per_job": 10})
    base = bench.migration(export, provider=SMALL)
    assert bench.run(base).code == 0
    later = bench.migration(export, provider=SMALL)
    bench.write(later, moved(export, tmp_path / "later"), tenant=base, provider=SMALL)
    ended = bench.run(later)
    assert ended.code == 0, ended.said

    first = bench.command("rollback", base, "--yes")
    assert first.code == 3
    assert f"{later} came later" in words(first.said)
    assert f"batch-pipeline rollback {base} --with-later" in words(first.said)
    # the base's own attachment hangs on the later one's application now
    alone = bench.command("rollback", later, "--yes")
    assert alone.code == 3, alone.said
    assert f"batch-pipeline rollback {base} --with-later" in words(alone.said)
    assert people(bench, base) == expected.people

    both = bench.command("rollback", base, "--with-later", "--yes")
    assert both.code == 0, both.said
    assert people(bench, base) == 0
    for key in (base, later):
        assert "rolled back" in bench.command("status", key).said


def test_the_last_export_goes_out_alone_and_says_what_stays_changed(bench: Bench, tmp_path: Path) -> None:
    export, expected = bench.sample(20)
    bench.rules(limits={"min_records_per_job": 10})
    base = bench.migration(export, provider=SMALL)
    assert bench.run(base).code == 0
    later = tmp_path / "renamed"
    shutil.copytree(export, later)
    table = later / "jobs.csv"
    lines = table.read_text(encoding="utf-8-sig").splitlines()
    lines[1] = lines[1].replace("open", "closed", 1) if "open" in lines[1] else lines[1] + " "
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    delta = bench.migration(later, provider=SMALL)
    bench.write(delta, later, tenant=base, provider=SMALL)
    ended = bench.run(delta)
    assert ended.code == 0, ended.said
    out = bench.command("rollback", delta, "--yes")
    assert out.code == 0, out.said
    assert people(bench, base) == expected.people
    assert "1 rows of earlier migrations keep the values" in words(out.said)
    assert bench.command("rollback", base, "--yes").code == 0
    assert people(bench, base) == 0
