"""Files that became no CV, as tables by reason: ids, reasons and what to do, nobody's name."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import dagster as dg
import polars as pl

from batch_pipeline.records.shortfall import Shortfall
from batch_pipeline.stages.advice import advice

_ROWS: Final = 200
_SHOWN: Final = 20


def quarantined(documents: Path, attachments: Path) -> dict[str, Any]:
    """A row for every document that a person has to look at, with the attachments that hold it."""
    rows = (
        pl.scan_parquet(documents)
        .filter(pl.col("verdict") == "quarantined")
        .select("reason", "md5")
        .join(
            pl.scan_parquet(attachments).group_by(md5="document_md5").agg(pl.col("source_id").sort()),
            on="md5",
            how="left",
        )
        .sort("reason", "md5")
        .collect()
    )
    if rows.is_empty():
        return {"quarantined": "none"}
    return {
        "quarantined": _table(
            {
                "reason": reason,
                "document": md5,
                "attachments": ", ".join((held or [])[:_SHOWN]),
                "what to do": advice("quarantined", reason),
            }
            for reason, md5, held in rows.head(_ROWS).iter_rows()
        ),
        "quarantined in all": rows.height,
    }


def not_fetched(attachments: Path) -> dict[str, Any]:
    """A row for every attachment whose file is not here."""
    rows = (
        pl.scan_parquet(attachments)
        .filter(pl.col("state") != "fetched")
        .select("state", "reason", "source_id", "application_id")
        .sort("state", "reason", "source_id")
        .collect()
    )
    if rows.is_empty():
        return {"files not here": "none"}
    return {
        "files not here": _table(
            {
                "state": state,
                "reason": reason or "",
                "attachment": source_id,
                "application": application_id or "(on the person)",
                "what to do": advice(state, reason),
            }
            for state, reason, source_id, application_id in rows.head(_ROWS).iter_rows()
        ),
        "files not here in all": rows.height,
    }


def told(lacking: Iterable[Shortfall]) -> str:
    """Markdown for the migration's page: every reason with its count, its advice and some ids."""
    parts: list[str] = []
    for (what, reason), group in groupby(lacking, key=lambda row: (row.what, row.reason)):
        members = list(group)
        title = what if reason in (None, what) else f"{what}: {reason}"
        ids = ", ".join(f"`{row.attachment_id}`" for row in members[:_SHOWN])
        more = f" and {len(members) - _SHOWN:,} more" if len(members) > _SHOWN else ""
        parts.append(
            f"**{title.replace('_', ' ')} ({len(members):,})**: {advice(what, reason)}\n\n{ids}{more}"
        )
    return "\n\n".join(["#### What did not become a CV", *(parts or ["Everything became a CV."])])


def _table(rows: Iterable[dict[str, Any]]) -> dg.MetadataValue[Any]:
    return dg.MetadataValue.table([dg.TableRecord(row) for row in rows])
