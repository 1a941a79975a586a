"""A short run of the fuzz loop; the long one is a command (see `fuzz_answers.py`)."""

from batch_pipeline_tests.tasks.fuzz_answers import fuzz


def test_mutated_answers_break_no_promise() -> None:
    outcomes = fuzz(4_000, seed=20_261_130, judge=20)
    assert outcomes.total() == 4_000
    assert outcomes["parsed"] > 100
    assert outcomes["no_json"] > 100
