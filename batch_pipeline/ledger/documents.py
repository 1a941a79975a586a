"""What each document still needs: owed, sent, answered once, or failed for good."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from batch_pipeline.errors import LedgerConflict
from batch_pipeline.ledger.connection import LedgerConnection

Route = Literal["batch", "on_demand"]


@dataclass(frozen=True)
class PlannedDocument:
    """One document the migration must have read, and the digest of the request that asks for it."""

    record_id: str
    md5: str
    request_digest: str
    route: Route


def register(
    ledger: LedgerConnection, key: str, documents: Iterable[PlannedDocument], *, may_differ: bool = False
) -> int:
    """Make documents known as owed; those already known keep what they have.

    A request that changed (other text, other prompt) is taken over while nothing is under way for it:
    what earlier attempts asked is settled, and the next one asks what this code would ask. A document
    that is no longer planned (its person was erased) goes where nothing was sent for it, and is
    withdrawn where something was: it stays for the sums of its jobs, and its answer is used by nobody.

    Returns:
        How many were new.

    Raises:
        LedgerConflict: a request that is under way would now be another one, and may not: `may_differ` leaves
            the ledger with what was sent.
    """
    with ledger.transaction():
        ledger.sql.execute(
            "create temporary table planned (record_id text, md5 text, request_digest text, route text) "
            "on commit drop"
        )
        with (
            ledger.sql.cursor() as cursor,
            cursor.copy("copy planned (record_id, md5, request_digest, route) from stdin") as copy,
        ):
            for document in documents:
                copy.write_row((document.record_id, document.md5, document.request_digest, document.route))
        changed = ledger.sql.execute(
            "select count(*) as n from planned p join document d on d.migration = %s "
            "and d.record_id = p.record_id where d.request_digest <> p.request_digest and d.state = 'sent'",
            (key,),
        ).fetchone()
        if changed and changed["n"] and not may_differ:
            raise LedgerConflict(
                f"migration {key}: {changed['n']} documents are under way with another request than this "
                "code would send now. Let their jobs end first (`batch-pipeline status`), or run the version "
                "that sent them."
            )
        ledger.sql.execute(
            "update document d set request_digest = p.request_digest, route = p.route from planned p "
            "where d.migration = %s and d.record_id = p.record_id and d.state = 'owed' "
            "and d.request_digest <> p.request_digest",
            (key,),
        )
        ledger.sql.execute(
            "delete from document d where d.migration = %s and d.state = 'owed' "
            "and not exists (select from planned p where p.record_id = d.record_id) "
            "and not exists (select from job_document j where (j.migration, j.record_id) = "
            "(d.migration, d.record_id)) "
            "and not exists (select from on_demand_call c where (c.migration, c.record_id) = "
            "(d.migration, d.record_id))",
            (key,),
        )
        ledger.sql.execute(
            "update document d set withdrawn_at = case when p.record_id is null then now() end "
            "from document e left join planned p using (record_id) where e.migration = %s "
            "and d.migration = e.migration and d.record_id = e.record_id "
            "and (d.withdrawn_at is null) = (p.record_id is null)",
            (key,),
        )
        ledger.sql.execute(
            "update document set state = 'owed', reason = null "
            "where migration = %s and withdrawn_at is null and reason = 'withdrawn'",
            (key,),
        )
        fail_withdrawn(ledger, key)
        inserted = ledger.sql.execute(
            "insert into document (migration, record_id, md5, request_digest, route) "
            "select %s, record_id, md5, request_digest, route from planned on conflict do nothing",
            (key,),
        )
        return inserted.rowcount


def fail_withdrawn(ledger: LedgerConnection, key: str) -> None:
    """A withdrawn document is never owed again."""
    ledger.sql.execute(
        "update document set state = 'failed', reason = 'withdrawn' "
        "where migration = %s and withdrawn_at is not null and state = 'owed'",
        (key,),
    )


def owed(ledger: LedgerConnection, key: str, route: Route, tier: int = 0) -> list[tuple[str, str]]:
    """(record id, request digest) of what must still be sent to the model of this tier, in record-id order."""
    rows = ledger.sql.execute(
        "select record_id, request_digest from document where migration = %s and state = 'owed' "
        "and withdrawn_at is null "
        'and route = %s and tier = %s order by record_id collate "C"',
        (key, route, tier),
    )
    return [(str(row["record_id"]), str(row["request_digest"])) for row in rows]


def tried_before(ledger: LedgerConnection, key: str, route: Route) -> dict[str, int]:
    """Record id -> counted attempts, of owed records that were sent before and met a passing error."""
    rows = ledger.sql.execute(
        "select record_id, attempts from document where migration = %s and state = 'owed' and route = %s "
        "and withdrawn_at is null and attempts > 0 and error_code is not null",
        (key, route),
    )
    return {row["record_id"]: row["attempts"] for row in rows}


def move_to_on_demand(ledger: LedgerConnection, key: str, record_ids: list[str]) -> int:
    """What no legal job can hold goes one by one."""
    return ledger.sql.execute(
        "update document set route = 'on_demand' where migration = %s and state = 'owed' "
        "and record_id = any(%s)",
        (key, record_ids),
    ).rowcount


def fail(ledger: LedgerConnection, key: str, record_id: str, reason: str) -> None:
    """A document nothing can be sent for: it has a final state, and cost nothing."""
    ledger.sql.execute(
        "update document set state = 'failed', reason = %s "
        "where migration = %s and record_id = %s and state = 'owed'",
        (reason, key, record_id),
    )


def retry_failed(ledger: LedgerConnection, key: str) -> int:
    """Owe again what failed at the provider; what was answered stays answered."""
    return ledger.sql.execute(
        "update document set state = 'owed', reason = null, error_code = null, error_message = null, "
        "attempts = 0 where migration = %s and state = 'failed' and withdrawn_at is null",
        (key,),
    ).rowcount


@dataclass(frozen=True)
class Settlement:
    """How many documents of a migration are where."""

    owed: int
    sent: int
    answered: int
    failed: int

    @property
    def total(self) -> int:
        return self.owed + self.sent + self.answered + self.failed


def settlement(ledger: LedgerConnection, key: str) -> Settlement:
    rows = ledger.sql.execute(
        "select state, count(*) as n from document where migration = %s and withdrawn_at is null "
        "group by state",
        (key,),
    )
    counts = {str(row["state"]): int(row["n"]) for row in rows}
    return Settlement(**{state: counts.get(state, 0) for state in ("owed", "sent", "answered", "failed")})


@dataclass(frozen=True)
class FailureKind:
    """Documents that failed alike: the provider's own words, once."""

    reason: str
    code: int | None
    message: str | None
    documents: int


def failures(ledger: LedgerConnection, key: str) -> list[FailureKind]:
    rows = ledger.sql.execute(
        "select reason, error_code, error_message, count(*) as n from document "
        "where migration = %s and state = 'failed' and withdrawn_at is null group by 1, 2, 3 order by 4 desc, 1",
        (key,),
    )
    return [
        FailureKind(
            str(row["reason"]),
            int(row["error_code"]) if row["error_code"] is not None else None,
            str(row["error_message"]) if row["error_message"] is not None else None,
            int(row["n"]),
        )
        for row in rows
    ]
