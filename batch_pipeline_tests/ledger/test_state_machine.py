"""Any order of steps, crashes included, keeps the ledger's promises; played on the real database."""

import uuid
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from psycopg import sql

from batch_pipeline.errors import LedgerConflict
from batch_pipeline.ledger import documents, jobs, migrations, on_demand
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.escalation import Unusable, escalate
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.ledger.settlement import RecordOutcome, settle
from batch_pipeline.local.postgres import EmbeddedPostgres
from batch_pipeline_tests.ledger.rows import plan, report, reservation

pytestmark = pytest.mark.servers

MOST_ATTEMPTS = 3
LAST_TIER = 2
KINDS: st.SearchStrategy[Any] = st.sampled_from(["answered", "permanent", "retryable", "missing"])


class LedgerMachine(RuleBasedStateMachine):
    """The model is a count of what was paid: answers per record and model of the cascade, and answers kept."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.key = f"m{uuid.uuid4().hex}"
        self.ledger = LedgerConnection.open(self.url, upgrade=False)
        migrations.record(self.ledger, self.key, self.key, "d")
        self.names = 0
        self.shards = 0
        self.calls: dict[int, str] = {}
        self.answers: dict[tuple[str, int], int] = {}
        self.tiers: dict[str, int] = {}
        self.left: set[tuple[str, int]] = set()

    def teardown(self) -> None:
        self.ledger.close()

    def _name(self, record_id: str) -> str:
        return record_id.removeprefix("r-")

    def _jobs(self, *states: Any) -> list[Job]:
        return jobs.jobs(self.ledger, self.key, *states)

    @rule(count=st.integers(1, 4), route=st.sampled_from(["batch", "on_demand"]))
    def plan_more(self, count: int, route: Any) -> None:
        names = [f"{self.key}{number}" for number in range(self.names, self.names + count)]
        self.names += count
        self.tiers |= {f"r-{name}": 0 for name in names}
        assert plan(self.ledger, names, route, self.key) == count
        assert plan(self.ledger, names, route, self.key) == 0

    def _owed(self, tier: int) -> list[str]:
        return [self._name(record) for record, _ in documents.owed(self.ledger, self.key, "batch", tier)]

    def _answered(self, record: str) -> None:
        at = (record, self.tiers[record])
        self.answers[at] = self.answers.get(at, 0) + 1

    @rule(share=st.integers(1, 5), tier=st.integers(0, LAST_TIER))
    def reserve(self, share: int, tier: int) -> None:
        owed = self._owed(tier)[:share]
        if owed:
            self.shards += 1
            jobs.reserve(self.ledger, self.key, [reservation(f"{self.key}{self.shards}", owed, tier=tier)])

    @rule(tier=st.integers(0, LAST_TIER), other=st.integers(0, LAST_TIER))
    def send_to_a_model_it_is_not_at(self, tier: int, other: int) -> None:
        owed = self._owed(tier)[:1]
        if owed and tier != other:
            wrong = reservation(f"{self.key}w{tier}{other}", owed, tier=other)
            with pytest.raises(psycopg.errors.CheckViolation):
                jobs.reserve(self.ledger, self.key, [wrong])
            with pytest.raises(LedgerConflict):
                on_demand.intend(self.ledger, self.key, f"r-{owed[0]}", "m", other)

    @rule(pick=st.integers(0, 9))
    def reserve_what_is_not_owed(self, pick: int) -> None:
        rows = self.ledger.sql.execute(
            "select record_id from document where migration = %s and state <> 'owed'", (self.key,)
        ).fetchall()
        if rows:
            record = self._name(rows[pick % len(rows)]["record_id"])
            before = self._jobs()
            with pytest.raises((psycopg.Error, LedgerConflict)):
                jobs.reserve(self.ledger, self.key, [reservation(f"{self.key}x{pick}", [record])])
            assert self._jobs() == before

    @rule(adopted=st.booleans())
    def accept(self, adopted: bool) -> None:
        for job in self._jobs("intent")[:1]:
            jobs.mark_sent(self.ledger, job)
            jobs.accept(self.ledger, job, f"arn:{job.name}", adopted=adopted)

    @rule()
    def give_up_an_intent(self) -> None:
        for job in self._jobs("intent")[:1]:
            jobs.void(self.ledger, job)

    @rule(status=st.sampled_from(["Validating", "InProgress", "Completed", "PartiallyCompleted", "Stopped"]))
    def hear_of_a_job(self, status: str) -> None:
        for job in self._jobs("accepted", "running")[:1]:
            ended = status not in {"Validating", "InProgress"}
            jobs.apply_report(self.ledger, job, report(job, status, ended=ended))

    @precondition(lambda self: self._jobs("ended"))
    @rule(data=st.data(), counts=st.booleans(), crash=st.booleans())
    def settle(self, data: st.DataObject, counts: bool, crash: bool) -> None:
        job = self._jobs("ended")[0]
        rows = self.ledger.sql.execute("select record_id from job_document where job = %s", (job.id,))
        kinds = {row["record_id"]: data.draw(KINDS) for row in rows}
        lines = [
            RecordOutcome(record, kind, 400 if kind == "permanent" else 429)
            for record, kind in kinds.items()
            if kind != "missing"
        ]
        if crash:
            with pytest.raises(KeyboardInterrupt), self.ledger.transaction():
                settle(self.ledger, job, lines, MOST_ATTEMPTS, count_attempt=counts)
                raise KeyboardInterrupt
            assert self._jobs("ended")[0].id == job.id
            return
        first = settle(self.ledger, job, lines, MOST_ATTEMPTS, count_attempt=counts)
        assert settle(self.ledger, job, [], MOST_ATTEMPTS) == first
        assert first.requested == first.answered + first.permanent + first.retryable + first.missing
        for record, kind in kinds.items():
            if kind == "answered":
                self._answered(record)

    @rule(end=st.sampled_from(["answered", "refused", "later", "unsent", "given_up", "crash"]))
    def call(self, end: str) -> None:
        owed = on_demand.owed_calls(self.ledger, self.key)
        if not owed:
            return
        record = owed[0].record_id
        call = on_demand.intend(self.ledger, self.key, record, "m", self.tiers[record])
        match end:
            case "answered":
                on_demand.answered(self.ledger, call, b"{}", 1, 1)
                self._answered(record)
            case "refused":
                on_demand.refused(self.ledger, call, 400, "no", 0)
            case "later":
                on_demand.refused(self.ledger, call, 503, "later", MOST_ATTEMPTS)
            case "unsent":
                on_demand.unsent(self.ledger, call)
            case "given_up":
                on_demand.given_up(self.ledger, call)
            case "crash":
                self.calls[call] = record

    @rule(again=st.booleans())
    def resolve_a_doubt(self, again: bool) -> None:
        for call, _ in on_demand.open_calls(self.ledger, self.key)[:1]:
            (on_demand.unsent if again else on_demand.given_up)(self.ledger, call)
            del self.calls[call]

    @rule()
    def move_the_rest(self) -> None:
        owed = [f"r-{name}" for name in self._owed(0)[:1]]
        documents.move_to_on_demand(self.ledger, self.key, owed)

    @rule()
    def retry_failed(self) -> None:
        documents.retry_failed(self.ledger, self.key)

    @rule(data=st.data(), crash=st.booleans())
    def find_answers_of_no_use(self, data: st.DataObject, crash: bool) -> None:
        """Of any documents, whatever they are at: only what can rise does, and once."""
        record_ids = (
            data.draw(st.lists(st.sampled_from(sorted(self.tiers)), unique=True)) if self.tiers else []
        )
        rows = self.ledger.sql.execute(
            "select record_id from document where migration = %s and record_id = any(%s) and tier < %s "
            "and (state = 'answered' or reason = 'provider_error')",
            (self.key, record_ids, LAST_TIER),
        )
        may = {row["record_id"] for row in rows}
        of_no_use = [Unusable(record, "m", "truncated", "batch") for record in record_ids]
        if crash:
            with pytest.raises(KeyboardInterrupt), self.ledger.transaction():
                escalate(self.ledger, self.key, of_no_use, LAST_TIER)
                raise KeyboardInterrupt
            return
        risen = escalate(self.ledger, self.key, of_no_use, LAST_TIER)
        assert escalate(self.ledger, self.key, of_no_use, LAST_TIER).total() == 0
        assert risen.total() == len(may)
        for record in may:
            self.left.add((record, self.tiers[record]))
            self.tiers[record] += 1

    @invariant()
    def no_record_is_answered_twice_by_one_model(self) -> None:
        assert all(count == 1 for count in self.answers.values())
        counts = documents.settlement(self.ledger, self.key)
        assert counts.answered == len(self.answers.keys() - self.left)
        assert counts.total == self.names

    @invariant()
    def a_document_is_at_the_model_after_those_that_failed(self) -> None:
        rows = self.ledger.sql.execute(
            "select record_id, tier, (select count(*) from escalation e where e.migration = d.migration "
            "and e.record_id = d.record_id) as risen from document d where migration = %s",
            (self.key,),
        ).fetchall()
        assert {row["record_id"]: row["tier"] for row in rows} == self.tiers
        assert all(row["risen"] == row["tier"] for row in rows)

    @invariant()
    def every_paid_answer_stays_in_the_ledger_with_its_tokens(self) -> None:
        row = self.ledger.sql.execute(
            "select (select count(*) from job_document where migration = %(key)s and outcome = 'answered') + "
            "(select count(*) from on_demand_call where migration = %(key)s and state = 'answered' "
            "and input_tokens = 1) as n",
            {"key": self.key},
        ).fetchone()
        assert row == {"n": len(self.answers)}

    @invariant()
    def a_sent_record_is_under_way_in_exactly_one_place(self) -> None:
        rows = self.ledger.sql.execute(
            "select d.state, d.attempts, (select count(*) from job_document j where j.migration = d.migration "
            "and j.record_id = d.record_id and j.outcome is null) + (select count(*) from on_demand_call c "
            "where c.migration = d.migration and c.record_id = d.record_id and c.state = 'intent') as open "
            "from document d where d.migration = %s",
            (self.key,),
        ).fetchall()
        assert all(row["open"] == (row["state"] == "sent") for row in rows)
        assert all(0 <= row["attempts"] <= MOST_ATTEMPTS for row in rows if row["state"] != "sent")

    @invariant()
    def doubts_stay_until_a_person_decides(self) -> None:
        assert dict(on_demand.open_calls(self.ledger, self.key)) == self.calls


def test_any_order_of_steps_keeps_the_promises(postgres_server: EmbeddedPostgres) -> None:
    name = f"machine_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        LedgerMachine.url = postgres_server.url_of(name)
        LedgerConnection.open(LedgerMachine.url).close()
        try:
            run_state_machine_as_test(
                LedgerMachine,
                settings=settings(
                    max_examples=60,
                    stateful_step_count=30,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
