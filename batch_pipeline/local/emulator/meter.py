"""What was paid: by job, by record, by request body. A test asserts `paid_more_than_once == {}`."""

from typing import Any

from batch_pipeline.local.emulator.store import Store


def totals(store: Store) -> dict[str, Any]:
    """Sums by job and for on-demand calls, and every request body that was paid more than once."""
    jobs = store.rows(
        "SELECT job_id, count(*), sum(input_tokens), sum(output_tokens) FROM paid"
        " WHERE job_id IS NOT NULL GROUP BY job_id"
    )
    calls = store.rows(
        "SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM paid"
        " WHERE job_id IS NULL"
    )[0]
    twice = store.rows(
        "SELECT digest, count(*), group_concat(coalesce(record_id, ''), ' ') FROM paid"
        " GROUP BY digest HAVING count(*) > 1 LIMIT 1000"
    )
    return {
        "requests": store.rows("SELECT count(*) FROM paid")[0][0],
        "distinct_requests": store.rows("SELECT count(DISTINCT digest) FROM paid")[0][0],
        "jobs": {row[0]: _sums(row[1:]) for row in jobs},
        "on_demand": _sums(calls),
        "paid_more_than_once": {
            row[0]: {"count": row[1], "record_ids": sorted(set(row[2].split()))} for row in twice
        },
    }


def details(store: Store) -> dict[str, Any]:
    """Beside the totals: every record of every job, and every request body with its routes."""
    records: dict[str, dict[str, Any]] = {}
    for job, record, *numbers in store.rows(
        "SELECT job_id, record_id, count(*), sum(input_tokens), sum(output_tokens) FROM paid"
        " WHERE job_id IS NOT NULL GROUP BY job_id, record_id"
    ):
        records.setdefault(job, {})[record] = _sums(numbers)
    requests = {
        row[0]: {"batch": row[1], "on_demand": row[2]}
        for row in store.rows(
            "SELECT digest, sum(job_id IS NOT NULL), sum(job_id IS NULL) FROM paid GROUP BY digest"
        )
    }
    return totals(store) | {"records": records, "digests": requests}


def _sums(row: Any) -> dict[str, int]:
    return {"requests": row[0], "input_tokens": row[1], "output_tokens": row[2]}
