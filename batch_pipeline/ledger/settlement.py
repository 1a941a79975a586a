"""Settling an ended job: every record of it is answered, failed for good, or owed again."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from psycopg.types.json import Jsonb

from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.documents import fail_withdrawn
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.ledger.words import storable

MESSAGE_LIMIT = 300


@dataclass(frozen=True)
class RecordOutcome:
    """What one output line says about one record."""

    record_id: str
    kind: Literal["answered", "permanent", "retryable"]
    code: int | None = None
    message: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0
    cache_written_tokens: int = 0


@dataclass(frozen=True)
class JobSettlement:
    """The sum of one job: `requested = answered + permanent + retryable + missing`."""

    requested: int
    answered: int
    permanent: int
    retryable: int
    missing: int
    failed: int
    owed_again: int


def settle(
    ledger: LedgerConnection,
    job: Job,
    outcomes: Iterable[RecordOutcome],
    max_attempts: int,
    *,
    count_attempt: bool = True,
) -> JobSettlement:
    """Write the outcome of every record and mark the job collected, in one transaction.

    A record without a line is missing, not failed: it is owed again. `count_attempt=False` (the job
    never began, or was stopped) gives missing records their attempt back.

    Running it again for a job that is already collected changes nothing.
    """
    with ledger.transaction():
        locked = ledger.sql.execute("select state from job where id = %s for update", (job.id,)).fetchone()
        assert locked is not None
        if locked["state"] != "ended":
            return _sum(ledger, job)
        _write(ledger, job, outcomes, max_attempts, count_attempt=count_attempt)
        settled = _sum(ledger, job)
        ledger.sql.execute(
            "insert into event (migration, kind, detail) values (%s, 'job settled', %s)",
            (job.migration, Jsonb({"job": job.name, **vars(settled)})),
        )
        return settled


def _write(
    ledger: LedgerConnection,
    job: Job,
    outcomes: Iterable[RecordOutcome],
    max_attempts: int,
    *,
    count_attempt: bool,
) -> None:
    ledger.sql.execute(
        "create temporary table outcome (record_id text primary key, kind text, code integer, message text, "
        "input_tokens bigint, output_tokens bigint, cached_tokens bigint, cache_written_tokens bigint) on commit drop"
    )
    with ledger.sql.cursor() as cursor, cursor.copy("copy outcome from stdin") as copy:
        for outcome in outcomes:
            copy.write_row(
                (
                    outcome.record_id,
                    outcome.kind,
                    outcome.code,
                    storable(outcome.message[:MESSAGE_LIMIT]) if outcome.message else None,
                    outcome.input_tokens,
                    outcome.output_tokens,
                    outcome.cached_tokens,
                    outcome.cache_written_tokens,
                )
            )
    ledger.sql.execute(
        "update job_document j set outcome = case when o.kind is null then 'missing' "
        "when o.kind = 'answered' then 'answered' else 'error' end, "
        "error_code = o.code, input_tokens = o.input_tokens, output_tokens = o.output_tokens, "
        "cached_tokens = coalesce(o.cached_tokens, 0), cache_written_tokens = coalesce(o.cache_written_tokens, 0) "
        "from job_document k left join outcome o using (record_id) "
        "where k.job = %s and j.job = k.job and j.record_id = k.record_id and j.outcome is null",
        (job.id,),
    )
    ledger.sql.execute(
        "update document d set state = 'answered', answered_by_job = %(job)s, "
        "input_tokens = o.input_tokens, output_tokens = o.output_tokens "
        "from outcome o where d.migration = %(key)s and d.record_id = o.record_id "
        "and o.kind = 'answered' and d.state = 'sent'",
        {"job": job.id, "key": job.migration},
    )
    ledger.sql.execute(
        "update document d set state = 'failed', reason = 'provider_error', error_code = o.code, "
        "error_message = o.message from outcome o where d.migration = %s and d.record_id = o.record_id "
        "and o.kind = 'permanent' and d.state = 'sent'",
        (job.migration,),
    )
    if not count_attempt:
        ledger.sql.execute(
            "update document d set attempts = greatest(attempts - 1, 0) from job_document j "
            "where j.job = %s and j.outcome = 'missing' and d.migration = j.migration "
            "and d.record_id = j.record_id and d.state = 'sent'",
            (job.id,),
        )
    ledger.sql.execute(
        "update document d set "
        "state = case when attempts >= %(most)s then 'failed' else 'owed' end, "
        "reason = case when attempts >= %(most)s then 'attempts_exhausted' end, "
        "error_code = j.error_code from job_document j "
        "where j.job = %(job)s and d.migration = j.migration and d.record_id = j.record_id "
        "and d.state = 'sent'",
        {"most": max_attempts, "job": job.id},
    )
    fail_withdrawn(ledger, job.migration)
    ledger.sql.execute("update job set state = 'collected' where id = %s", (job.id,))


def _sum(ledger: LedgerConnection, job: Job) -> JobSettlement:
    row = ledger.sql.execute(
        "select count(*) as requested, count(*) filter (where j.outcome = 'answered') as answered, "
        "count(*) filter (where j.outcome = 'error' and d.reason = 'provider_error') as permanent, "
        "count(*) filter (where j.outcome = 'error' and d.reason is distinct from 'provider_error') "
        "as retryable, "
        "count(*) filter (where j.outcome = 'missing') as missing, "
        "count(*) filter (where d.state = 'failed') as failed, "
        "count(*) filter (where d.state = 'owed') as owed_again "
        "from job_document j join document d using (migration, record_id) where j.job = %s",
        (job.id,),
    ).fetchone()
    assert row is not None
    return JobSettlement(**{name: int(value) for name, value in row.items()})


def error_kinds(ledger: LedgerConnection, job: Job) -> list[tuple[int | None, str | None, int]]:
    """Distinct (code, message, count) of the records this job lost for good."""
    rows = ledger.sql.execute(
        "select d.error_code, d.error_message, count(*) as n from job_document j "
        "join document d using (migration, record_id) where j.job = %s and d.reason = 'provider_error' "
        "group by 1, 2 order by 3 desc limit 20",
        (job.id,),
    )
    return [
        (
            int(row["error_code"]) if row["error_code"] is not None else None,
            str(row["error_message"]) if row["error_message"] is not None else None,
            int(row["n"]),
        )
        for row in rows
    ]
