"""A customer's whole history goes from an export to the database, and nothing stays behind."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from batch_pipeline_tests.documents.tesseract_stand_in import GOOD, says
from batch_pipeline_tests.flows.bench import Bench, assert_paid_once, assert_right, load_json

pytestmark = pytest.mark.servers
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "ats_samples"


def test_every_cv_lands_on_exactly_its_applications(bench: Bench) -> None:
    """F6: the emulator shuffles its output; a marker in each CV says where it belongs."""
    export, expected = bench.sample(130)
    key = bench.migration(export)
    done = bench.run(key)
    assert done.code == 0, done.said
    assert_right(bench, key, expected)
    assert_paid_once(bench)
    assert bench.outcomes(key)["parsed"] >= len(expected.markers)
    assert len(bench.jobs(key)) == 1


@pytest.mark.skipif(not SHARED.exists(), reason="the shared sample exports are not beside the checkout")
def test_the_shared_export_ends_with_its_figures(bench: Bench) -> None:
    expected = load_json(SHARED / "expected_canonical.json")
    key = bench.migration(SHARED / "csv_zip")
    done = bench.run(key)
    assert done.code == 0, done.said

    def count(table: str, condition: str = "true") -> int:
        rows = bench.query(
            f"select count(*) as n from recruiting.{table} where tenant = %s and {condition}", key
        )
        return int(rows[0]["n"])

    assert count("person") == expected["candidates"]
    assert count("person", "erased_at is not null") == expected["candidates_erased"]
    assert count("application") == expected["applications"]
    assert count("job") == expected["jobs"]
    assert count("note") == expected["notes"]
    assert count("stage_move") == expected["stage_moves"]
    assert count("document", "verdict = 'cv'") == 6
    assert bench.jobs(key) == []
    assert bench.meter()["on_demand"]["requests"] == 6  # two of them hold the same text in other bytes
    assert bench.left(key) == []


def test_missing_and_orphan_files_are_acknowledged_before_a_migration_is_called_verified(
    bench: Bench, tmp_path: Path
) -> None:
    source, expected = bench.sample(40)
    export = tmp_path / "export"
    shutil.copytree(source, export)
    (export / "attachments" / "nobody.pdf").write_bytes(b"%PDF-")
    bench.rules(limits={"min_records_per_job": 10})
    key = bench.migration(export, provider={"quotas": {"min_records": 10}})
    assert bench.run(key).code == 0
    missing = expected.states["missing"]
    said = " ".join(bench.command("status", key).said.split())
    assert f"verified when somebody knows of {missing} missing and 2 orphan files" in said
    acknowledged = bench.command("acknowledge", key)
    assert acknowledged.code == 0
    assert str(missing) in acknowledged.said
    assert "done: imported, verified, erased" in bench.command("status", key).said
    assert bench.command("acknowledge", "no-such-migration").code == 2


def test_a_run_after_the_end_changes_nothing(bench: Bench) -> None:
    key, expected = bench.small()
    assert bench.run(key).code == 0
    before = bench.meter()
    again = bench.run(key)
    assert again.code == 0
    assert "objects left" in again.said
    assert bench.meter() == before
    assert_right(bench, key, expected)
    refused = bench.command("pause", key)
    assert refused.code == 1
    assert "nothing was changed" in refused.said
    assert bench.state(key) == "erased"


def test_fewer_cvs_than_the_smallest_job_go_one_by_one(bench: Bench) -> None:
    """F17: never a job under the minimum."""
    key, expected = bench.small(documents=9)
    done = bench.run(key)
    assert done.code == 0, done.said
    assert bench.jobs(key) == []
    assert bench.meter()["on_demand"]["requests"] == 9
    assert_right(bench, key, expected)


def test_a_bucket_without_versions_ends_empty_too(bench: Bench) -> None:
    bucket = "without-versions"
    bench.s3().create_bucket(Bucket=bucket)
    key, expected = bench.small(provider={"bucket": bucket})
    assert bench.run(key).code == 0
    assert bench.left(key, bucket) == []
    assert_right(bench, key, expected)
    bench.s3().delete_bucket(Bucket=bucket)


def test_several_jobs_share_the_documents_between_them(bench: Bench) -> None:
    key, expected = bench.small(most=13)
    assert bench.run(key).code == 0
    assert sorted(job["totalRecordCount"] for job in bench.jobs(key)) == [12, 13, 13]
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_scans_that_are_read_on_this_machine_go_in_batch(bench: Bench, tmp_path: Path) -> None:
    says(tmp_path, GOOD, 93)
    key, expected = bench.small(ocr={"languages": ["eng"]})
    assert expected.scan_documents
    missing = bench.command("migration", "check", key, PATH=str(Path(sys.executable).parent))
    assert missing.code == 2
    assert "ocr.engine" in missing.said
    ended = bench.run(key, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert ended.code == 0, ended.said
    routes = bench.query("select distinct route from batch_ledger.document where migration = %s", key)
    assert routes == [{"route": "batch"}]
    read = bench.query(
        "select count(*) as n from recruiting.document where tenant = %s and md5 = any(%s) "
        "and text_chars > 0 and not needs_vision and parse_status = 'parsed'",
        key,
        list(expected.scan_documents),
    )
    assert read == [{"n": len(expected.scan_documents)}]
