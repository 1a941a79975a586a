"""A small migration killed at a random sample of its points, and what must come of every one of them."""

import os

import pytest

from batch_pipeline_tests.faults.harness import Harness, Outcome, Point, spread
from batch_pipeline_tests.faults.points import Process
from batch_pipeline_tests.faults.table import kill_all, lines

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]

SAMPLE_SECONDS = 180.0


def first(points: list[Point], process: Process, kind: str, label: str) -> Point:
    return next(
        point for point in points if (point.process, point.kind) == (process, kind) and label in point.label
    )


def assert_right(outcome: Outcome, doubts: int = 0) -> None:
    assert outcome.killed
    assert (outcome.billed_twice, outcome.lost, outcome.left_over, outcome.said) == (0, 0, 0, "")
    assert outcome.doubts == doubts


def test_a_launcher_killed_right_after_the_provider_accepted_pays_once(
    prepared: Harness, points: list[Point]
) -> None:
    assert_right(prepared.kill(first(points, "run", "after Bedrock call", "POST model-invocation-job")))


def test_a_launcher_killed_right_before_its_acceptance_is_written_pays_once(
    prepared: Harness, points: list[Point]
) -> None:
    assert_right(prepared.kill(first(points, "run", "after statement", "insert into event")))


def test_a_courier_killed_before_its_answer_is_written_asks_a_person(
    prepared: Harness, points: list[Point]
) -> None:
    """Nobody can be asked about an on-demand call: exit code 3, and a choice with its cost.

    Calls run side by side, so the same number is not the same line every time: several are tried.
    """
    near = [
        point
        for point in points
        if point.process == "courier" and point.kind in {"after Bedrock call", "before commit"}
    ]
    for point in near:
        outcome = prepared.kill(point)
        assert_right(outcome, outcome.doubts)
        if outcome.doubts:
            return
    raise AssertionError(f"none of {len(near)} kills left a doubt")


def test_kills_at_random_points_bill_nothing_twice_and_lose_nothing(
    prepared: Harness, points: list[Point], shuffled: list[Point], capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = kill_all(prepared, spread(shuffled), SAMPLE_SECONDS)
    with capsys.disabled():
        print("\n" + "\n".join(lines(points, outcomes)))
    assert outcomes
    wrong = [outcome for outcome in outcomes if not outcome.right]
    assert not wrong, f"seed {os.environ.get('BATCH_PIPELINE_FAULT_SEED', 'of today')}: {wrong}"
