"""What went to whom stays known when everything else of a migration is erased, and names nobody."""

import csv
from pathlib import Path

import pytest

from batch_pipeline_tests.flows.bench import MODEL, Bench
from batch_pipeline_tests.flows.personal_words import personal_words

pytestmark = pytest.mark.servers


def test_the_trail_holds_every_paid_request_and_nobodys_name(bench: Bench, tmp_path: Path) -> None:
    """Some records fail once and go again: two transfers of one document, one of them used."""
    export, expected = bench.sample(40)
    bench.faults(records=[{"code": 429, "plane": "batch", "rate": 0.5, "times": 1}])
    key, _ = bench.small()
    done = bench.run(key)
    assert done.code == 0, done.said
    trail = tmp_path / "trail.csv"
    wrote = bench.command("audit", key, "--to", str(trail))
    assert wrote.code == 0, wrote.said
    text = trail.read_text()
    rows = list(csv.DictReader(text.splitlines()))
    used = [row["document_md5"] for row in rows if row["used"] == "true"]
    answered = bench.query("select md5 from batch_ledger.document where migration = %s order by md5", key)
    assert sorted(used) == [row["md5"] for row in answered]
    assert {row["sent_to"] for row in rows} == {"bedrock:123456789012:us-east-1"}
    assert {row["model"] for row in rows} == {MODEL}
    assert {row["route"] for row in rows} == {"batch", "on_demand"}
    paid = [row["record_id"] for row in rows if row["route"] == "batch" and row["outcome"] == "answered"]
    assert sorted(paid) == sorted(bench.paid(key))
    failed = [row["error_code"] for row in rows if row["outcome"] == "error"]
    assert failed and set(failed) == {"429"}
    assert len(rows) == len(used) + len(failed)
    assert all(row["sent_at"] and row["ended_at"] and row["erased_at"] for row in rows)
    words = personal_words(export) | set(expected.markers)
    assert not [word for word in words if word in text]


def test_a_trail_is_never_written_over_another(bench: Bench, tmp_path: Path) -> None:
    key, _ = bench.small()
    there = tmp_path / "trail.csv"
    there.write_text("kept")
    refused = bench.command("audit", key, "--to", str(there))
    assert (refused.code, there.read_text()) == (2, "kept")
    assert "--to" in refused.said


def test_an_unknown_migration_is_wrong_usage(bench: Bench, tmp_path: Path) -> None:
    assert bench.command("audit", "nobody", "--to", str(tmp_path / "trail.csv")).code == 2
