"""More than one process, more than one migration, and a person who stops and goes on."""

import shutil
from pathlib import Path

import pytest

from batch_pipeline_tests.flows.bench import Bench, assert_paid_once, assert_right

pytestmark = pytest.mark.servers


def test_two_launchers_of_one_migration_end_as_one(bench: Bench) -> None:
    key, expected = bench.small(most=20)
    runs = [bench.start("run", key) for _ in range(2)]
    ends = [(run.communicate(timeout=120)[0], run.returncode) for run in runs]
    assert [code for _, code in ends] == [0, 0], ends
    assert len(bench.jobs(key)) == 2
    assert_right(bench, key, expected)
    assert_paid_once(bench)
    assert not any(path.is_file() for path in (bench.stack.folder / "work" / key).rglob("*"))


def test_two_launchers_of_on_demand_calls_pay_each_once(bench: Bench) -> None:
    bench.faults(api={"latency_seconds": {"InvokeModel": 0.1}})
    key, expected = bench.small(documents=9)
    runs = [bench.start("run", key) for _ in range(2)]
    ends = [(run.communicate(timeout=120)[0], run.returncode) for run in runs]
    assert [code for _, code in ends] == [0, 0], ends
    assert bench.meter()["on_demand"]["requests"] == 9
    assert_right(bench, key, expected)


@pytest.mark.parametrize("known", [True, False], ids=["quota in the file", "quota only at the provider"])
def test_migrations_share_a_quota_of_one_and_both_end(bench: Bench, known: bool) -> None:
    """F36: no room is a wait, never a failure."""
    quotas = {"max_jobs_in_flight": 1} if known else {}
    first, expected = bench.small(most=20, quotas=quotas)
    second, _ = bench.small(most=20, quotas=quotas)
    bench.rules(limits={"min_records_per_job": 10, "max_open_jobs_per_model": 1})
    runs = [bench.start("run", key) for key in (first, second)]
    ends = [(run.communicate(timeout=120)[0], run.returncode) for run in runs]
    assert [code for _, code in ends] == [0, 0], ends
    for key in (first, second):
        assert len(bench.jobs(key)) == 2
        assert set(bench.paid(key).values()) == {1}
        assert_right(bench, key, expected)


def test_room_held_by_a_migration_nobody_follows_is_found_free_again(bench: Bench) -> None:
    """Its job ended long ago; who waits for the room asks the provider about it."""
    quotas = {"max_jobs_in_flight": 1}
    dead, expected = bench.small(quotas=quotas)
    bench.faults(jobs={"hold": ["Scheduled"]})
    with bench.start("run", dead) as run:
        bench.wait_for(lambda: bench.statuses(dead) == ["Scheduled"])
        bench.wait_for(
            lambda: (
                bench.query(
                    "select 1 as n from batch_ledger.job where migration = %s and state <> 'intent'", dead
                )
                != []
            )
        )
        run.kill()
    bench.faults()
    key, _ = bench.small(quotas=quotas)
    done = bench.run(key)
    assert done.code == 0, done.said
    assert bench.run(dead).code == 0
    assert_right(bench, dead, expected)
    assert len(bench.jobs(dead)) == 1


def test_a_paused_migration_sends_nothing_and_keeps_what_is_under_way(bench: Bench) -> None:
    bench.faults(jobs={"hold": ["Scheduled"]})
    key, expected = bench.small(most=20, quotas={"max_jobs_in_flight": 1})
    with bench.start("run", key) as run:
        bench.wait_for(lambda: bench.statuses(key) == ["Scheduled"])
        assert bench.command("pause", key).code == 0
        bench.faults()
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 3
    assert f"batch-pipeline resume {key}" in said
    assert bench.statuses(key) == ["Completed"]
    assert bench.documents(key)["answered"] == 19
    assert bench.run(key).code == 3
    assert bench.command("resume", key).code == 0
    assert bench.run(key).code == 0
    assert len(bench.jobs(key)) == 2
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_a_cancelled_migration_keeps_what_its_jobs_finished_and_can_go_on(bench: Bench) -> None:
    bench.faults(jobs={"hold_after_records": 12})
    key, expected = bench.small(most=20)
    with bench.start("run", key) as run:
        bench.wait_for(lambda: [job["processedRecordCount"] for job in bench.jobs(key)] == [12, 12])
        cancelled = bench.command("cancel", key)
        assert "2 jobs were asked to stop; 0 answers settled so far cost 0.0000 USD" in " ".join(
            cancelled.said.split()
        )
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 3, said
    assert f"migration {key} is cancelled, and has cost 0." in " ".join(said.split())
    assert "has cost 0.0000 USD" not in said
    assert bench.statuses(key) == ["Stopped", "Stopped"]
    assert bench.documents(key) == {"answered": 24, "owed": 16}
    bench.faults()
    assert "cancelled" in bench.command("status", key).said
    again = bench.command("cancel", key)
    assert "0 jobs were asked to stop; 24 answers settled so far cost" in " ".join(again.said.split())
    assert bench.command("resume", key).code == 0
    done = bench.run(key)
    assert done.code == 0, done.said
    assert_right(bench, key, expected)
    assert_paid_once(bench)
    late = bench.command("resume", key)
    assert late.code == 1
    assert "there is nothing to resume" in " ".join(late.said.split())


def test_another_machine_takes_over_without_the_first_ones_files(bench: Bench) -> None:
    bench.faults(jobs={"hold": ["InProgress"]})
    key, expected = bench.small(most=20, quotas={"max_jobs_in_flight": 1})
    with bench.start("run", key) as run:
        bench.wait_for(lambda: bench.statuses(key) == ["InProgress"])
        run.kill()
    bench.forget_files(key)
    bench.faults()
    done = bench.run(key)
    assert done.code == 0, done.said
    assert len(bench.jobs(key)) == 2
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_a_ledger_put_back_from_before_the_jobs_adopts_them_once_a_person_agrees(bench: Bench) -> None:
    """A restored backup knows nothing of a job that runs: the provider is asked before each create. A database
    that was named by mistake looks the same, and the right ledger's answers must not be erased from it."""
    bench.faults(jobs={"hold": ["InProgress"]})
    key, expected = bench.small()
    with bench.start("run", key) as run:
        bench.wait_for(lambda: bench.statuses(key) == ["InProgress"])
        run.kill()
    for statement in (
        "delete from batch_ledger.job_document where migration = %s",
        "delete from batch_ledger.document where migration = %s",
        "delete from batch_ledger.job where migration = %s",
        "delete from batch_ledger.migration where key = %s",
    ):
        bench.query(statement + " returning 1 as n", key)
    bench.forget_files(key)
    bench.rules(limits={"min_records_per_job": 10}, unknowns={"token_ttl_seconds": 0})
    bench.faults()
    asked = bench.run(key)
    assert asked.code == 3, asked.said
    assert "which this ledger never sent" in " ".join(asked.said.split())
    assert "DATABASE_URL names another database" in " ".join(asked.said.split())
    assert bench.command("resume", key).code == 0
    done = bench.run(key)
    assert done.code == 0, done.said
    assert len(bench.jobs(key)) == 1
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_an_export_that_changes_between_submit_and_collect_does_not_move_answers(
    bench: Bench, tmp_path: Path
) -> None:
    """F39: who gets an answer was fixed when it was asked for."""
    bench.faults(jobs={"hold": ["InProgress"]})
    export, expected = bench.sample(40)
    copy = tmp_path / "export"
    shutil.copytree(export, copy)
    bench.rules(limits={"min_records_per_job": 10})
    key = bench.migration(copy, provider={"quotas": {"min_records": 10}})
    with bench.start("run", key) as run:
        bench.wait_for(lambda: bench.statuses(key) == ["InProgress"])
        path = copy / "attachments.csv"
        header, *rows = path.read_text(encoding="utf-8-sig").splitlines()
        path.write_text("\n".join([header, *reversed(rows)]), encoding="utf-8-sig")
        bench.faults()
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert_right(bench, key, expected)
