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
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.ledger.settlement import RecordOutcome, settle
from batch_pipeline.local.postgres import EmbeddedPostgres
from batch_pipeline_tests.ledger.rows import plan, report, reservation

pytestmark = pytest.mark.servers

MOST_ATTEMPTS = 3
KINDS: st.SearchStrategy[Any] = st.sampled_from(["answered", "permanent", "retryable", "missing"])


class LedgerMachine(RuleBasedStateMachine):
    """The model is a count of what a provider was paid: answers per record, and answers kept."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.key = f"m{uuid.uuid4().hex}"
        self.ledger = LedgerConnection.open(self.url, upgrade=False)
        migrations.record(self.ledger, self.key, self.key, "d")
        self.names = 0
        self.shards = 0
        self.calls: dict[int, str] = {}
        self.answers: dict[str, int] = {}

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
        assert plan(self.ledger, names, route, self.key) == count
        assert plan(self.ledger, names, route, self.key) == 0

    @rule(share=st.integers(1, 5))
    def reserve(self, share: int) -> None:
        owed = [self._name(record) for record, _ in documents.owed(self.ledger, self.key, "batch")][:share]
        if owed:
            self.shards += 1
            jobs.reserve(self.ledger, self.key, [reservation(f"{self.key}{self.shards}", owed)])

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
                self.answers[record] = self.answers.get(record, 0) + 1

    @rule(end=st.sampled_from(["answered", "refused", "later", "unsent", "given_up", "crash"]))
    def call(self, end: str) -> None:
        owed = on_demand.owed_calls(self.ledger, self.key)
        if not owed:
            return
        record = owed[0].record_id
        call = on_demand.intend(self.ledger, self.key, record, "m")
        match end:
            case "answered":
                on_demand.answered(self.ledger, call, b"{}", 1, 1)
                self.answers[record] = self.answers.get(record, 0) + 1
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
        owed = [record for record, _ in documents.owed(self.ledger, self.key, "batch")][:1]
        documents.move_to_on_demand(self.ledger, self.key, owed)

    @rule()
    def retry_failed(self) -> None:
        documents.retry_failed(self.ledger, self.key)

    @invariant()
    def no_record_is_answered_twice(self) -> None:
        assert all(count == 1 for count in self.answers.values())
        counts = documents.settlement(self.ledger, self.key)
        assert counts.answered == len(self.answers)
        assert counts.total == self.names

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
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
