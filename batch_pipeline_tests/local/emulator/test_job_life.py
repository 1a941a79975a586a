"""A batch job from Create to its end, through real boto3 and a real S3 server."""

import json
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from batch_pipeline_tests.local.emulator.conftest import (
    BUCKET,
    NOVA,
    Bench,
    Start,
    claude_record,
    converse_record,
)
from batch_pipeline_tests.local.emulator.model_server import Model

pytestmark = pytest.mark.servers


def test_a_job_goes_through_every_state_and_its_output_joins_by_record_id(bench: Bench) -> None:
    records = [claude_record(n) for n in range(120)]
    job = bench.create(bench.upload(records))
    seen = [bench.job(job)["status"]]
    validating = None
    for seconds in (10, 10, 10, 50, 50):
        bench.advance(seconds)
        shown = bench.job(job)
        seen.append(shown["status"])
        if shown["status"] == "Validating":
            validating = shown["totalRecordCount"]
        if shown["status"] == "InProgress" and seconds == 50:
            assert shown["processedRecordCount"] == 60
    assert seen == ["Submitted", "Validating", "Scheduled", "InProgress", "InProgress", "Completed"]
    assert validating == 0
    shown = bench.job(job)
    assert (shown["totalRecordCount"], shown["successRecordCount"], shown["errorRecordCount"]) == (
        120,
        120,
        0,
    )
    assert shown["endTime"] > shown["submitTime"]
    assert sorted(bench.keys(job)) == ["manifest.json.out", "x.jsonl.out"]
    lines = bench.lines(job)
    sent = {r["recordId"]: r["modelInput"] for r in records}
    assert {line["recordId"]: line["modelInput"] for line in lines} == sent
    assert [line["recordId"] for line in lines] != list(sent), "lines are shuffled"
    for line in lines:
        answer = json.loads(line["modelOutput"]["content"][0]["text"])
        assert answer["basics"]["email"] == f"ada{int(line['recordId'][3:])}@example.com"
    manifest = json.loads(bench.read(job, "manifest.json.out"))
    usage = [line["modelOutput"]["usage"] for line in lines]
    assert manifest["inputTokenCount"] == sum(u["input_tokens"] for u in usage)
    assert manifest["outputTokenCount"] == sum(u["output_tokens"] for u in usage)
    assert "cacheReadInputTokenCount" in manifest
    meter = bench.get("meter")
    assert meter["jobs"][job]["requests"] == 120
    assert meter["paid_more_than_once"] == {}
    statuses = [e["detail"]["status"] for e in bench.get("events")["events"]]
    assert statuses == ["Submitted", "Validating", "Scheduled", "InProgress", "Completed"]
    assert bench.get("events")["events"][0]["detail"]["batchJobArn"].endswith(job)


def test_the_manual_clock_stands_still_until_it_is_moved(bench: Bench) -> None:
    job = bench.create(bench.upload(claude_record(n) for n in range(100)))
    assert bench.advance(9.9) == {job: "Submitted"}
    assert bench.advance(0.1) == {job: "Validating"}


def test_a_folder_is_read_whole_and_gives_one_output_a_file(bench: Bench) -> None:
    source = bench.upload((claude_record(n) for n in range(60)), "a.jsonl")
    folder = source.removeprefix(f"s3://{BUCKET}/")
    rest = b"\n".join(json.dumps(claude_record(n)).encode() for n in range(60, 110))
    bench.s3.put_object(Bucket=BUCKET, Key=f"{folder}b.jsonl", Body=rest)
    bench.s3.put_object(Bucket=BUCKET, Key=f"{folder}notes.txt", Body=b"no record")
    job = bench.create(source)
    bench.advance(1000)
    assert bench.job(job)["totalRecordCount"] == 110
    assert sorted(bench.keys(job)) == ["a.jsonl.out", "b.jsonl.out", "manifest.json.out"]
    assert len(bench.lines(job, "b.jsonl.out")) == 50


def test_a_single_object_can_be_the_input(bench: Bench) -> None:
    source = bench.upload(claude_record(n) for n in range(100))
    job = bench.create(f"{source}x.jsonl")
    bench.advance(1000)
    assert bench.job(job)["status"] == "Completed"


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([claude_record(n) for n in range(99)], "required minimum of: 100"),
        ([claude_record(n) for n in range(100)] + [b"not json"], "Line 101"),
        ([claude_record(n) for n in range(100)] + [b'{"recordId": "1", "modelInput": "text"}'], "Line 101"),
        ([claude_record(n) for n in range(100)] + [b'{"recordId": 1, "modelInput": {}}'], "Line 101"),
    ],
)
def test_a_job_with_bad_input_fails_while_validating(bench: Bench, records: list[Any], message: str) -> None:
    job = bench.run(records)
    shown = bench.job(job)
    assert (shown["status"], message in shown["message"]) == ("Failed", True)
    assert bench.keys(job) == []
    assert bench.get("meter")["requests"] == 0


def test_the_minimum_can_be_checked_at_create(bench: Bench) -> None:
    bench.rules(unknowns={"minimum_check": "sync"})
    with pytest.raises(ClientError, match=r"ValidationException.*required minimum"):
        bench.create(bench.upload(claude_record(n) for n in range(99)))
    assert bench.get("jobs") == {"jobs": []}


def test_quotas_of_records_and_bytes_fail_the_job(bench: Bench) -> None:
    source = bench.upload(claude_record(n) for n in range(120))
    for limits, words in (
        ({"max_records_per_job": 110}, "more records"),
        ({"max_records_per_file": 110}, "more records"),
        ({"max_file_bytes": 1000}, "size limit"),
        ({"max_job_bytes": 1000}, "size limit"),
    ):
        bench.rules(limits=limits)
        job = bench.create(source)
        bench.advance(1000)
        assert words in bench.job(job)["message"]


def test_a_missing_bucket_fails_the_job_with_its_reason(bench: Bench) -> None:
    job = bench.create("s3://no-such-bucket-here/in/")
    bench.advance(100)
    assert bench.job(job)["status"] == "Failed"
    assert "NoSuchBucket" in bench.job(job)["message"]


def test_a_job_whose_every_record_fails_is_still_completed(bench: Bench) -> None:
    records = [claude_record(n) for n in range(100)]
    for record in records:
        del record["modelInput"]["anthropic_version"]
    job = bench.run(records)
    shown = bench.job(job)
    assert (shown["status"], shown["successRecordCount"], shown["errorRecordCount"]) == ("Completed", 0, 100)
    error = bench.lines(job)[0]["error"]
    assert error == {
        "errorCode": 400,
        "errorMessage": "anthropic_version: Field required",
        "expired": False,
        "retryable": False,
    }
    assert bench.get("meter")["requests"] == 0, "failed records are not billed by default"


def test_running_out_of_time_is_partially_completed(bench: Bench) -> None:
    bench.faults(jobs={"hold_after_records": 60})
    job = bench.create(bench.upload(claude_record(n) for n in range(100)), timeoutDurationInHours=24)
    assert bench.advance(3600)[job] == "InProgress"
    assert bench.advance(24 * 3600)[job] == "PartiallyCompleted"
    assert len(bench.lines(job)) == 60
    assert bench.job(job)["endTime"] == bench.job(job)["jobExpirationTime"]
    assert bench.get("meter")["jobs"][job]["requests"] == 60


def test_unreached_records_can_come_as_expired_errors(bench: Bench) -> None:
    bench.rules(unknowns={"expired_lines": "error_lines"})
    bench.faults(jobs={"time_out_after_records": 60})
    job = bench.run([claude_record(n) for n in range(100)])
    assert bench.job(job)["status"] == "PartiallyCompleted"
    lines = bench.lines(job)
    assert len({line["recordId"] for line in lines}) == 100
    assert sum(line.get("error", {}).get("expired", False) for line in lines) == 40


def test_a_job_that_never_starts_expires(bench: Bench) -> None:
    bench.faults(jobs={"hold": ["Scheduled"]})
    job = bench.create(bench.upload(claude_record(n) for n in range(100)))
    assert bench.advance(3600)[job] == "Scheduled"
    assert bench.advance(24 * 3600)[job] == "Expired"
    assert bench.keys(job) == []


def test_a_stopped_job_keeps_what_it_had_answered(bench: Bench) -> None:
    job = bench.create(bench.upload(claude_record(n) for n in range(100)))
    bench.advance(30 + 40)
    bench.client().stop_model_invocation_job(jobIdentifier=bench.job(job)["jobArn"])
    assert bench.job(job)["status"] == "Stopping"
    assert bench.advance(10)[job] == "Stopped"
    assert len(bench.lines(job)) == 40
    assert bench.get("meter")["jobs"][job]["requests"] == 40
    with pytest.raises(ClientError, match="ConflictException"):
        bench.client().stop_model_invocation_job(jobIdentifier=job)


def test_converse_answers_carry_explicit_nulls_in_batch_only(bench: Bench) -> None:
    job = bench.run([converse_record(n) for n in range(100)], modelId=NOVA, modelInvocationType="Converse")
    output = bench.lines(job)[0]["modelOutput"]
    block = output["output"]["message"]["content"][0]
    assert block["text"] and block["image"] is None and block["toolUse"] is None
    assert output["usage"]["totalTokens"] > 0
    live = bench.client("bedrock-runtime").converse(modelId=NOVA, **converse_record(1)["modelInput"])
    assert list(live["output"]["message"]["content"][0]) == ["text"]


def test_unicode_line_separators_stay_unescaped(bench: Bench) -> None:
    odd = "Ada One\u2028Engineer\u0085ada@example.com\nMARKER-1"
    job = bench.run([claude_record(n, odd) for n in range(100)])
    raw = bench.read(job)
    assert "\u2028".encode() in raw and "\u0085".encode() in raw
    assert len(raw.split(b"\n")) == 101
    assert len(raw.decode().splitlines()) > 101, "this is the trap"


def test_duplicate_record_ids_are_answered_and_paid_twice_or_refused(bench: Bench) -> None:
    records = [claude_record(n) for n in range(100)] + [claude_record(7)]
    job = bench.run(records)
    assert len(bench.lines(job)) == 101
    assert next(iter(bench.get("meter")["paid_more_than_once"].values()))["record_ids"] == ["cv-000007"]
    bench.rules(unknowns={"duplicate_record_ids": "fail_job"})
    assert bench.job(bench.run(records))["status"] == "Failed"


def test_a_restarted_emulator_goes_on_without_paying_again(start: Start, tmp_path: Any) -> None:
    first = start(state_dir=tmp_path / "state")
    job = first.create(first.upload(claude_record(n) for n in range(100)), clientRequestToken="token-1")
    first.advance(30 + 37)
    assert first.job(job)["processedRecordCount"] == 37
    first.inside.stop()
    again = start(state_dir=tmp_path / "state")
    assert again.job(job)["processedRecordCount"] == 37
    assert again.advance(100)[job] == "Completed"
    assert len({line["recordId"] for line in again.lines(job)}) == 100
    meter = again.get("meter")
    assert (meter["requests"], meter["paid_more_than_once"]) == (100, {})


def test_the_real_clock_needs_no_help(start: Start) -> None:
    bench = start(clock="real", phases={"in_progress": 0.2})
    job = bench.create(bench.upload(claude_record(n) for n in range(100)))
    deadline = time.monotonic() + 60
    while bench.job(job)["status"] != "Completed":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert len(bench.lines(job)) == 100


def test_an_openai_server_can_answer_a_whole_batch(start: Start, model_server: str) -> None:
    bench = start(engine="openai", base_url=model_server, model_name="small", engine_concurrency=3)
    job = bench.run([claude_record(n) for n in range(100)])
    lines = bench.lines(job)
    assert {line["recordId"] for line in lines} == {f"cv-{n:06d}" for n in range(100)}
    assert all(line["modelOutput"]["usage"]["input_tokens"] == 11 for line in lines)
    asked = {body["messages"][0]["content"] for body in Model.asked}
    assert len(asked) == len(Model.asked) == 100


def test_a_stop_in_the_middle_of_real_work_settles_cleanly(start: Start) -> None:
    bench = start(clock="real", phases={"in_progress": 30})
    job = bench.create(bench.upload(claude_record(n) for n in range(3000)))
    deadline = time.monotonic() + 60
    while bench.job(job)["processedRecordCount"] < 50:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    bench.client().stop_model_invocation_job(jobIdentifier=job)
    while (shown := bench.job(job))["status"] == "Stopping":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert shown["status"] == "Stopped"
    paid = bench.get("meter")["jobs"][job]["requests"]
    assert len(bench.lines(job)) == shown["processedRecordCount"] == paid
    assert 50 <= paid < 3000


def test_a_reset_forgets_jobs_and_keeps_no_file(bench: Bench) -> None:
    job = bench.create(bench.upload(claude_record(n) for n in range(100)))
    bench.advance(60)
    bench.inside.reset()
    assert bench.get("jobs") == {"jobs": []}
    assert bench.get("meter")["requests"] == 0
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        bench.job(job)
    assert bench.advance(1000) == {}
