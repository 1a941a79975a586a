"""Illegal steps are refused by the database itself, whoever tries them."""

from dataclasses import replace
from itertools import product

import psycopg
import pytest

from batch_pipeline.errors import LedgerConflict
from batch_pipeline.ledger import jobs, migrations, on_demand
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.states import DOCUMENT_TRANSITIONS, TRANSITIONS, Standing, Step
from batch_pipeline_tests.ledger.rows import KEY, ended, plan, report, reservation, reserved, states

pytestmark = pytest.mark.servers

JOB_STATES = sorted({state for pair in TRANSITIONS for state in pair})
DOCUMENT_STATES = sorted({state for pair in DOCUMENT_TRANSITIONS for state in pair})


@pytest.mark.parametrize(
    ("table", "ours"),
    [("job_transition", TRANSITIONS), ("document_transition", DOCUMENT_TRANSITIONS)],
)
def test_code_and_database_hold_the_same_transitions(
    ledger: LedgerConnection, table: str, ours: frozenset[tuple[str, str]]
) -> None:
    rows = ledger.sql.execute(f"select from_state, to_state from {table}".encode())
    assert {(row["from_state"], row["to_state"]) for row in rows} == ours


def test_a_job_takes_legal_steps_only(ledger: LedgerConnection) -> None:
    """Every pair of states, tried on a job that really is in the first one."""
    plan(ledger, [f"{number}" for number in range(len(JOB_STATES))])
    refused = 0
    for number, state in enumerate(JOB_STATES):
        job = reserved(ledger, f"shard{number}", [f"{number}"])
        _bring(ledger, job.id, state)
        for target in JOB_STATES:
            change = (
                "update job set state = %s, provider_id = case when %s in ('intent', 'void') then null "
                "else coalesce(provider_id, 'p' || id) end, sent_at = now() where id = %s"
            )
            if target == state or (state, target) in TRANSITIONS:
                continue
            with pytest.raises(psycopg.errors.CheckViolation):
                ledger.sql.execute(change, (target, target, job.id))
            refused += 1
    assert refused == len(JOB_STATES) * (len(JOB_STATES) - 1) - len(TRANSITIONS)


def _bring(ledger: LedgerConnection, job: int, wanted: str) -> None:
    path = {
        "intent": [],
        "void": ["void"],
        "accepted": ["accepted"],
        "running": ["accepted", "running"],
        "ended": ["accepted", "ended"],
        "collected": ["accepted", "ended", "collected"],
        "imported": ["accepted", "ended", "collected", "imported"],
        "erased": ["accepted", "ended", "collected", "imported", "erased"],
    }[wanted]
    for state in path:
        ledger.sql.execute(
            "update job set state = %s, sent_at = now(), "
            "provider_id = case when %s = 'void' then null else 'p' || id end where id = %s",
            (state, state, job),
        )


def test_a_document_takes_legal_steps_only(ledger: LedgerConnection) -> None:
    plan(ledger, ["a"])
    job = ended(ledger, "s", ["a"])
    ledger.sql.execute("update job_document set outcome = 'answered'")
    legal = 0
    for before, after in product(DOCUMENT_STATES, repeat=2):
        if before == after:
            continue
        _force(ledger, before, job.id)
        try:
            ledger.sql.execute(
                "update document set state = %(state)s, "
                "reason = case when %(state)s = 'failed' then 'x' end, "
                "answered_by_job = case when %(state)s = 'answered' then %(job)s::bigint end",
                {"state": after, "job": job.id},
            )
            legal += 1
            assert (before, after) in DOCUMENT_TRANSITIONS
        except psycopg.errors.CheckViolation:
            assert (before, after) not in DOCUMENT_TRANSITIONS
    assert legal == len(DOCUMENT_TRANSITIONS)


def _force(ledger: LedgerConnection, state: str, job: int) -> None:
    """Put the only document into a state without its triggers."""
    ledger.sql.execute("alter table document disable trigger user")
    ledger.sql.execute(
        "update document set state = %(state)s, reason = case when %(state)s = 'failed' then 'x' end, "
        "answered_by_job = case when %(state)s = 'answered' then %(job)s::bigint end",
        {"state": state, "job": job},
    )
    ledger.sql.execute("alter table document enable trigger user")


def test_a_job_begins_as_an_intent(ledger: LedgerConnection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="cannot begin"):
        ledger.sql.execute(
            "insert into job (migration, shard_digest, attempt, state, account, name, token, model, "
            "invocation_type, input_uri, output_uri, timeout_hours, records, bytes, sent_at, provider_id) "
            "values ('acme', 's', 1, 'accepted', 'a', 'n', 't', 'm', 'InvokeModel', 'i', 'o', 24, 1, 1, now(), 'p')"
        )


def test_a_provider_id_is_never_exchanged(ledger: LedgerConnection) -> None:
    plan(ledger, "ab")
    first = ended(ledger, "s", ["a"])
    with pytest.raises(psycopg.errors.CheckViolation):
        ledger.sql.execute("update job set provider_id = 'another' where id = %s", (first.id,))
    second = reserved(ledger, "t", ["b"])
    jobs.mark_sent(ledger, second)
    assert first.provider_id is not None
    with pytest.raises(psycopg.errors.UniqueViolation):
        jobs.accept(ledger, second, first.provider_id)


def test_an_accepted_job_cannot_be_given_up(ledger: LedgerConnection) -> None:
    plan(ledger, "a")
    job = ended(ledger, "s", ["a"])
    with pytest.raises(psycopg.errors.CheckViolation):
        jobs.void(ledger, job)
    assert states(ledger) == {"a": ("sent", 1)}


def test_a_record_is_in_one_unsettled_job_at_a_time(ledger: LedgerConnection) -> None:
    plan(ledger, "abc")
    reserved(ledger, "first", ["a", "b"])
    with pytest.raises(LedgerConflict, match="1 of its 2 records"):
        jobs.reserve(ledger, KEY, [reservation("second", ["b", "c"])])
    ledger.sql.execute("update document set state = 'owed' where record_id = 'r-b'")
    with pytest.raises(psycopg.errors.UniqueViolation):
        jobs.reserve(ledger, KEY, [reservation("second", ["b", "c"])])
    ledger.sql.execute("update document set state = 'sent' where record_id = 'r-b'")
    assert [job.name for job in jobs.jobs(ledger, KEY)] == ["bp-first-a1"]
    assert states(ledger) == {"a": ("sent", 1), "b": ("sent", 1), "c": ("owed", 0)}


def test_a_record_is_on_one_route_at_a_time(ledger: LedgerConnection) -> None:
    plan(ledger, "a", "on_demand")
    plan(ledger, "b")
    on_demand.intend(ledger, KEY, "r-a", "model")
    ledger.sql.execute("update document set state = 'owed' where record_id = 'r-a'")
    with pytest.raises(psycopg.errors.CheckViolation, match="in a call already"):
        jobs.reserve(ledger, KEY, [reservation("s", ["a"])])
    reserved(ledger, "t", ["b"])
    with pytest.raises(LedgerConflict, match="not owed"):
        on_demand.intend(ledger, KEY, "r-b", "model")
    ledger.sql.execute("update document set state = 'owed' where record_id = 'r-b'")
    with pytest.raises(psycopg.errors.CheckViolation, match="in a job already"):
        on_demand.intend(ledger, KEY, "r-b", "model")


def test_a_shard_is_reserved_once_per_attempt(ledger: LedgerConnection) -> None:
    plan(ledger, "ab")
    reserved(ledger, "s", ["a"])
    assert jobs.next_attempt(ledger, KEY, "s") == 2
    with pytest.raises(psycopg.errors.UniqueViolation):
        jobs.reserve(ledger, KEY, [reservation("s", ["b"])])


def test_an_imported_migration_is_only_erased(ledger: LedgerConnection) -> None:
    migrations.set_state(ledger, KEY, "paused")
    migrations.set_state(ledger, KEY, "open")
    with pytest.raises(LedgerConflict):
        migrations.set_state(ledger, KEY, "erased")
    migrations.set_state(ledger, KEY, "imported")
    for state in ("open", "paused", "cancelled"):
        with pytest.raises(LedgerConflict, match="nothing was changed"):
            migrations.set_state(ledger, KEY, state)
    migrations.set_state(ledger, KEY, "erased")
    for state in ("open", "paused", "cancelled", "imported"):
        with pytest.raises(LedgerConflict):
            migrations.set_state(ledger, KEY, state)
    assert migrations.standing(ledger, KEY).next_step() == "done"


def test_a_report_never_goes_backwards(ledger: LedgerConnection) -> None:
    plan(ledger, "a")
    job = ended(ledger, "s", ["a"], "PartiallyCompleted")
    assert not jobs.apply_report(ledger, job, report(job, "InProgress", ended=False))
    assert jobs.jobs(ledger, KEY)[0].state == "ended"
    assert jobs.jobs(ledger, KEY)[0].provider_status == "PartiallyCompleted"


BASE = Standing(True, True, "open", None, 0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        ({"known": False, "planned": False}, "prepare"),
        ({"planned": False}, "prepare"),
        ({"planned": False, "in_flight": 1}, "prepare"),
        ({"owed_batch": 5}, "submit"),
        ({"ready_intents": 1, "in_flight": 3}, "submit"),
        ({"uncollected": 1, "in_flight": 1}, "submit"),
        ({"in_flight": 1}, "wait"),
        ({"in_flight": 1, "owed_on_demand": 4}, "wait"),
        ({"waiting_intents": 1}, "wait"),
        ({"owed_on_demand": 1}, "answer"),
        ({"open_calls": 1}, "answer"),
        ({}, "finish"),
        ({"state": "imported"}, "finish"),
        ({"state": "erased", "hold": "why", "owed_batch": 1}, "done"),
        ({"hold": "why", "owed_batch": 1}, "held"),
        ({"hold": "why", "uncollected": 1}, "held"),
        ({"state": "paused", "owed_batch": 1}, "paused"),
        ({"state": "paused", "planned": False}, "paused"),
        ({"state": "paused", "in_flight": 1}, "wait"),
        ({"state": "cancelled", "in_flight": 1}, "wait"),
        ({"state": "cancelled", "uncollected": 1}, "submit"),
        ({"state": "cancelled", "ready_intents": 1}, "paused"),
    ],
)
def test_the_same_facts_give_the_same_step(facts: dict[str, object], step: Step) -> None:
    assert replace(BASE, **facts).next_step() == step  # type: ignore[arg-type]
