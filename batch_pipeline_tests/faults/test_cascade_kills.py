"""A migration with a cascade, killed around every write that takes documents to the next model."""

import os
from collections.abc import Iterator

import pytest

from batch_pipeline_tests.faults.harness import Harness, Point, harness
from batch_pipeline_tests.faults.table import kill_all, lines

pytestmark = [pytest.mark.servers, pytest.mark.timeout(900)]

BEGINS = "create temporary table unusable"
FOLLOWING = (
    30  # points after the first of the escalation: its writes, the next job's intent, upload and acceptance
)


@pytest.fixture(scope="module")
def prepared() -> Iterator[Harness]:
    with pytest.MonkeyPatch.context() as patch, harness(patch.setenv, cascade=True) as one:
        yield one


def test_a_launcher_killed_while_documents_go_to_the_next_model_pays_each_once(
    prepared: Harness, capsys: pytest.CaptureFixture[str]
) -> None:
    points = [point for point in prepared.count() if point.process == "run"]
    begins = next(at for at, point in enumerate(points) if point.label == BEGINS)
    around = points[begins - 1 : begins + FOLLOWING]
    assert {
        "insert into escalation (migration,",
        "insert into job (migration,",
        "POST model-invocation-job",
    } <= {point.label for point in around}
    chosen = _every(around, int(os.environ.get("BATCH_PIPELINE_CASCADE_KILLS", "12")))
    outcomes = kill_all(prepared, chosen, None)
    with capsys.disabled():
        print("\n" + "\n".join(lines(around, outcomes)))
    wrong = [outcome for outcome in outcomes if not (outcome.right and outcome.killed)]
    assert not wrong


def _every(points: list[Point], most: int) -> list[Point]:
    """At most so many, evenly spread."""
    step = max(1, -(-len(points) // most))
    return points[::step]
