"""The database drops every connection in the middle of paid work."""

import pytest

from batch_pipeline_tests.flows.bench import Bench, assert_paid_once, assert_right

pytestmark = pytest.mark.servers


def drop_connections(bench: Bench) -> None:
    bench.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'batch_pipeline'"
    )


def test_a_launcher_that_lost_its_ledger_right_after_acceptance_adopts_the_job(bench: Bench) -> None:
    """F10, second half: the create call comes back, and the write that follows cannot."""
    bench.faults(api={"latency_seconds": {"CreateModelInvocationJob": 1.0}})
    key, expected = bench.small()
    with bench.start("run", key) as run:
        bench.wait_for(
            lambda: (
                bench.query(
                    "select id from batch_ledger.job where migration = %s and sent_at is not null", key
                )
                != []
            )
        )
        drop_connections(bench)
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "PostgreSQL went away" in said
    assert "Traceback" not in said
    assert bench.query("select state from batch_ledger.job where migration = %s", key) == [
        {"state": "intent"}
    ]
    bench.faults()
    done = bench.run(key)
    assert done.code == 0, done.said
    assert len(bench.jobs(key)) == 1
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_on_demand_answers_under_way_are_kept_through_it(bench: Bench) -> None:
    """Nobody could be asked for them again, so the courier tries until they are written."""
    bench.faults(api={"latency_seconds": {"InvokeModel": 1.5}})
    key, expected = bench.small(documents=9, on_demand={"concurrency": 9})
    with bench.start("run", key) as run:
        bench.wait_for(
            lambda: (
                len(bench.query("select id from batch_ledger.on_demand_call where migration = %s", key)) == 9
            )
        )
        drop_connections(bench)
        run.communicate(timeout=60)
    bench.faults()
    done = bench.run(key)
    assert done.code == 0, done.said
    assert bench.meter()["on_demand"]["requests"] == 9
    assert_right(bench, key, expected)
    assert_paid_once(bench)
