"""Each way an output can come damaged, on demand."""

import json
from typing import Any

import pytest

from batch_pipeline_tests.local.emulator.conftest import Bench, claude_record

pytestmark = pytest.mark.servers

RECORDS = [claude_record(n) for n in range(100)]
IDS = [record["recordId"] for record in RECORDS]


def raw_lines(bench: Bench, job: str) -> list[bytes]:
    return [line for line in bench.read(job).split(b"\n") if line]


def good_lines(raw: list[bytes]) -> list[dict[str, Any]]:
    good = []
    for line in raw:
        try:
            good.append(json.loads(line))
        except ValueError:
            continue
    return good


def test_order_echo_and_error_shapes(bench: Bench) -> None:
    bench.faults(
        output={
            "keep_order": True,
            "missing_echo": True,
            "text_error_codes": True,
            "errors_inside_output": True,
        },
        records=[{"code": 500, "record_ids": ["cv-000003"]}],
    )
    lines = bench.lines(bench.run(RECORDS))
    assert [line["recordId"] for line in lines] == IDS
    assert not any("modelInput" in line for line in lines)
    assert lines[3]["modelOutput"]["errorCode"] == "500"


def test_damaged_lines(bench: Bench) -> None:
    bench.faults(
        output={
            "altered_echo": 2,
            "unknown_record_ids": 3,
            "corrupt_lines": 1,
            "missing_lines": 4,
            "duplicate_lines": 1,
            "truncated_last_line": True,
        }
    )
    raw = raw_lines(bench, bench.run(RECORDS))
    assert len(raw) == 100 - 4 + 1
    lines = good_lines(raw)
    assert len(lines) == len(raw) - 2, "one corrupt, one cut"
    assert sum(line["modelInput"] == {"altered": True} for line in lines) == 2
    assert sum(line["recordId"] not in IDS for line in lines) == 3


@pytest.mark.parametrize(
    ("faults", "keys"),
    [
        ({"missing_manifest": True}, ["x.jsonl.out"]),
        ({"missing_output_files": True}, ["manifest.json.out"]),
    ],
)
def test_missing_objects(bench: Bench, faults: dict[str, Any], keys: list[str]) -> None:
    bench.faults(output=faults)
    job = bench.run(RECORDS)
    assert bench.job(job)["status"] == "Completed"
    assert bench.keys(job) == keys


@pytest.mark.parametrize(("counters", "shown"), [("zero", 0), ("missing", None)])
def test_counters_that_cannot_be_trusted(bench: Bench, counters: str, shown: int | None) -> None:
    bench.faults(jobs={"counters": counters}, output={"manifest_extra": {"foo": 1}})
    job = bench.run(RECORDS)
    assert bench.job(job).get("totalRecordCount") == shown
    manifest = json.loads(bench.read(job, "manifest.json.out"))
    assert (manifest.get("totalRecordCount"), manifest["foo"]) == (shown, 1)


def test_a_job_that_fails_says_why(bench: Bench) -> None:
    bench.faults(jobs={"fail_message": "The role cannot read the input bucket."})
    job = bench.run(RECORDS)
    assert bench.job(job)["message"] == "The role cannot read the input bucket."
    assert bench.get("events")["events"][-1]["detail"]["failureMessage"].startswith("The role")


def test_nested_input_keys_follow_the_layout_switch(bench: Bench) -> None:
    source = bench.upload(RECORDS[:50], "a/x.jsonl")
    folder = source.removeprefix("s3://emulator-tests/")
    rest = b"\n".join(json.dumps(r).encode() for r in RECORDS[50:])
    bench.s3.put_object(Bucket="emulator-tests", Key=f"{folder}b/y.jsonl", Body=rest)
    flat = bench.create(source)
    bench.advance(1000)
    assert sorted(bench.keys(flat)) == ["manifest.json.out", "x.jsonl.out", "y.jsonl.out"]
    bench.rules(unknowns={"output_layout": "nested"})
    nested = bench.create(source)
    bench.advance(1000)
    assert sorted(bench.keys(nested)) == ["a/x.jsonl.out", "b/y.jsonl.out", "manifest.json.out"]
