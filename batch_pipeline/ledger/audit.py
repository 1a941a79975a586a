"""The audit trail: which document went to whom, when, under which job, and when it was erased.

Made from the rows that are written around every paid call, so it cannot say anything else than what was
sent. It holds digests, ids, times and counts, and stays when the migration's files are erased.
"""

from collections.abc import Iterator
from typing import Any, Final

from batch_pipeline.ledger.connection import LedgerConnection

COLUMNS: Final = (
    "document_md5",
    "record_id",
    "route",  # batch or on_demand
    "sent_to",  # the account at the provider; empty for single calls of an older version
    "model",
    "job",  # our name of it; empty for single calls
    "provider_id",  # the provider's name of it
    "attempt",
    "sent_at",
    "ended_at",
    "outcome",  # answered, error, missing, unsent (refused before anything ran), or open
    "error_code",
    "input_tokens",
    "output_tokens",
    "used",  # the document's own answer is this one
    "withdrawn_at",  # left out of the migration after it was sent
    "erased_at",  # everything of the migration was last erased, at the provider and here
)


def transfers(ledger: LedgerConnection, key: str) -> Iterator[tuple[Any, ...]]:
    """A row of COLUMNS for every request that left for a model, oldest first, some hundred at a time."""
    with ledger.transaction(), ledger.sql.cursor(name="transfers") as cursor:
        cursor.itersize = 500
        cursor.execute(
            f"""
            with erased as (
              select max(at) as at from event where migration = %(key)s and kind = 'objects erased'
            ),
            transfer as (
              select d.md5 as document_md5, d.record_id, 'batch' as route, j.account as sent_to, j.model,
                j.name as job, j.provider_id, j.attempt, j.sent_at, j.ended_at,
                coalesce(r.outcome, case j.state when 'void' then 'unsent' else 'open' end) as outcome,
                r.error_code, r.input_tokens, r.output_tokens,
                coalesce(d.answered_by_job = j.id, false) as used, d.withdrawn_at
              from job_document r join job j on j.id = r.job
                join document d on d.migration = r.migration and d.record_id = r.record_id
              where r.migration = %(key)s and j.sent_at is not null
              union all
              select d.md5, d.record_id, 'on_demand', c.account, c.model, null, null, c.attempt, c.started_at,
                c.ended_at, case c.state when 'intent' then 'open' else c.state end, c.error_code,
                c.input_tokens, c.output_tokens, coalesce(d.answered_by_call = c.id, false), d.withdrawn_at
              from on_demand_call c
                join document d on d.migration = c.migration and d.record_id = c.record_id
              where c.migration = %(key)s
            )
            select {", ".join(f"transfer.{name}" for name in COLUMNS[:-1])}, erased.at as erased_at
            from transfer cross join erased order by sent_at, record_id, attempt
            """,  # noqa: S608 - our own column names
            {"key": key},
        )
        for row in cursor:
            yield tuple(row[name] for name in COLUMNS)
