"""On-demand calls in the ledger: an intent before, the whole answer after, in one write each.

A provider honours no token here, so a call whose end nobody saw may have been paid. It stays an open
intent, is never sent again by itself, and a person decides (`batch-pipeline resolve`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from batch_pipeline.errors import LedgerConflict
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.words import storable


@dataclass(frozen=True)
class OwedCall:
    record_id: str
    md5: str
    request_digest: str
    attempts: int


def owed_calls(ledger: LedgerConnection, key: str, tier: int | None = None) -> list[OwedCall]:
    """Calls to be made to the model of this tier; to any where none is given."""
    rows = ledger.sql.execute(
        "select record_id, md5, request_digest, attempts from document where migration = %(key)s "
        "and state = 'owed' and route = 'on_demand' and withdrawn_at is null "
        'and (tier = %(tier)s or %(tier)s::integer is null) order by record_id collate "C"',
        {"key": key, "tier": tier},
    )
    return [OwedCall(**row) for row in rows]


def open_calls(ledger: LedgerConnection, key: str) -> list[tuple[int, str]]:
    """(call id, record id) of calls whose end nobody saw."""
    rows = ledger.sql.execute(
        "select id, record_id from on_demand_call where migration = %s and state = 'intent' order by id",
        (key,),
    )
    return [(int(row["id"]), str(row["record_id"])) for row in rows]


def intend(
    ledger: LedgerConnection,
    key: str,
    record_id: str,
    model: str,
    tier: int = 0,
    account: str | None = None,
    request_digest: str | None = None,
) -> int:
    """Write that a call to the model of this tier is about to leave, to this account; return its id.

    Raises:
        LedgerConflict: the record is not owed there: a call for it would be a second payment. Or it is owed for
            another request than `request_digest`, where one is given.
    """
    with ledger.transaction():
        row = ledger.sql.execute(
            "insert into on_demand_call (migration, record_id, tier, attempt, model, account) "
            "select migration, record_id, tier, (select coalesce(max(attempt), 0) + 1 from on_demand_call c "
            "where c.migration = d.migration and c.record_id = d.record_id), %s, %s "
            "from document d where migration = %s and record_id = %s and tier = %s and state = 'owed' "
            "and request_digest = coalesce(%s, request_digest) for update returning id",
            (model, account, key, record_id, tier, request_digest),
        ).fetchone()
        if row is None:
            raise LedgerConflict(f"migration {key}: record {record_id} is not owed; no call was made")
        ledger.sql.execute(
            "update document set state = 'sent', attempts = attempts + 1 where migration = %s and record_id = %s",
            (key, record_id),
        )
    return int(row["id"])


def _still_open(row: dict[str, Any] | None, call: int) -> dict[str, Any]:
    if row is None:
        raise LedgerConflict(f"on-demand call {call} has ended already; nothing was changed")
    return row


def answered(
    ledger: LedgerConnection,
    call: int,
    line: bytes,
    input_tokens: int | None,
    output_tokens: int | None,
    cached_tokens: int = 0,
    cache_written_tokens: int = 0,
) -> None:
    """The paid answer and its settlement, in one transaction."""
    with ledger.transaction():
        row = ledger.sql.execute(
            "update on_demand_call set state = 'answered', ended_at = now(), line = %s, input_tokens = %s, "
            "output_tokens = %s, cached_tokens = %s, cache_written_tokens = %s "
            "where id = %s and state = 'intent' returning migration, record_id",
            (line, input_tokens, output_tokens, cached_tokens, cache_written_tokens, call),
        ).fetchone()
        row = _still_open(row, call)
        ledger.sql.execute(
            "update document set state = 'answered', answered_by_call = %s, input_tokens = %s, "
            "output_tokens = %s where migration = %s and record_id = %s",
            (call, input_tokens, output_tokens, row["migration"], row["record_id"]),
        )


def refused(ledger: LedgerConnection, call: int, code: int, message: str, max_attempts: int) -> None:
    """The provider refused: permanently (`max_attempts` 0), or worth another attempt."""
    with ledger.transaction():
        row = ledger.sql.execute(
            "update on_demand_call set state = 'error', ended_at = now(), error_code = %s, "
            "error_message = %s where id = %s and state = 'intent' returning migration, record_id",
            (code, storable(message[:300]), call),
        ).fetchone()
        row = _still_open(row, call)
        ledger.sql.execute(
            "update document set state = case when attempts >= %(most)s then 'failed' else 'owed' end, "
            "reason = case when attempts >= %(most)s then "
            "case when %(most)s = 0 then 'provider_error' else 'attempts_exhausted' end end, "
            "error_code = %(code)s, error_message = %(message)s "
            "where migration = %(key)s and record_id = %(record)s",
            {
                "most": max_attempts,
                "code": code,
                "message": storable(message[:300]),
                "key": row["migration"],
                "record": row["record_id"],
            },
        )


def unsent(ledger: LedgerConnection, call: int) -> None:
    """The call never reached the provider, or a person accepts that it is paid again."""
    with ledger.transaction():
        row = ledger.sql.execute(
            "update on_demand_call set state = 'unsent', ended_at = now() where id = %s and state = 'intent' "
            "returning migration, record_id",
            (call,),
        ).fetchone()
        row = _still_open(row, call)
        ledger.sql.execute(
            "update document set state = 'owed', attempts = greatest(attempts - 1, 0) "
            "where migration = %s and record_id = %s",
            (row["migration"], row["record_id"]),
        )


def given_up(ledger: LedgerConnection, call: int) -> None:
    """A person accepts that the answer, if there was one, is lost."""
    with ledger.transaction():
        row = ledger.sql.execute(
            "update on_demand_call set state = 'error', ended_at = now(), error_message = 'given up' "
            "where id = %s and state = 'intent' returning migration, record_id",
            (call,),
        ).fetchone()
        row = _still_open(row, call)
        ledger.sql.execute(
            "update document set state = 'failed', reason = 'given_up' where migration = %s and record_id = %s",
            (row["migration"], row["record_id"]),
        )


def models(ledger: LedgerConnection, key: str) -> list[str]:
    """Models that gave a document its answer on this route."""
    rows = ledger.sql.execute(
        "select distinct c.model from on_demand_call c join document d on d.answered_by_call = c.id "
        "where d.migration = %s order by 1",
        (key,),
    )
    return [row["model"] for row in rows]


def lines(ledger: LedgerConnection, key: str, model: str) -> Iterator[bytes]:
    """The kept answers of one model that are their documents' own, a few at a time."""
    with ledger.transaction(), ledger.sql.cursor(name="on_demand_lines") as cursor:
        cursor.itersize = 200
        cursor.execute(
            "select c.line from on_demand_call c join document d on d.answered_by_call = c.id "
            "where c.migration = %s and c.model = %s and c.line is not null order by c.id",
            (key, model),
        )
        for row in cursor:
            line = row["line"]
            assert isinstance(line, bytes)
            yield line


def erase_lines(ledger: LedgerConnection, key: str) -> int:
    """Empty the kept answers and rewrite the table, so that no dead row holds one."""
    erased = ledger.sql.execute(
        "update on_demand_call set line = null where migration = %s and line is not null", (key,)
    ).rowcount
    if erased:
        ledger.sql.execute("vacuum (full) on_demand_call")
    return erased
