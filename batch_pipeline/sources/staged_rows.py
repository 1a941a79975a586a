"""Canonical rows on their way to a table: kept in batches on disk, so that memory does not grow."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from batch_pipeline.sources.base import Notice, NoticeKind
from batch_pipeline.sources.canonical import SCHEMAS, Entity
from batch_pipeline.workspace import write_parquet

_BATCH: Final = 10_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
URL: Final = "_url"
"""A staged attachment's link. It never reaches a canonical table."""


class Findings:
    """Counts what a person should know, one notice for each kind, table and detail."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[NoticeKind, str, str]] = Counter()

    def count(self, kind: NoticeKind, table: str, detail: str, times: int = 1) -> None:
        self._counts[kind, table, detail] += times

    def notices(self) -> list[Notice]:
        return [Notice(kind, table, detail, count) for (kind, table, detail), count in self._counts.items()]


class StagedRows:
    """Takes rows in export order, of all entities at once."""

    def __init__(self, scratch: Path) -> None:
        self.findings = Findings()
        self._scratch = scratch
        self._waiting: dict[Entity, list[Mapping[str, Any]]] = {}
        self._parts: Counter[Entity] = Counter()

    def add(self, entity: Entity, row: Mapping[str, Any]) -> None:
        """Columns that are not given are null; `tz_assumed` is false."""
        waiting = self._waiting.setdefault(entity, [])
        waiting.append(row)
        if len(waiting) >= _BATCH:
            self._flush(entity)

    def scan(self, entity: Entity) -> pl.LazyFrame:
        """All rows of an entity so far, with `_row` (and `_url` for attachments)."""
        self._flush(entity)
        paths = [self._part(entity, number) for number in range(self._parts[entity])]
        return pl.scan_parquet(paths).with_row_index("_row")

    def _flush(self, entity: Entity) -> None:
        rows = self._waiting.pop(entity, [])
        if not rows and self._parts[entity]:
            return
        schema = dict(SCHEMAS[entity]) | ({URL: pl.String} if entity == "attachment" else {})
        frame = pl.DataFrame(
            {name: pl.Series([row.get(name) for row in rows], dtype=kind) for name, kind in schema.items()}
        ).with_columns(pl.col("tz_assumed").fill_null(value=False))
        write_parquet(frame, self._part(entity, self._parts[entity]))
        self._parts[entity] += 1

    def _part(self, entity: Entity, number: int) -> Path:
        return self._scratch / f"{entity}-{number:05}.parquet"


class Times:
    """Reads the times of one row; `zoneless` tells whether any named no zone and was read as UTC."""

    def __init__(self, findings: Findings, table: str) -> None:
        self._findings = findings
        self._table = table
        self.zoneless = False

    def iso(self, field: str, value: object) -> datetime | None:
        """ISO 8601, a date alone being its midnight."""
        if value is None or value == "":
            return None
        try:
            read = datetime.fromisoformat(str(value).strip())
        except ValueError:
            self._findings.count("unreadable_dates", self._table, field)
            return None
        if read.tzinfo is None:
            self.zoneless = True
            read = read.replace(tzinfo=UTC)
        return self._checked(field, read.astimezone(UTC))

    def epoch(self, field: str, value: object) -> datetime | None:
        """Milliseconds or seconds, told apart by magnitude: seconds have ten digits until 2286 (trap 16)."""
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._findings.count("unreadable_dates", self._table, field)
            return None
        seconds = value / 1000 if abs(value) >= 100_000_000_000 else value
        try:
            return self._checked(field, _EPOCH + timedelta(seconds=seconds))
        except OverflowError:
            self._findings.count("unreadable_dates", self._table, field)
            return None

    def _checked(self, field: str, moment: datetime) -> datetime:
        if not 1980 <= moment.year <= 2100:
            self._findings.count("dates_out_of_range", self._table, field)
        return moment
