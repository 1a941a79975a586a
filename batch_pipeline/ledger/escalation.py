"""Rising: what one model failed to answer is owed to the next one of the cascade."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.documents import Route


@dataclass(frozen=True)
class Unusable:
    """A document whose model gave nothing that can be used, and the route it takes to the next one."""

    record_id: str
    model: str
    reason: str
    route: Route


@dataclass(frozen=True)
class Risen:
    """Documents that one model left to the next, for one reason."""

    from_tier: int
    model: str
    reason: str
    documents: int


def escalate(
    ledger: LedgerConnection, key: str, unusable: Iterable[Unusable], last_tier: int
) -> Counter[int]:
    """Owe these documents to their next model, in one transaction; return how many rose, by their new tier.

    What is at `last_tier`, owed, under way or failed for another reason than its provider's refusal stays as
    it is, so that running it again changes nothing. The answers that were paid for stay in the ledger with
    their jobs and calls.
    """
    with ledger.transaction():
        ledger.sql.execute(
            "create temporary table unusable (record_id text primary key, model text, reason text, route text) "
            "on commit drop"
        )
        with ledger.sql.cursor() as cursor, cursor.copy("copy unusable from stdin") as copy:
            for one in unusable:
                copy.write_row((one.record_id, one.model, one.reason, one.route))
        ledger.sql.execute(
            "insert into escalation (migration, record_id, from_tier, model, reason, answered_by_job, "
            "answered_by_call) select d.migration, d.record_id, d.tier, u.model, u.reason, d.answered_by_job, "
            "d.answered_by_call from document d join unusable u using (record_id) "
            "where d.migration = %s and d.tier < %s and d.withdrawn_at is null and (d.state = 'answered' "
            "or (d.state = 'failed' and d.reason = 'provider_error')) for update of d",
            (key, last_tier),
        )
        rows = ledger.sql.execute(
            "update document d set tier = d.tier + 1, state = 'owed', route = u.route, attempts = 0, "
            "reason = null, error_code = null, error_message = null, answered_by_job = null, "
            "answered_by_call = null, input_tokens = null, output_tokens = null "
            "from unusable u, escalation e where d.migration = %s and d.record_id = u.record_id "
            "and (e.migration, e.record_id, e.from_tier) = (d.migration, d.record_id, d.tier) returning d.tier",
            (key,),
        ).fetchall()
        risen = Counter(int(row["tier"]) for row in rows)
        for tier, count in sorted(risen.items()):
            ledger.sql.execute(
                "insert into event (migration, kind, detail) values (%s, 'documents escalated', %s)",
                (key, Jsonb({"to_tier": tier, "documents": count})),
            )
    return risen


def risen(ledger: LedgerConnection, key: str) -> list[Risen]:
    """What every model left to the next one, and why; withdrawn documents included, for they were paid for."""
    rows = ledger.sql.execute(
        "select from_tier, model, reason, count(*) as documents from escalation where migration = %s "
        "group by 1, 2, 3 order by 1, 2, 3",
        (key,),
    )
    return [Risen(**row) for row in rows]


def highest_tier(ledger: LedgerConnection, key: str) -> int:
    """The last model of the cascade that any document has reached."""
    row = ledger.sql.execute(
        "select coalesce(max(tier), 0) as tier from document where migration = %s", (key,)
    ).fetchone()
    assert row is not None
    return int(row["tier"])
