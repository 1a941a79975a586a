"""One stack and one count of the points for all kills."""

import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from batch_pipeline_tests.faults.harness import Harness, Point, harness


@pytest.fixture(scope="session")
def prepared() -> Iterator[Harness]:
    with pytest.MonkeyPatch.context() as patch, harness(patch.setenv) as made:
        yield made


@pytest.fixture(scope="session")
def points(prepared: Harness) -> list[Point]:
    return prepared.count()


@pytest.fixture
def shuffled(points: list[Point]) -> list[Point]:
    """In an order that is new every day; `BATCH_PIPELINE_FAULT_SEED` repeats one."""
    seed = os.environ.get("BATCH_PIPELINE_FAULT_SEED") or datetime.now(UTC).date().isoformat()
    mixed = list(points)
    random.Random(seed).shuffle(mixed)
    return mixed
