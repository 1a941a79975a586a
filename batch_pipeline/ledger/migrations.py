"""A migration's own row: where it stands, whether it may go on, what it came to."""

from datetime import datetime
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from batch_pipeline.errors import ConfigurationError, LedgerConflict
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.states import Standing
from batch_pipeline.ledger.words import storable


def record(ledger: LedgerConnection, key: str, tenant: str, file_digest: str) -> None:
    """Make the migration known, or note that its file changed; writes nothing where neither is so.

    Until something is planned the customer's name may be mended.

    Raises:
        ConfigurationError: the key already belongs to another customer.
    """
    ledger.sql.execute(
        "insert into migration (key, tenant, file_digest) values (%s, %s, %s) "
        "on conflict (key) do update set file_digest = excluded.file_digest, tenant = excluded.tenant, "
        "updated_at = now() where migration.file_digest <> excluded.file_digest "
        "and (migration.tenant = excluded.tenant or migration.planned_at is null)",
        (key, tenant, file_digest),
    )
    row = ledger.sql.execute(
        "select 1 from migration where key = %s and tenant = %s", (key, tenant)
    ).fetchone()
    if row is None:
        raise ConfigurationError(
            f"{key}.yaml: tenant",
            tenant,
            f"migration {key} belongs to another customer: give this one a key of its own",
        )


def created_at(ledger: LedgerConnection, key: str) -> datetime:
    """When the ledger first heard of it: nothing of it was sent before."""
    row = ledger.sql.execute("select created_at from migration where key = %s", (key,)).fetchone()
    assert row is not None
    at: datetime = row["created_at"]
    return at


def keys(ledger: LedgerConnection) -> list[str]:
    """Migrations that are not over, those longest untouched first."""
    rows = ledger.sql.execute("select key from migration where state <> 'erased' order by updated_at, key")
    return [row["key"] for row in rows]


def was_launched(ledger: LedgerConnection, key: str) -> bool:
    """Whether anybody ever began it: a schedule, a sensor, or a person by hand."""
    row = ledger.sql.execute("select launches > 0 as begun from migration where key = %s", (key,)).fetchone()
    return bool(row and row["begun"])


def mark_begun(ledger: LedgerConnection, key: str) -> None:
    """A person began it by hand: from here on the poller brings it to its end."""
    ledger.sql.execute("update migration set launches = 1 where key = %s and launches = 0", (key,))


def mark_rolled_back(ledger: LedgerConnection, key: str) -> None:
    ledger.sql.execute("update migration set rolled_back_at = now() where key = %s", (key,))
    note(ledger, key, "rolled back", {})


def rolled_back_at(ledger: LedgerConnection, key: str) -> datetime | None:
    row = ledger.sql.execute("select rolled_back_at from migration where key = %s", (key,)).fetchone()
    at: datetime | None = row["rolled_back_at"] if row else None
    return at


_IMPORTED_BESIDE = """
    with moment as (select migration, max(id) as id from event where kind = 'imported' group by 1)
    select m.key from migration m join moment on moment.migration = m.key
    join moment this on this.migration = %(key)s
    where m.key <> %(key)s and m.rolled_back_at is null
      and m.tenant = (select tenant from migration where key = %(key)s)
      and coalesce(m.report -> 'target' ->> 'system', %(system)s) = %(system)s
"""


def imported_later(ledger: LedgerConnection, key: str, system: str) -> list[str]:
    """Keys of this tenant and source system whose import came after this one's, the last one first."""
    rows = ledger.sql.execute(
        _IMPORTED_BESIDE + " and moment.id > this.id order by moment.id desc", {"key": key, "system": system}
    )
    return [row["key"] for row in rows]


def imported_earlier(ledger: LedgerConnection, key: str, system: str) -> list[str]:
    """Keys of this tenant and source system whose import came before this one's, the first one first."""
    rows = ledger.sql.execute(
        _IMPORTED_BESIDE + " and moment.id < this.id order by moment.id", {"key": key, "system": system}
    )
    return [row["key"] for row in rows]


def standing(ledger: LedgerConnection, key: str) -> Standing:
    """Where the migration stands now, read in one statement."""
    row = ledger.sql.execute(
        """
        select m.state, m.hold, m.planned_at is not null as planned,
          (select count(*) from job where migration = m.key and state = 'intent'
             and greatest(not_before, due_at, now()) <= now()) as ready_intents,
          (select count(*) from job where migration = m.key and state = 'intent'
             and greatest(not_before, due_at) > now()) as waiting_intents,
          (select count(*) from job where migration = m.key and state in ('accepted', 'running')) as in_flight,
          (select count(*) from job where migration = m.key and state = 'ended') as uncollected,
          (select count(*) from document where migration = m.key and state = 'owed' and route = 'batch'
             and withdrawn_at is null)
             as owed_batch,
          (select count(*) from document where migration = m.key and state = 'owed' and route = 'on_demand'
             and withdrawn_at is null)
             as owed_on_demand,
          (select count(*) from on_demand_call where migration = m.key and state = 'intent') as open_calls
        from migration m where m.key = %s
        """,
        (key,),
    ).fetchone()
    if row is None:
        return Standing(False, False, "open", None, 0, 0, 0, 0, 0, 0, 0)
    return Standing(known=True, **row)


def mark_planned(ledger: LedgerConnection, key: str) -> None:
    ledger.sql.execute("update migration set planned_at = now(), updated_at = now() where key = %s", (key,))


def hold(ledger: LedgerConnection, key: str, why: str) -> None:
    """Send nothing more for this migration until `release`."""
    why = storable(why) or ""
    ledger.sql.execute("update migration set hold = %s, updated_at = now() where key = %s", (why, key))
    note(ledger, key, "held", {"why": why})


def hold_once(ledger: LedgerConnection, key: str, about: str, why: str) -> bool:
    """Hold the first time this is found out about `about`; a release then means: go on all the same.

    Returns:
        Whether it was the first time, and the migration is held now.
    """
    with ledger.transaction():
        if was_asked(ledger, key, about):
            return False
        note(ledger, key, "asked", {"about": about})
        hold(ledger, key, why)
    return True


def was_asked(ledger: LedgerConnection, key: str, about: str) -> bool:
    """Whether `hold_once` held the migration about this before."""
    row = ledger.sql.execute(
        "select 1 from event where migration = %s and kind = 'asked' and detail ->> 'about' = %s",
        (key, about),
    ).fetchone()
    return row is not None


def release(ledger: LedgerConnection, key: str) -> None:
    """Go on. Where nothing was ever sent the export is read again: it may be what was mended."""
    ledger.sql.execute(
        "update migration m set planned_at = null where key = %s and state = 'open' "
        "and not exists (select from job where migration = m.key and state <> 'void') "
        "and not exists (select from on_demand_call where migration = m.key)",
        (key,),
    )
    ledger.sql.execute(
        "update migration set hold = null, idle_launches = 0, launch_after = now(), updated_at = now() "
        "where key = %s",
        (key,),
    )
    note(ledger, key, "released", {})


def set_state(ledger: LedgerConnection, key: str, state: str) -> None:
    """Raises LedgerConflict where the database allows no such step: an imported migration is only erased."""
    with ledger.transaction():
        try:
            ledger.sql.execute(
                "update migration set state = %s, updated_at = now() where key = %s", (state, key)
            )
        except psycopg.errors.CheckViolation as error:
            raise LedgerConflict(f"{error.diag.message_primary}; nothing was changed") from None
        note(ledger, key, state, {})


def keep_report(ledger: LedgerConnection, key: str, report: dict[str, Any]) -> None:
    """Merge figures into the migration's report; they outlive its files."""
    ledger.sql.execute(
        "update migration set report = coalesce(report, '{}') || %s, updated_at = now() where key = %s",
        (Jsonb(report), key),
    )


def report(ledger: LedgerConnection, key: str) -> dict[str, Any]:
    row = ledger.sql.execute("select report from migration where key = %s", (key,)).fetchone()
    return dict(row["report"]) if row and isinstance(row["report"], dict) else {}


def note(ledger: LedgerConnection, key: str, kind: str, detail: dict[str, Any]) -> None:
    """Append to the audit trail; `detail` holds ids and counts only."""
    ledger.sql.execute(
        "insert into event (migration, kind, detail) values (%s, %s, %s)", (key, kind, Jsonb(detail))
    )


def launch(ledger: LedgerConnection, key: str, pause_seconds: float) -> int | None:
    """Count one more automatic run, unless the last one was asked for too short a while ago.

    The pause doubles with every launch that changed nothing; `progressed` sets it back.

    Returns:
        The launch's number, for the run key; None while the pause lasts.
    """
    row = ledger.sql.execute(
        "update migration set launches = launches + 1, idle_launches = idle_launches + 1, "
        "launch_after = now() + make_interval(secs => %s * power(2, least(idle_launches, 8))) "
        "where key = %s and launch_after <= now() returning launches",
        (pause_seconds, key),
    ).fetchone()
    return int(row["launches"]) if row else None


def progressed(ledger: LedgerConnection, key: str) -> None:
    """Something changed: the next automatic run need not wait longer than the first did."""
    ledger.sql.execute("update migration set idle_launches = 0, launch_after = now() where key = %s", (key,))
