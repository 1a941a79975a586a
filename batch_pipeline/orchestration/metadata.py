"""Core results as what Dagster shows: figures, tables of ids, checks. No name and no word of a CV."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from batch_pipeline.ledger.jobs import Job
from batch_pipeline.stages.sums import Sum

_ROWS = 20


def figures(**values: object) -> dict[str, Any]:
    """Flat metadata; a mapping of counts becomes one small table."""
    shown: dict[str, Any] = {}
    for name, value in values.items():
        label = name.replace("_", " ")
        if isinstance(value, Mapping):
            shown[label] = _counts(value)
        elif value is not None:
            shown[label] = value
    return shown


def _counts(counts: Mapping[str, Any]) -> dg.MetadataValue[Any]:
    rows = [dg.TableRecord({"what": name, "count": count}) for name, count in sorted(counts.items())]
    schema = dg.TableSchema(columns=[dg.TableColumn("what", "string"), dg.TableColumn("count", "int")])
    return dg.MetadataValue.table(rows, schema=schema)


def first_rows(path: Path, columns: Sequence[str]) -> dict[str, Any]:
    """The first rows of a frame by ids and states only, and how many rows there are."""
    if not path.exists():
        return {}
    frame = pl.scan_parquet(path)
    rows = frame.select(columns).head(_ROWS).collect()
    count = frame.select(pl.len()).collect().item()
    return {
        "dagster/row_count": count,
        "first rows": dg.MetadataValue.table(
            [dg.TableRecord({name: _plain(value) for name, value in row.items()}) for row in rows.to_dicts()],
            schema=dg.TableSchema(
                columns=[dg.TableColumn(name, str(rows.schema[name]).lower()) for name in columns]
            ),
        )
        if rows.height
        else "none",
    }


def _plain(value: Any) -> str | int | float | bool:
    return value if isinstance(value, str | int | float | bool) else str(value or "")


def job_table(jobs: Sequence[Job]) -> dict[str, Any]:
    """One row a job, as the ledger holds them."""
    if not jobs:
        return {"dagster/row_count": 0, "jobs": "none"}
    rows = [
        dg.TableRecord(
            {
                "job": job.name,
                "state": job.state,
                "provider": job.provider_status or "",
                "attempt": job.attempt,
                "records": job.records,
                "bytes": job.bytes,
                "message": job.message or "",
            }
        )
        for job in jobs[-_ROWS:]
    ]
    return {"dagster/row_count": len(jobs), "jobs": dg.MetadataValue.table(rows)}


def checks(sums: Iterable[Sum]) -> list[dg.AssetCheckResult]:
    """Each sum as a check of the asset that is being materialised."""
    return [
        dg.AssetCheckResult(
            check_name=check_name(one.name),
            passed=one.closes,
            description=one.says,
            metadata={
                "left": one.left,
                "right": one.right,
                **({"open rows": ", ".join(one.open_rows)} if one.open_rows else {}),
            },
        )
        for one in sums
    ]


def check_name(sum_name: str) -> str:
    return sum_name.replace(" ", "_") + "_close"


def check_specs(asset: str, **sums: str) -> list[dg.AssetCheckSpec]:
    """Specs of an asset's blocking checks: sum name -> what it says."""
    return [
        dg.AssetCheckSpec(check_name(name.replace("_", " ")), asset=asset, description=says, blocking=True)
        for name, says in sums.items()
    ]
