"""Answers that get lost: adopted where the provider can be asked, a person's choice where it cannot."""

import pytest

from batch_pipeline_tests.flows.bench import Bench, assert_paid_once, assert_right

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("fault", ["drop_after_accept_next", "error_after_accept_next"])
def test_a_lost_create_answer_is_adopted_and_paid_once(bench: Bench, fault: str) -> None:
    """F10."""
    bench.faults(api={fault: 2})
    key, expected = bench.small(most=20)
    done = bench.run(key)
    assert done.code == 0, done.said
    assert len(bench.jobs(key)) == 2
    assert_right(bench, key, expected)
    assert_paid_once(bench)
    adopted = bench.query(
        "select count(*) as n from batch_ledger.event where migration = %s and kind = 'job adopted'", key
    )
    assert adopted == [{"n": 2}]


def test_a_lost_create_answer_while_lists_are_throttled_is_adopted_later(bench: Bench) -> None:
    bench.faults(api={"drop_after_accept_next": 1, "throttle_next": {"ListModelInvocationJobs": 7}})
    key, expected = bench.small()
    for _ in range(5):
        done = bench.run(key)
        if done.code == 0:
            break
    assert done.code == 0, done.said
    assert len(bench.jobs(key)) == 1
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_calls_that_are_busy_now_and_then_change_nothing(bench: Bench) -> None:
    operations = (
        "CreateModelInvocationJob",
        "ListModelInvocationJobs",
        "GetModelInvocationJob",
        "InvokeModel",
    )
    bench.faults(api={"throttle_every": dict.fromkeys(operations, 2), "no_capacity_next": 1})
    key, expected = bench.small()
    done = bench.run(key)
    assert done.code == 0, done.said
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_an_on_demand_answer_that_got_lost_is_a_persons_choice(bench: Bench) -> None:
    bench.faults(api={"drop_after_answer_next": 1})
    key, _ = bench.small(documents=9)
    stopped = bench.run(key)
    assert stopped.code == 3
    assert f"batch-pipeline resolve {key} --send-again" in stopped.said
    assert "at most 1 calls paid twice" in stopped.said
    assert bench.run(key).code == 3
    assert bench.meter()["on_demand"]["requests"] == 9
    assert "1 calls resolved" in bench.command("resolve", key, "--give-up").said
    done = bench.run(key)
    assert done.code == 0, done.said
    assert bench.outcomes(key)["given_up"] == 1
    assert_paid_once(bench)


def test_a_person_may_pay_for_a_lost_on_demand_answer_again(bench: Bench) -> None:
    bench.faults(api={"drop_after_answer_next": 1})
    key, expected = bench.small(documents=9)
    assert bench.run(key).code == 3
    assert bench.command("resolve", key).code == 2
    assert bench.command("resolve", key, "--send-again").code == 0
    assert bench.run(key).code == 0
    assert bench.paid_twice() == 1
    assert_right(bench, key, expected)


def test_a_denied_on_demand_call_fails_no_document(bench: Bench) -> None:
    bench.faults(api={"deny": ["InvokeModel"]})
    key, expected = bench.small(documents=9)
    held = bench.run(key)
    assert held.code == 3
    assert "bedrock:InvokeModel" in held.said
    assert bench.documents(key) == {"owed": 9}
    bench.faults()
    assert bench.command("resume", key).code == 0
    assert bench.run(key).code == 0
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_on_demand_calls_that_are_all_refused_stop_early(bench: Bench) -> None:
    bench.faults(records=[{"code": 400, "plane": "on_demand", "message": "Malformed input request"}])
    key, expected = bench.small(documents=9, on_demand={"concurrency": 1})
    held = bench.run(key)
    assert held.code == 3
    assert "Malformed input request" in held.said
    assert bench.documents(key)["owed"] >= 3
    bench.faults()
    assert bench.command("resume", key, "--retry-failed").code == 0
    assert bench.run(key).code == 0
    assert_right(bench, key, expected)


def test_the_courier_of_a_killed_run_brings_its_answers_home(bench: Bench) -> None:
    """The next run waits for it instead of calling its open calls doubts."""
    bench.faults(api={"latency_seconds": {"InvokeModel": 1.5}})
    key, expected = bench.small(documents=9, on_demand={"concurrency": 9})
    with bench.start("run", key) as run:
        bench.wait_for(
            lambda: (
                len(bench.query("select id from batch_ledger.on_demand_call where migration = %s", key)) == 9
            )
        )
        run.kill()
    done = bench.run(key)
    assert done.code == 0, done.said
    assert bench.meter()["on_demand"]["requests"] == 9
    assert_right(bench, key, expected)
