"""Nobody is left alone with a reason: each of the closed lists has its line."""

from batch_pipeline.documents.reasons import Reason, State
from batch_pipeline.stages.advice import ADVICE, advice
from batch_pipeline.tasks.cv.reasons import REASONS

OF_THE_LEDGER = {"provider_error", "attempts_exhausted", "given_up", "cannot_be_shown"}


def test_every_reason_and_state_says_what_to_do() -> None:
    known = {reason.value for reason in Reason} | set(REASONS) | OF_THE_LEDGER
    known |= {state.value for state in State} - {"fetched"}
    assert known - ADVICE.keys() - {"missing"} == set()
    assert ADVICE.keys() - known == set()


def test_a_state_without_a_reason_has_its_own_line() -> None:
    assert advice("missing", None).startswith("The export names a file")
    assert advice("failed", "unreadable") == ADVICE["unreadable"]
