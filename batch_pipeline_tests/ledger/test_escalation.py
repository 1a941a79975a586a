"""From one model of a cascade to the next: what may rise, when, and what the database itself refuses."""

from collections import Counter

import psycopg
import pytest

from batch_pipeline.ledger import documents, migrations, on_demand
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.escalation import Risen, Unusable, escalate, highest_tier, risen
from batch_pipeline.ledger.settlement import RecordOutcome, settle
from batch_pipeline_tests.ledger.rows import KEY, ended, plan, states

pytestmark = pytest.mark.servers


def settled(ledger: LedgerConnection, **kinds: str) -> None:
    """A job of these documents, each with its outcome."""
    plan(ledger, kinds)
    job = ended(ledger, "s", list(kinds))
    codes = {"permanent": 400, "retryable": 503}
    outcomes = [
        RecordOutcome(f"r-{name}", kind, codes.get(kind), None, 7, 5)  # type: ignore[arg-type]
        for name, kind in kinds.items()
    ]
    settle(ledger, job, outcomes, 1)


def of_no_use(*names: str) -> list[Unusable]:
    return [Unusable(f"r-{name}", "cheap", "truncated", "batch") for name in names]


def test_only_what_a_model_failed_to_answer_rises(ledger: LedgerConnection) -> None:
    settled(ledger, answered="answered", refused="permanent", busy="retryable")
    plan(ledger, ["owed"])
    assert escalate(ledger, KEY, of_no_use("answered", "refused", "busy", "owed", "unknown"), 1) == {1: 2}
    assert states(ledger) == {
        "answered": ("owed", 0),
        "refused": ("owed", 0),
        "busy": ("failed", 1),
        "owed": ("owed", 0),
    }
    assert documents.owed(ledger, KEY, "batch", 1) == [
        ("r-answered", "asks-answered"),
        ("r-refused", "asks-refused"),
    ]
    assert risen(ledger, KEY) == [Risen(0, "cheap", "truncated", 2)]


def test_rising_twice_changes_nothing_and_nothing_passes_the_last_model(ledger: LedgerConnection) -> None:
    settled(ledger, a="answered")
    assert escalate(ledger, KEY, of_no_use("a"), 0) == Counter()
    assert escalate(ledger, KEY, of_no_use("a"), 1) == {1: 1}
    assert escalate(ledger, KEY, of_no_use("a"), 1) == Counter()
    call_of(ledger, "a", 1)
    assert escalate(ledger, KEY, of_no_use("a"), 1) == Counter()
    assert highest_tier(ledger, KEY) == 1


def call_of(ledger: LedgerConnection, name: str, tier: int) -> None:
    documents.move_to_on_demand(ledger, KEY, [f"r-{name}"])
    on_demand.answered(ledger, on_demand.intend(ledger, KEY, f"r-{name}", "dear", tier), b"{}", 3, 4)


def test_both_paid_answers_stay_and_the_last_one_is_the_documents_own(ledger: LedgerConnection) -> None:
    plan(ledger, ["a"], "on_demand")
    first = on_demand.intend(ledger, KEY, "r-a", "cheap")
    on_demand.answered(ledger, first, b"cut", 1, 2)
    escalate(ledger, KEY, of_no_use("a"), 1)
    call_of(ledger, "a", 1)
    rows = ledger.sql.execute(
        "select tier, model, input_tokens, output_tokens from on_demand_call order by id"
    ).fetchall()
    assert [tuple(row.values()) for row in rows] == [(0, "cheap", 1, 2), (1, "dear", 3, 4)]
    assert on_demand.models(ledger, KEY) == ["dear"]
    assert list(on_demand.lines(ledger, KEY, "dear")) == [b"{}"]


def test_nothing_rises_after_the_import(ledger: LedgerConnection) -> None:
    settled(ledger, a="answered")
    migrations.set_state(ledger, KEY, "imported")
    with pytest.raises(psycopg.errors.CheckViolation):
        escalate(ledger, KEY, of_no_use("a"), 1)
    assert states(ledger) == {"a": ("answered", 1)}


RISE = (
    "update document set tier = {tier}, state = '{state}', attempts = {attempts}, reason = null, "
    "answered_by_job = null, answered_by_call = null"
)


@pytest.mark.parametrize(
    ("tier", "state", "attempts"), [("tier + 2", "owed", 0), ("tier + 1", "sent", 0), ("tier + 1", "owed", 1)]
)
def test_a_model_is_not_left_out_and_attempts_are_not_taken_along(
    ledger: LedgerConnection, tier: str, state: str, attempts: int
) -> None:
    settled(ledger, a="answered")
    give_reason(ledger)
    with pytest.raises(psycopg.errors.CheckViolation):
        ledger.sql.execute(RISE.format(tier=tier, state=state, attempts=attempts).encode())
    ledger.sql.execute(RISE.format(tier="tier + 1", state="owed", attempts=0).encode())
    with pytest.raises(psycopg.errors.CheckViolation):
        ledger.sql.execute(b"update document set tier = tier - 1")


def give_reason(ledger: LedgerConnection) -> None:
    ledger.sql.execute(
        "insert into escalation (migration, record_id, from_tier, model, reason, answered_by_job) "
        "select migration, record_id, tier, 'm', 'r', answered_by_job from document"
    )


def test_a_document_does_not_rise_without_a_reason_that_names_its_answer(ledger: LedgerConnection) -> None:
    settled(ledger, a="answered")
    rise = RISE.format(tier="tier + 1", state="owed", attempts=0).encode()
    with pytest.raises(psycopg.errors.CheckViolation):
        ledger.sql.execute(rise)
    give_reason(ledger)
    ledger.sql.execute("update escalation set answered_by_job = null")
    with pytest.raises(psycopg.errors.CheckViolation):
        ledger.sql.execute(rise)


def test_a_document_begins_at_the_first_model(ledger: LedgerConnection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        ledger.sql.execute(
            "insert into document (migration, record_id, md5, request_digest, route, tier) "
            "values (%s, 'r', 'm', 'd', 'batch', 1)",
            (KEY,),
        )
