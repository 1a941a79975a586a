"""Dagster's own daemon, queue and webserver, driven as the UI drives them."""

import time
from pathlib import Path

import pytest
from dagster import DagsterRunStatus

from batch_pipeline.local.demo import register_sample
from batch_pipeline.local.stack import Stack
from batch_pipeline_tests.orchestration import ui

pytestmark = [pytest.mark.servers, pytest.mark.timeout(240)]

UNDER_WAY = {DagsterRunStatus.STARTING, DagsterRunStatus.STARTED}


def test_a_double_click_waits_in_the_queue_and_then_pays_nothing(stack: Stack) -> None:
    """Another migration meanwhile runs side by side, and the sensors bring both to their end."""
    twice, _ = register_sample(stack, 130, 110, start="by_hand")
    time.sleep(1.1)  # a sample's key is the second it was made in
    other, _ = register_sample(stack, 130, 110, start="by_hand")
    ui.wait_until(stack, "partitions of both", lambda: {twice, other} <= set(ui.partitions(stack)))

    # the queue is looked at every 5 s: a run that waits longer than that for its create call is still
    # there when the next look comes, however the three clicks fall between two looks
    ui.set_faults(stack, {"api": {"latency_seconds": {"CreateModelInvocationJob": 12.0}}})
    first = ui.launch(stack, "send_migration", twice)
    beside = ui.launch(stack, "send_migration", other)
    second = ui.launch(stack, "send_migration", twice)
    seen: set[tuple[DagsterRunStatus, DagsterRunStatus, DagsterRunStatus]] = set()

    def all_over() -> bool:
        seen.add((ui.run_status(stack, first), ui.run_status(stack, second), ui.run_status(stack, beside)))
        return all(ui.is_over(stack, run) for run in (first, second, beside))

    ui.wait_until(stack, "three runs", all_over)
    ui.set_faults(stack, {})
    assert any(one in UNDER_WAY and two == DagsterRunStatus.QUEUED for one, two, _ in seen)
    assert not any(one in UNDER_WAY and two in UNDER_WAY for one, two, _ in seen)
    assert any(one in UNDER_WAY and three in UNDER_WAY for one, _, three in seen)
    assert [ui.run_status(stack, run) for run in (first, second, beside)] == [DagsterRunStatus.SUCCESS] * 3

    def both_done() -> bool:
        return {ui.state_of(stack, twice), ui.state_of(stack, other)} == {"erased"}

    ui.wait_until(stack, "both at their end", both_done)
    for key in (twice, other):
        assert sum(job["jobName"].startswith(f"bp-{key}-") for job in ui.emulator(stack, "jobs")["jobs"]) == 1
        with ui.ledger(stack) as ledger:
            calls = ledger.sql.execute(
                "select count(*) as made, count(distinct record_id) as records from on_demand_call "
                "where migration = %s",
                (key,),
            ).fetchone()
        assert calls is not None and calls["made"] == calls["records"] == 6


def test_an_operator_pauses_resumes_and_cancels_by_clicks(stack: Stack) -> None:
    key, _ = register_sample(stack, 20, 12, start="by_hand")
    for job, state in (("pause", "paused"), ("resume", "open"), ("cancel", "cancelled")):
        run = ui.operate(stack, job, key)
        ui.wait_until(stack, f"{job} of {key}", lambda run=run: ui.is_over(stack, run))  # type: ignore[misc]
        assert ui.run_status(stack, run) == DagsterRunStatus.SUCCESS
        assert ui.state_of(stack, key) == state


def test_what_dagster_stores_holds_nothing_personal(stack: Stack) -> None:
    """Also in compute logs, which only real runs write: run after the migrations above."""
    home = Path(stack.environment["DAGSTER_HOME"])
    content = b"\n".join(path.read_bytes() for path in home.rglob("*") if path.is_file()).lower()
    assert b"bedrock_jobs" in content
    words = set()
    for table in (stack.folder / "samples").glob("*/export/**/*.csv"):
        for line in table.read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
            words |= {cell.strip('"') for cell in line.split(",") if "@" in cell}
    assert len(words) > 50
    assert [word for word in words if word.lower().encode() in content] == []
    for name in ("DATABASE_URL", "AWS_SECRET_ACCESS_KEY"):
        assert stack.environment[name].lower().encode() not in content
