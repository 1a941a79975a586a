"""Files that the export names and does not hold, or holds and does not name (trap 43).

They are counted and listed whatever anybody says; a migration is called verified when there are none,
or when a person has said that these counts are known.
"""

from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.connection import LedgerConnection

_EVENT = "files acknowledged"


def unaccounted(ledger: LedgerConnection, key: str) -> dict[str, int]:
    """Counts of missing and orphan files nobody has acknowledged; empty where there are none."""
    found = _counts(ledger, key)
    row = ledger.sql.execute(
        "select detail from event where migration = %s and kind = %s order by id desc limit 1", (key, _EVENT)
    ).fetchone()
    return {} if row is not None and row["detail"] == found else found


def acknowledge(ledger: LedgerConnection, key: str) -> dict[str, int]:
    """Write down that a person knows of them; return the counts. Others found later are asked about again."""
    found = _counts(ledger, key)
    migrations.note(ledger, key, _EVENT, dict(found))
    return found


def _counts(ledger: LedgerConnection, key: str) -> dict[str, int]:
    raw = migrations.report(ledger, key).get("raw_cvs", {})
    counts = {"missing": raw.get("states", {}).get("missing", 0), "orphan": raw.get("orphans", 0)}
    return {what: count for what, count in counts.items() if count}
