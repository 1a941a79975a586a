"""People erased on request while their migration is under way: ids only, and kept, so that reading the
export again does not bring them back."""

from datetime import datetime

from batch_pipeline.ledger.connection import LedgerConnection


def erase_person(ledger: LedgerConnection, key: str, source_id: str) -> datetime:
    """Remember that this person is erased; return since when."""
    row = ledger.sql.execute(
        "insert into erased_person (migration, source_id) values (%s, %s) "
        "on conflict (migration, source_id) do update set source_id = excluded.source_id returning at",
        (key, source_id),
    ).fetchone()
    assert row is not None
    at: datetime = row["at"]
    return at


def erased_people(ledger: LedgerConnection, key: str) -> dict[str, datetime]:
    """Source id -> since when."""
    rows = ledger.sql.execute("select source_id, at from erased_person where migration = %s", (key,))
    return {row["source_id"]: row["at"] for row in rows}


def forget_withdrawn_answers(ledger: LedgerConnection, key: str) -> int:
    """Empty the kept on-demand answers of withdrawn documents; return how many there were."""
    return ledger.sql.execute(
        "update on_demand_call c set line = null from document d where c.migration = %s "
        "and (d.migration, d.record_id) = (c.migration, c.record_id) and d.withdrawn_at is not null "
        "and c.line is not null",
        (key,),
    ).rowcount
