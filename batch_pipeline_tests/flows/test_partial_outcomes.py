"""Jobs that end in part, badly or oddly: every paid line is used, only what is owed goes again."""

import json
from datetime import datetime
from typing import Any

import pytest

from batch_pipeline.local.emulator.server import running_emulator
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases
from batch_pipeline.local.stack import BUCKET
from batch_pipeline_tests.flows.bench import Bench, assert_paid_once, assert_right

pytestmark = pytest.mark.servers
TEXTS = 38  # of 40 CVs two are scans


def imported(bench: Bench, key: str) -> int:
    """Rows of this tenant in the target; the tables may not be there yet."""
    if not bench.query(
        "select 1 as n from pg_tables where schemaname = 'recruiting' and tablename = 'person'"
    ):
        return 0
    return int(bench.query("select count(*) as n from recruiting.person where tenant = %s", key)[0]["n"])


def oddities(bench: Bench, key: str) -> dict[str, int]:
    rows = bench.query(
        "select detail from batch_ledger.event where migration = %s and kind = 'oddities in output'", key
    )
    found: dict[str, int] = {}
    for row in rows:
        for what, count in row["detail"].items():
            if what != "job":
                found[what] = found.get(what, 0) + count
    return found


def test_a_job_that_ran_out_of_time_is_kept_and_the_rest_goes_again(at_once: Bench) -> None:
    """F14, F15."""
    at_once.faults(jobs={"time_out_after_records": 20})
    key, expected = at_once.small()
    done = at_once.run(key)
    assert done.code == 0, done.said
    assert at_once.statuses(key) == ["PartiallyCompleted", "Completed"]
    assert [job["totalRecordCount"] for job in at_once.jobs(key)] == [TEXTS, TEXTS - 20]
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_expired_lines_are_owed_and_not_failed(at_once: Bench) -> None:
    at_once.faults(jobs={"time_out_after_records": 20})
    key, expected = at_once.small()
    at_once.rules(limits={"min_records_per_job": 10}, unknowns={"expired_lines": "error_lines"})
    done = at_once.run(key)
    assert done.code == 0, done.said
    assert at_once.documents(key) == {"answered": 40}
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_a_remainder_under_the_minimum_goes_on_demand(at_once: Bench) -> None:
    """F18."""
    at_once.faults(jobs={"time_out_after_records": 33})
    key, expected = at_once.small()
    assert at_once.run(key).code == 0
    assert at_once.statuses(key) == ["PartiallyCompleted"]
    assert at_once.meter()["on_demand"]["requests"] == 5 + 2
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_a_job_somebody_stopped_is_kept_and_the_rest_goes_again(bench: Bench) -> None:
    bench.faults(jobs={"hold_after_records": 20})
    key, expected = bench.small()
    with bench.start("run", key) as run:
        bench.wait_for(lambda: bool(bench.jobs(key)) and bench.jobs(key)[0]["processedRecordCount"] == 20)
        stopped = bench.bedrock().stop_model_invocation_job(jobIdentifier=bench.jobs(key)[0]["jobArn"])
        assert stopped
        bench.wait_for(lambda: bench.statuses(key)[0] == "Stopped")
        bench.faults()
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert bench.statuses(key) == ["Stopped", "Completed"]
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_a_job_that_expired_costs_nothing_and_goes_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in bench.stack.environment.items():
        monkeypatch.setenv(name, value)
    short = Phases(submitted=1, validating=1, scheduled=1, in_progress=1, stopping=1)
    with running_emulator(EmulatorSettings(port=0, clock="manual", phases=short)) as manual:
        away = Bench(bench.stack, bench.customers, bench.samples, address=manual.url)
        away.faults(jobs={"hold": ["Scheduled"]})
        key, expected = away.small()
        with away.start("run", key) as run:
            away.wait_for(lambda: bool(away.jobs(key)))
            away.advance(25 * 3600)
            assert away.statuses(key) == ["Expired"]
            away.faults()
            away.wait_for(lambda: len(away.jobs(key)) == 2)
            away.advance(100)
            said, _ = run.communicate(timeout=60)
        assert run.returncode == 0, said
        assert away.statuses(key) == ["Expired", "Completed"]
        assert_right(away, key, expected)
        assert_paid_once(away)
        attempts = away.query(
            "select max(attempts) as n from batch_ledger.document where migration = %s", key
        )
        assert attempts == [{"n": 1}]


def test_a_job_that_failed_as_a_whole_holds_the_migration_with_the_providers_words(bench: Bench) -> None:
    """F20: shown, not repeated; after the cause is mended the same records make a new attempt."""
    bench.faults(jobs={"fail_message": "The role cannot read s3://wrong-prefix."})
    key, expected = bench.small()
    held = bench.run(key)
    assert held.code == 3
    assert "The role cannot read s3://wrong-prefix." in held.said
    assert f"batch-pipeline resume {key}" in held.said
    assert bench.run(key).code == 3
    assert len(bench.jobs(key)) == 1
    assert imported(bench, key) == 0
    bench.faults()
    assert bench.command("resume", key).code == 0
    assert bench.run(key).code == 0
    assert [job["jobName"][-3:] for job in bench.jobs(key)] == ["-a1", "-a2"]
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_a_job_of_errors_alone_imports_nothing_and_erases_nothing(bench: Bench) -> None:
    """F1: Completed, and not one answer; said once, with how many."""
    bench.faults(records=[{"code": 400, "message": "anthropic_version: Field required", "plane": "batch"}])
    key, expected = bench.small()
    held = bench.run(key)
    assert held.code == 3
    assert f"{TEXTS} x 400: anthropic_version: Field required" in " ".join(held.said.split())
    assert bench.statuses(key) == ["Completed"]
    assert imported(bench, key) == 0
    assert bench.left(key)
    assert bench.documents(key)["failed"] == TEXTS
    bench.faults()
    assert bench.command("resume", key, "--retry-failed").code == 0
    assert bench.run(key).code == 0
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_some_permanent_errors_are_reported_once_and_never_retried(bench: Bench) -> None:
    bench.faults(records=[{"code": 403, "rate": 0.3, "plane": "batch", "message": "cache not allowed"}])
    key, _expected = bench.small()
    done = bench.run(key)
    assert done.code == 0, done.said
    failed = bench.documents(key)["failed"]
    assert 0 < failed < TEXTS
    assert len(bench.jobs(key)) == 1
    found = bench.outcomes(key)
    assert (found["provider_error"], sum(found.values())) == (failed, 40)
    assert f"{failed} failed: provider_error 403 cache not allowed" in bench.command("status", key).said
    assert bench.left(key) == []


def test_errors_worth_it_are_sent_again_and_paid_once(bench: Bench) -> None:
    bench.faults(
        records=[{"code": 429, "times": 1, "plane": "batch"}],
        output={"text_error_codes": True, "errors_inside_output": True},
    )
    key, expected = bench.small()
    done = bench.run(key)
    assert done.code == 0, done.said
    assert bench.statuses(key) == ["Completed", "Completed"]
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_a_passing_error_waits_before_it_goes_again_as_the_file_says(bench: Bench) -> None:
    """Whatever else asks for the migration meanwhile: a pause for room ends early, this one does not."""
    bench.faults(records=[{"code": 429, "times": 1, "plane": "batch", "rate": 0.5}])
    key, expected = bench.small(limits={"backoff_minutes": 0.1})
    with bench.start("run", key) as run:
        bench.wait_for(
            lambda: bench.documents(key).get("sent", 0) > 0 and bench.statuses(key) == ["Completed"]
        )
        others, _ = bench.sample(30, seed=11)
        beside = bench.migration(others, provider={"quotas": {"min_records": 10}})
        assert bench.run(beside).code == 0  # a job of the same account ends: its room is free
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    first, second = sorted(bench.jobs(key), key=lambda job: str(job["submitTime"]))
    waited = datetime.fromisoformat(second["submitTime"]) - datetime.fromisoformat(first["endTime"])
    assert waited.total_seconds() >= 6
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_attempts_are_bounded_by_the_migrations_file(bench: Bench) -> None:
    bench.faults(records=[{"code": 503, "rate": 0.5, "plane": "batch"}])
    key, expected = bench.small(limits={"attempts": 2})
    held = bench.run(key)
    assert held.code == 3, held.said
    assert "got no answer in 2 attempts" in " ".join(held.said.split())
    assert f"batch-pipeline resume {key} --retry-failed" in held.said
    jobs = bench.jobs(key)
    failed = bench.documents(key)["failed"]
    assert [job["errorRecordCount"] for job in jobs] == [failed, failed]
    assert imported(bench, key) == 0
    assert bench.left(key) != []
    bench.faults()
    assert bench.command("resume", key, "--retry-failed").code == 0
    done = bench.run(key)
    assert done.code == 0, done.said
    assert_right(bench, key, expected)
    assert bench.left(key) == []


def test_lines_that_are_odd_and_harmless_change_nothing(bench: Bench) -> None:
    """F26 and doubled lines."""
    extra = {"cacheReadInputTokenCount": 5, "foo": 1}
    bench.faults(
        output={"duplicate_lines": 3, "missing_manifest": True, "manifest_extra": extra},
        jobs={"counters": "zero"},
    )
    key, expected = bench.small()
    assert bench.run(key).code == 0
    assert len(bench.jobs(key)) == 1
    assert oddities(bench, key) == {"duplicate record ids": 3}
    assert_right(bench, key, expected)
    assert_paid_once(bench)


@pytest.mark.parametrize(
    ("output", "odd", "lost"),
    [
        ({"missing_lines": 4}, {}, 4),
        ({"truncated_last_line": True}, {"corrupt lines": 1}, 1),
        (
            {"corrupt_lines": 2, "unknown_record_ids": 2, "altered_echo": 2},
            {"corrupt lines": 2, "unknown record ids": 2, "echoed input differs": 2},
            6,
        ),
    ],
)
def test_records_without_a_line_we_can_trust_go_again_and_no_others(
    bench: Bench, output: dict[str, Any], odd: dict[str, int], lost: int
) -> None:
    bench.faults(output=output)
    key, expected = bench.small()
    done = bench.run(key)
    assert done.code == 0, done.said
    found = oddities(bench, key)
    # F28: what the provider says it sold is held against the lines, and never shown as nothing
    beyond = {what: found.pop(what) for what in list(found) if what.endswith("beyond ours")}
    assert found == odd
    assert beyond.pop("answers the provider counted beyond ours") == lost
    assert sorted(beyond) == [
        "input tokens the provider counted beyond ours",
        "output tokens the provider counted beyond ours",
    ]
    assert all(count > 0 for count in beyond.values())
    assert len(bench.jobs(key)) == 1
    assert bench.meter()["on_demand"]["requests"] == lost + 2
    assert bench.paid_twice() == lost
    assert_right(bench, key, expected)


def test_a_job_without_any_output_is_not_paid_again_before_somebody_looked(bench: Bench) -> None:
    bench.faults(output={"missing_output_files": True})
    key, expected = bench.small()
    held = bench.run(key)
    assert held.code == 3
    assert "no lines at all" in held.said
    assert bench.run(key).code == 3
    assert len(bench.jobs(key)) == 1
    bench.faults()
    assert bench.command("resume", key).code == 0
    assert bench.run(key).code == 0
    assert len(bench.jobs(key)) == 2
    assert_right(bench, key, expected)


def test_output_that_can_be_mended_is_read_again_and_not_paid_again(bench: Bench) -> None:
    bench.faults(output={"missing_echo": True})
    key, expected = bench.small()
    held = bench.run(key)
    assert held.code == 3
    assert f"{TEXTS} echoed input differs" in held.said
    _give_the_echo_back(bench, key)
    assert bench.command("resume", key).code == 0
    assert bench.run(key).code == 0
    assert len(bench.jobs(key)) == 1
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def _give_the_echo_back(bench: Bench, key: str) -> None:
    s3 = bench.s3()
    listed = s3.list_objects_v2(Bucket=BUCKET, Prefix=f"batch-pipeline/{key}/")["Contents"]
    names = {
        entry["Key"].rpartition(".")[2]: entry["Key"] for entry in listed if "manifest" not in entry["Key"]
    }

    def lines(name: str) -> list[dict[str, Any]]:
        data = s3.get_object(Bucket=BUCKET, Key=names[name])["Body"].read()
        return [json.loads(line) for line in data.split(b"\n") if line]

    asked = {line["recordId"]: line["modelInput"] for line in lines("jsonl")}
    whole = [line | {"modelInput": asked[line["recordId"]]} for line in lines("out")]
    s3.put_object(Bucket=BUCKET, Key=names["out"], Body="\n".join(map(json.dumps, whole)).encode())


def test_answers_nobody_can_read_are_not_erased_before_somebody_looked(bench: Bench) -> None:
    """F37: success lines that are refusals; a person says whether the history goes on without CVs."""
    bench.faults(answers=[{"style": "filtered"}])
    key, _ = bench.small()
    held = bench.run(key)
    assert held.code == 3
    assert "none of 40 CVs could be read" in held.said
    assert imported(bench, key) == 0
    assert bench.left(key)
    assert bench.command("resume", key).code == 0
    done = bench.run(key)
    assert done.code == 0, done.said
    assert "parsed" not in bench.outcomes(key)
    assert bench.left(key) == []
    assert_paid_once(bench)


def test_a_cut_answer_fails_alone_and_is_never_imported_half_read(bench: Bench) -> None:
    bench.faults(answers=[{"style": "truncated", "rate": 0.2}])
    key, _ = bench.small()
    assert bench.run(key).code == 0
    found = bench.outcomes(key)
    assert sum(found.values()) == 40
    assert 0 < 40 - found["parsed"] < 20
    rows = bench.query("select count(*) as n from recruiting.parsed_cv where tenant = %s", key)
    assert rows == [{"n": found["parsed"]}]
