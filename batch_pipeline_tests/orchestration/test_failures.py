"""What a failed run keeps: words of ours, or class and place; never a row of the customer's."""

import dagster as dg
import psycopg
import pytest

from batch_pipeline.errors import ConfigurationError, NeedsPerson, TransientError, WayOut
from batch_pipeline.orchestration.failures import kept_without_content

SECRET = "Wilhelmina Example"


def failure_of(error: Exception) -> dg.Failure:
    with pytest.raises(dg.Failure) as caught, kept_without_content("acme-2026"):
        raise error
    return caught.value


def test_our_own_words_are_kept() -> None:
    failure = failure_of(ConfigurationError("source.path", "nowhere", "there is no such folder"))
    assert failure.description == "source.path = 'nowhere': there is no such folder"
    assert failure.metadata["error"].value == "ConfigurationError"
    assert not failure.allow_retries


def test_what_may_work_later_may_be_retried() -> None:
    assert failure_of(TransientError("the server does not answer")).allow_retries


def test_ways_out_are_shown_each_with_its_cost_and_command() -> None:
    ways = (WayOut("send them again", "paid twice", "batch-pipeline resolve acme-2026 --send-again"),)
    failure = failure_of(NeedsPerson("3 calls left", ways))
    assert failure.metadata["way out 1"].value == str(ways[0])


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), psycopg.errors.UniqueViolation(f"Key (name)=({SECRET})"), KeyError(SECRET)]
)
def test_the_message_of_a_foreign_error_is_not_kept(error: Exception) -> None:
    failure = failure_of(error)
    assert SECRET not in str(failure.description) + str(failure.metadata)
    assert str(failure.description).startswith(f"{type(error).__name__} in ")
    assert "batch-pipeline run acme-2026" in str(failure.description)
    assert failure.__cause__ is None and failure.__suppress_context__


def test_nothing_of_it_reaches_the_event_log() -> None:
    @dg.asset
    def broken() -> None:
        with kept_without_content("acme-2026"):
            raise ValueError(SECRET)

    with dg.instance_for_test() as instance:
        result = dg.materialize([broken], instance=instance, raise_on_error=False)
        assert not result.success
        events = "".join(str(entry) for entry in instance.all_logs(result.run_id))
    assert "ValueError in " in events
    assert SECRET not in events
