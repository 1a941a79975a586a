"""Jobs: reserved, accepted, running, ended, collected. Each function is one durable step.

The two writes around a create call are `mark_sent` (before) and `accept` (after). Between them the
intent is ambiguous; `ambiguous` lists such intents, and only what the provider says resolves them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from batch_pipeline.errors import LedgerConflict
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.states import JobState
from batch_pipeline.ledger.words import storable
from batch_pipeline.providers.contract import JobReport, JobRequest


@dataclass(frozen=True)
class Reservation:
    """A shard as it will be sent: what the job does, and the records it holds in file order."""

    shard_digest: str
    attempt: int
    account: str
    request: JobRequest
    bytes: int
    record_ids: Sequence[str]
    pause_seconds: float = 0.0  # before it may be sent
    tier: int = 0  # which model of the cascade answers


@dataclass(frozen=True)
class Job:
    """One row of the ledger."""

    id: int
    migration: str
    shard_digest: str
    attempt: int
    state: JobState
    account: str
    name: str
    token: str
    model: str
    invocation_type: str
    input_uri: str
    output_uri: str
    timeout_hours: int
    records: int
    bytes: int
    reserved_at: datetime
    sent_at: datetime | None
    provider_id: str | None
    provider_status: str | None
    message: str | None
    counts: dict[str, Any] | None
    deadline: datetime | None
    ended_at: datetime | None
    tier: int

    @property
    def request(self) -> JobRequest:
        return JobRequest(
            self.name,
            self.token,
            self.model,
            self.invocation_type,
            self.input_uri,
            self.output_uri,
            self.timeout_hours,
            self.records,
        )


_COLUMNS = ", ".join(Job.__dataclass_fields__)


def _jobs(rows: Iterable[dict[str, Any]]) -> list[Job]:
    return [Job(**row) for row in rows]


def reserve(ledger: LedgerConnection, key: str, reservations: Sequence[Reservation]) -> None:
    """Write every intent of one plan, and mark its records as sent, before the first call.

    All or nothing: a sensor never sees half of a migration reserved. The database refuses a record
    that is already in an unsettled job or call.

    Raises:
        LedgerConflict: a record is not owed.
    """
    with ledger.transaction():
        for reservation in reservations:
            request = reservation.request
            sent = ledger.sql.execute(
                "update document set state = 'sent', attempts = attempts + 1 "
                "where migration = %s and record_id = any(%s) and state = 'owed'",
                (key, list(reservation.record_ids)),
            ).rowcount
            if sent != len(reservation.record_ids):
                raise LedgerConflict(
                    f"job {request.name}: {len(reservation.record_ids) - sent} of its "
                    f"{len(reservation.record_ids)} records are not owed; nothing was reserved"
                )
            row = ledger.sql.execute(
                "insert into job (migration, shard_digest, attempt, account, name, token, model, "
                "invocation_type, input_uri, output_uri, timeout_hours, records, bytes, tier, due_at) "
                "values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, "
                "now() + make_interval(secs => %s)) returning id",
                (
                    key,
                    reservation.shard_digest,
                    reservation.attempt,
                    reservation.account,
                    request.name,
                    request.token,
                    request.model,
                    request.invocation_type,
                    request.input_uri,
                    request.output_uri,
                    request.timeout_hours,
                    len(reservation.record_ids),
                    reservation.bytes,
                    reservation.tier,
                    reservation.pause_seconds,
                ),
            ).fetchone()
            assert row is not None
            with (
                ledger.sql.cursor() as cursor,
                cursor.copy("copy job_document (job, migration, record_id) from stdin") as copy,
            ):
                for record_id in reservation.record_ids:
                    copy.write_row((row["id"], key, record_id))


def jobs(ledger: LedgerConnection, key: str, *states: JobState) -> list[Job]:
    """Jobs of one migration in any of `states` (all jobs where none is named), oldest first."""
    return _jobs(
        ledger.sql.execute(
            f"select {_COLUMNS} from job where migration = %s "  # noqa: S608 - our own field names
            "and (state = any(%s) or cardinality(%s::text[]) = 0) order by id",
            (key, list(states), list(states)),
        )
    )


def open_jobs(ledger: LedgerConnection, limit: int = 1000) -> list[Job]:
    """Accepted and running jobs of all migrations, those longest unchecked first."""
    return _jobs(
        ledger.sql.execute(
            f"select {_COLUMNS} from job where state in ('accepted', 'running') "  # noqa: S608
            "order by checked_at nulls first, id limit %s",
            (limit,),
        )
    )


def due_jobs(ledger: LedgerConnection, unchecked_seconds: float, named: Iterable[str] = ()) -> list[Job]:
    """Open jobs nobody asked about for so long, and those `named` by provider id, longest unchecked first."""
    return _jobs(
        ledger.sql.execute(
            f"select {_COLUMNS} from job where state in ('accepted', 'running') "  # noqa: S608
            "and (checked_at is null or checked_at <= now() - make_interval(secs => %s) "
            "or provider_id = any(%s)) order by checked_at nulls first, id limit 1000",
            (unchecked_seconds, list(named)),
        )
    )


def open_jobs_like(ledger: LedgerConnection, account: str, model: str) -> list[Job]:
    """Accepted and running jobs that share one quota, of whichever migration."""
    return _jobs(
        ledger.sql.execute(
            f"select {_COLUMNS} from job where state in ('accepted', 'running') "  # noqa: S608
            "and account = %s and model = %s order by id",
            (account, model),
        )
    )


def by_id(ledger: LedgerConnection, ids: list[int]) -> list[Job]:
    return _jobs(
        ledger.sql.execute(f"select {_COLUMNS} from job where id = any(%s) order by id", (ids,))  # noqa: S608
    )


def ids_of_others(ledger: LedgerConnection, job: Job) -> frozenset[str]:
    """The provider's ids of every other job of this account, of whichever migration."""
    rows = ledger.sql.execute(
        "select provider_id from job where account = %s and id <> %s and provider_id is not null",
        (job.account, job.id),
    )
    return frozenset(row["provider_id"] for row in rows)


def next_attempt(ledger: LedgerConnection, key: str, shard_digest: str) -> int:
    """1 for a shard never reserved; one more than its last attempt otherwise."""
    row = ledger.sql.execute(
        "select coalesce(max(attempt), 0) + 1 as n from job where migration = %s and shard_digest = %s",
        (key, shard_digest),
    ).fetchone()
    assert row is not None
    return int(row["n"])


def room(ledger: LedgerConnection, key: str, account: str, model: str, most: int) -> int:
    """How many more jobs this migration may have under way, of the `most` its account and model take.

    Room is shared: a migration may hold its even part of the quota while others wait for theirs, and
    all of it when nobody else does. Zero or less: none.
    """
    row = ledger.sql.execute(
        "select count(*) filter (where j.state in ('accepted', 'running')) as taken, "
        "count(*) filter (where j.state in ('accepted', 'running') and j.migration = %(key)s) as own, "
        "count(distinct j.migration) filter (where j.state = 'intent' and j.migration <> %(key)s "
        "and m.hold is null and m.state = 'open') as waiting "
        "from job j join migration m on m.key = j.migration "
        "where j.account = %(account)s and j.model = %(model)s and j.state in ('intent', 'accepted', 'running')",
        {"key": key, "account": account, "model": model},
    ).fetchone()
    assert row is not None
    share = -(-most // (row["waiting"] + 1))
    return int(min(most - row["taken"], share - row["own"]))


def mark_sent(ledger: LedgerConnection, job: Job) -> None:
    """From here on the intent may have become a paid job."""
    ledger.sql.execute("update job set sent_at = coalesce(sent_at, now()) where id = %s", (job.id,))


def accept(ledger: LedgerConnection, job: Job, provider_id: str, *, adopted: bool = False) -> None:
    """The provider's id, durable. `adopted`: found there, not answered to us."""
    with ledger.transaction():
        ledger.sql.execute(
            "update job set state = 'accepted', provider_id = %s, not_before = null where id = %s",
            (provider_id, job.id),
        )
        ledger.sql.execute(
            "insert into event (migration, kind, detail) values (%s, %s, %s)",
            (
                job.migration,
                "job adopted" if adopted else "job accepted",
                Jsonb(
                    {
                        "job": job.name,
                        "provider_id": provider_id,
                        "records": job.records,
                        "shard": job.shard_digest,
                        "attempt": job.attempt,
                        "account": job.account,
                        "model": job.model,
                    }
                ),
            ),
        )


def due(ledger: LedgerConnection, key: str) -> list[Job]:
    """Intents of a migration whose pause is over, oldest first; those that only wait for room included."""
    return _jobs(
        ledger.sql.execute(
            f"select {_COLUMNS} from job where migration = %s and state = 'intent' "  # noqa: S608
            "and coalesce(due_at, now()) <= now() order by id",
            (key,),
        )
    )


def found_no_room(ledger: LedgerConnection, key: str, tier: int, seconds: float) -> bool:
    """Whether a job of the migration to this tier's model ended for want of room in the last `seconds`."""
    row = ledger.sql.execute(
        "select 1 from job where migration = %s and tier = %s and state = 'collected' and provider_status = 'NoRoom' "
        "and ended_at > now() - make_interval(secs => %s) limit 1",
        (key, tier, seconds),
    ).fetchone()
    return row is not None


def delay(ledger: LedgerConnection, job: Job, seconds: float) -> None:
    """No room for another job: try again later, or when a job of this account ends."""
    ledger.sql.execute(
        "update job set not_before = now() + make_interval(secs => %s) where id = %s and state = 'intent'",
        (seconds, job.id),
    )


def void(ledger: LedgerConnection, job: Job) -> None:
    """Give up an intent that was never accepted: its records are owed again, no attempt counted."""
    with ledger.transaction():
        ledger.sql.execute("update job set state = 'void' where id = %s", (job.id,))
        ledger.sql.execute("update job_document set outcome = 'unsent' where job = %s", (job.id,))
        ledger.sql.execute(
            "update document d set state = 'owed', attempts = greatest(attempts - 1, 0) from job_document j "
            "where j.job = %s and d.migration = j.migration and d.record_id = j.record_id and d.state = 'sent'",
            (job.id,),
        )


def apply_report(ledger: LedgerConnection, job: Job, report: JobReport) -> bool:
    """Write what the provider says; idempotent, and never backwards.

    Returns:
        Whether anything changed.
    """
    state: JobState = "ended" if report.phase == "ended" else "running"
    counts = {name: value for name, value in vars(report.counts).items() if value is not None}
    with ledger.transaction():
        row = ledger.sql.execute(
            "update job set state = %s, provider_status = %s, message = %s, counts = %s, "
            "deadline = coalesce(%s, deadline), ended_at = case when %s = 'ended' "
            "then coalesce(%s, ended_at, now()) end, checked_at = now() "
            "where id = %s and state in ('accepted', 'running') and "
            "(state, coalesce(provider_status, ''), counts) is distinct from (%s, %s, %s) returning migration",
            (
                state,
                report.status,
                storable(report.message),
                Jsonb(counts),
                report.deadline,
                state,
                report.ended_at,
                job.id,
                state,
                report.status,
                Jsonb(counts),
            ),
        ).fetchone()
        if row is None:
            ledger.sql.execute("update job set checked_at = now() where id = %s", (job.id,))
            return False
        if state == "ended":
            ledger.sql.execute(
                "update job set not_before = null where state = 'intent' and account = %s and model = %s",
                (job.account, job.model),
            )
            ledger.sql.execute(
                "update migration set idle_launches = 0, launch_after = now() where key = %s",
                (job.migration,),
            )
            ledger.sql.execute(
                "insert into event (migration, kind, detail) values (%s, 'job ended', %s)",
                (job.migration, Jsonb({"job": job.name, "status": report.status})),
            )
        return True


def advance(ledger: LedgerConnection, key: str, before: JobState, after: JobState) -> int:
    """Take every job of a migration one step on (collected to imported, imported to erased)."""
    return ledger.sql.execute(
        "update job set state = %s where migration = %s and state = %s", (after, key, before)
    ).rowcount
