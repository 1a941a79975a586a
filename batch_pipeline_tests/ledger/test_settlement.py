"""A job's settlement closes, happens once, and bounds how often a record is paid for."""

import pytest

from batch_pipeline.errors import LedgerConflict
from batch_pipeline.ledger import documents, jobs, migrations, on_demand
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.documents import PlannedDocument
from batch_pipeline.ledger.settlement import RecordOutcome, error_kinds, settle
from batch_pipeline_tests.ledger.rows import (
    KEY,
    ended,
    job_named,
    plan,
    report,
    reservation,
    reserved,
    states,
)

pytestmark = pytest.mark.servers


def events(ledger: LedgerConnection, kind: str) -> int:
    row = ledger.sql.execute("select count(*) as n from event where kind = %s", (kind,)).fetchone()
    assert row is not None
    return int(row["n"])


def test_every_record_of_a_job_is_settled_one_way(ledger: LedgerConnection) -> None:
    plan(ledger, "abcde")
    job = ended(ledger, "s", "abcde")
    settled = settle(
        ledger,
        job,
        [
            RecordOutcome("r-a", "answered", input_tokens=10, output_tokens=3),
            RecordOutcome("r-b", "permanent", 400, "bad"),
            RecordOutcome("r-c", "retryable", 429, "busy"),
            RecordOutcome("r-unknown", "answered"),
        ],
        max_attempts=3,
    )
    assert (settled.answered, settled.permanent, settled.retryable, settled.missing) == (1, 1, 1, 2)
    assert settled.requested == 5
    assert (settled.failed, settled.owed_again) == (1, 3)
    assert states(ledger) == {
        "a": ("answered", 1), "b": ("failed", 1), "c": ("owed", 1), "d": ("owed", 1), "e": ("owed", 1),
    }  # fmt: skip
    assert job_named(ledger, job.name).state == "collected"
    assert error_kinds(ledger, job) == [(400, "bad", 1)]


def test_settling_again_changes_nothing(ledger: LedgerConnection) -> None:
    plan(ledger, "ab")
    job = ended(ledger, "s", "ab")
    first = settle(ledger, job, [RecordOutcome("r-a", "answered")], 3)
    before = states(ledger)
    again = settle(ledger, job, [RecordOutcome("r-a", "permanent", 400), RecordOutcome("r-b", "answered")], 3)
    assert (again, states(ledger)) == (first, before)
    assert events(ledger, "job settled") == 1


def test_a_settlement_that_breaks_off_leaves_the_job_to_be_settled(ledger: LedgerConnection) -> None:
    plan(ledger, "ab")
    job = ended(ledger, "s", "ab")

    def torn() -> object:
        yield RecordOutcome("r-a", "answered")
        raise OSError("the bucket went away")

    with pytest.raises(OSError, match="bucket"):
        settle(ledger, job, torn(), 3)  # type: ignore[arg-type]
    assert job_named(ledger, job.name).state == "ended"
    assert settle(ledger, job, [RecordOutcome("r-b", "answered")], 3).answered == 1


def test_attempts_are_bounded(ledger: LedgerConnection) -> None:
    plan(ledger, "a")
    for attempt in range(1, 4):
        job = reserved(ledger, "s", ["a"], attempt)
        jobs.mark_sent(ledger, job)
        jobs.accept(ledger, job, f"arn:{attempt}")
        ledger.sql.execute("update job set state = 'ended' where id = %s", (job.id,))
        settle(ledger, job_named(ledger, job.name), [RecordOutcome("r-a", "retryable", 429, "busy")], 3)
        assert states(ledger)["a"] == ("failed" if attempt == 3 else "owed", attempt)
    with pytest.raises(LedgerConflict, match="not owed"):
        jobs.reserve(ledger, KEY, [reservation("s", ["a"], 4)])
    assert [failure.reason for failure in documents.failures(ledger, KEY)] == ["attempts_exhausted"]


def test_records_of_a_job_that_never_began_keep_their_attempts(ledger: LedgerConnection) -> None:
    plan(ledger, "ab")
    job = ended(ledger, "s", "ab", "Expired")
    settle(ledger, job, [RecordOutcome("r-a", "retryable", 429)], 3, count_attempt=False)
    assert states(ledger) == {"a": ("owed", 1), "b": ("owed", 0)}


def test_giving_up_an_intent_gives_its_attempts_back(ledger: LedgerConnection) -> None:
    plan(ledger, "ab")
    job = reserved(ledger, "s", "ab")
    jobs.void(ledger, job)
    assert states(ledger) == {"a": ("owed", 0), "b": ("owed", 0)}
    again = reserved(ledger, "s", "ab", 2)
    assert (again.state, jobs.next_attempt(ledger, KEY, "s")) == ("intent", 3)


def test_a_message_no_database_can_store_does_not_keep_a_job_from_settling(ledger: LedgerConnection) -> None:
    plan(ledger, "a")
    job = ended(ledger, "s", "a")
    settled = settle(ledger, job, [RecordOutcome("r-a", "permanent", 400, "zero \x00 and half \ud800")], 3)
    assert settled.permanent == 1
    assert error_kinds(ledger, job)[0][1] == "zero  and half ?"


def test_a_plan_is_reserved_whole_or_not_at_all(ledger: LedgerConnection) -> None:
    plan(ledger, "abcd")
    with pytest.raises(LedgerConflict, match="1 of its 2 records"):
        jobs.reserve(ledger, KEY, [reservation("s", ["a", "b"]), reservation("t", ["c", "b"])])
    assert jobs.jobs(ledger, KEY) == []
    assert set(states(ledger).values()) == {("owed", 0)}


def test_a_request_under_way_is_not_exchanged(ledger: LedgerConnection) -> None:
    plan(ledger, "ab")
    reserved(ledger, "s", ["a"])
    with pytest.raises(LedgerConflict, match="1 documents are under way"):
        documents.register(ledger, KEY, [PlannedDocument("r-a", "md5-a", "another", "batch")])
    documents.register(ledger, KEY, [PlannedDocument("r-b", "md5-b", "another", "batch")])
    assert documents.owed(ledger, KEY, "batch") == [("r-b", "another")]


def test_a_request_under_way_may_differ_from_the_plan_and_stays_what_was_sent(
    ledger: LedgerConnection,
) -> None:
    plan(ledger, "a")
    job = ended(ledger, "s", "a")
    planned = [PlannedDocument("r-a", "md5-a", "another", "batch")]
    documents.register(ledger, KEY, planned, may_differ=True)
    settle(ledger, job, [], 3)
    ((_, sent),) = documents.owed(ledger, KEY, "batch")
    assert sent != "another"
    documents.register(ledger, KEY, planned)
    assert documents.owed(ledger, KEY, "batch") == [("r-a", "another")]


def test_a_call_is_made_for_the_request_that_is_owed_and_for_no_other(ledger: LedgerConnection) -> None:
    documents.register(ledger, KEY, [PlannedDocument("r-a", "md5-a", "one", "on_demand")])
    with pytest.raises(LedgerConflict):
        on_demand.intend(ledger, KEY, "r-a", "m", request_digest="another")
    assert on_demand.open_calls(ledger, KEY) == []
    on_demand.intend(ledger, KEY, "r-a", "m", request_digest="one")
    assert len(on_demand.open_calls(ledger, KEY)) == 1


def test_a_document_that_left_the_plan_is_never_owed_again(ledger: LedgerConnection) -> None:
    plan(ledger, "abc")
    job = ended(ledger, "s", "a")
    jobs.void(ledger, reserved(ledger, "t", ["b"]))
    documents.register(ledger, KEY, [])
    assert states(ledger) == {"a": ("sent", 1), "b": ("failed", 0)}
    assert settle(ledger, job, [], 3).requested == 1
    assert states(ledger) == {"a": ("failed", 1), "b": ("failed", 0)}
    assert documents.settlement(ledger, KEY).total == 0
    assert documents.retry_failed(ledger, KEY) == 0
    assert documents.owed(ledger, KEY, "batch") == []


def test_a_document_that_comes_back_into_the_plan_is_owed_again(ledger: LedgerConnection) -> None:
    plan(ledger, "ab")
    jobs.void(ledger, reserved(ledger, "s", ["a", "b"]))
    documents.register(ledger, KEY, [])
    plan(ledger, "ab")
    assert states(ledger) == {"a": ("owed", 0), "b": ("owed", 0)}


def test_a_new_prompt_is_taken_over_between_two_attempts(ledger: LedgerConnection) -> None:
    """What was owed once must not be stuck with a request this code no longer makes."""
    plan(ledger, "a")
    settle(ledger, ended(ledger, "s", "a"), [], 3)
    assert states(ledger) == {"a": ("owed", 1)}
    documents.register(ledger, KEY, [PlannedDocument("r-a", "md5-a", "another", "batch")])
    assert documents.owed(ledger, KEY, "batch") == [("r-a", "another")]


def test_an_answered_document_keeps_its_answer(ledger: LedgerConnection) -> None:
    plan(ledger, "a")
    settle(ledger, ended(ledger, "s", "a"), [RecordOutcome("r-a", "answered")], 3)
    assert documents.register(ledger, KEY, [PlannedDocument("r-a", "md5-a", "another", "batch")]) == 0
    assert documents.retry_failed(ledger, KEY) == 0
    assert states(ledger) == {"a": ("answered", 1)}


def test_a_call_is_answered_refused_unsent_or_given_up_once(ledger: LedgerConnection) -> None:
    plan(ledger, "abcde", "on_demand")
    calls = {name: on_demand.intend(ledger, KEY, f"r-{name}", "m") for name in "abcde"}
    assert len(on_demand.open_calls(ledger, KEY)) == 5
    on_demand.answered(ledger, calls["a"], b"{}", 5, 6)
    on_demand.refused(ledger, calls["b"], 400, "no", 0)
    on_demand.refused(ledger, calls["c"], 503, "later", 3)
    on_demand.unsent(ledger, calls["d"])
    on_demand.given_up(ledger, calls["e"])
    expected = {
        "a": ("answered", 1), "b": ("failed", 1), "c": ("owed", 1), "d": ("owed", 0), "e": ("failed", 1),
    }  # fmt: skip
    assert states(ledger) == expected
    for call in calls.values():
        with pytest.raises(LedgerConflict, match="has ended already"):
            on_demand.unsent(ledger, call)
    assert states(ledger) == expected
    assert list(on_demand.lines(ledger, KEY, "m")) == [b"{}"]
    assert (on_demand.erase_lines(ledger, KEY), on_demand.erase_lines(ledger, KEY)) == (1, 0)


def test_a_hold_that_was_answered_is_not_repeated(ledger: LedgerConnection) -> None:
    assert migrations.hold_once(ledger, KEY, "job s", "why")
    assert migrations.standing(ledger, KEY).hold == "why"
    migrations.release(ledger, KEY)
    assert not migrations.hold_once(ledger, KEY, "job s", "why")
    assert migrations.hold_once(ledger, KEY, "job t", "why")


def test_jobs_that_wait_for_room_are_woken_when_one_ends(ledger: LedgerConnection) -> None:
    migrations.record(ledger, "globex", "globex", "d")
    plan(ledger, "a")
    plan(ledger, "b", key="globex")
    migrations.mark_planned(ledger, KEY)
    waiting = reserved(ledger, "s", ["a"])
    jobs.delay(ledger, waiting, 600)
    assert migrations.standing(ledger, KEY).next_step() == "wait"
    jobs.reserve(ledger, "globex", [reservation("t", ["b"])])
    other = job_named(ledger, "bp-t-a1", "globex")
    jobs.mark_sent(ledger, other)
    jobs.accept(ledger, other, "arn:t")
    assert [job.name for job in jobs.open_jobs_like(ledger, other.account, other.model)] == ["bp-t-a1"]
    assert jobs.apply_report(ledger, other, report(other, "Completed", ended=True))
    assert migrations.standing(ledger, KEY).next_step() == "submit"
