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
            shown[label] = count_table("what", {name: {"count": count} for name, count in value.items()})
        elif value is not None:
            shown[label] = value
    return shown


def money(costs: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of the cost report; amounts in dollars become numbers, which the UI can plot."""
    shown: dict[str, Any] = {}
    for name, value in costs.items():
        label = name.replace("_", " ")
        amount, _, unit = str(value).partition(" ")
        if unit == "USD":
            shown[f"{label}, USD"] = float(amount)
        else:
            shown[label] = value
    return shown


def model_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row a model and route of the cost report."""
    if not rows:
        return {}
    records = [dg.TableRecord({name.replace("_", " "): value for name, value in row.items()}) for row in rows]
    return {"by model": dg.MetadataValue.table(records)}


def comes_from(what: str, asset: dg.AssetsDefinition | str) -> dict[str, Any]:
    """A link to the page of the asset this one was made from."""
    return {what: dg.MetadataValue.asset(dg.AssetKey(asset) if isinstance(asset, str) else asset.key)}


def count_table(what: str, rows: Mapping[str, Mapping[str, int]]) -> dg.MetadataValue[Any]:
    """One row a name, one column a kind of count that is not zero throughout."""
    kinds = list(dict.fromkeys(kind for counts in rows.values() for kind, count in counts.items() if count))
    return dg.MetadataValue.table(
        [
            dg.TableRecord({what: name, **{kind: counts.get(kind, 0) for kind in kinds}})
            for name, counts in sorted(rows.items())
        ],
        schema=dg.TableSchema(
            columns=[dg.TableColumn(what, "string"), *(dg.TableColumn(kind, "int") for kind in kinds)]
        ),
    )


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
    return {
        "dagster/row_count": len(jobs),
        "jobs": dg.MetadataValue.table(rows),
        "records": sum(job.records for job in jobs),
        "bytes": sum(job.bytes for job in jobs),
    }


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
