"""What PostgreSQL cannot hold is taken out before it is sent, and counted.

- NUL characters in text, and `\\u0000` escapes in JSON: text and jsonb refuse them.
- Escapes of lone surrogates in JSON: jsonb refuses them.
- Times outside the years 1 to 9999: no client could read them back. They become null; the source's own
  words stay in `raw`.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final

import polars as pl

from batch_pipeline.records.tables import JSON_COLUMNS

_FIRST_MICROSECOND: Final = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
_LAST_MICROSECOND: Final = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
_SUSPECT_ESCAPE: Final = r"(?i)\\u(0000|d[89a-f])"
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


@dataclass
class Cleaned:
    """How many values were changed, by cause."""

    nul_characters: int = 0
    json_escapes: int = 0
    times_out_of_range: int = 0

    def add(self, other: "Cleaned") -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def clean(frame: pl.DataFrame) -> tuple[pl.DataFrame, Cleaned]:
    """The same rows, storable; and how many values that changed."""
    counts = Cleaned()
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    with_nul = _columns_where(frame, texts, pl.col(texts).str.contains("\x00", literal=True))
    for name, hits in with_nul.items():
        frame = frame.with_columns(pl.col(name).str.replace_all("\x00", "", literal=True))
        counts.nul_characters += hits
    documents = [name for name in texts if name in JSON_COLUMNS]
    for name in _columns_where(frame, documents, pl.col(documents).str.contains(_SUSPECT_ESCAPE)):
        repaired, changed = _repair_json(frame[name])
        frame = frame.with_columns(repaired)
        counts.json_escapes += changed
    times = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    outside = ~pl.col(times).to_physical().is_between(_FIRST_MICROSECOND, _LAST_MICROSECOND)
    for name, hits in _columns_where(frame, times, outside).items():
        inside = pl.col(name).to_physical().is_between(_FIRST_MICROSECOND, _LAST_MICROSECOND)
        frame = frame.with_columns(pl.when(inside).then(pl.col(name)).alias(name))
        counts.times_out_of_range += hits
    return frame, counts


def storable(value: Any) -> Any:
    """A parsed JSON value without the characters jsonb refuses."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("", value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return value


def _columns_where(frame: pl.DataFrame, names: Iterable[str], found: pl.Expr) -> dict[str, int]:
    """The columns in which `found` holds for some row, with the number of such rows."""
    if not list(names):
        return {}
    hits = frame.select(found.sum()).row(0, named=True)
    return {name: int(count) for name, count in hits.items() if count}


def _repair_json(column: pl.Series) -> tuple[pl.Series, int]:
    suspect = column.str.contains(_SUSPECT_ESCAPE).fill_null(value=False)
    values = column.to_list()
    changed = 0
    for row in suspect.arg_true().to_list():
        before = json.loads(values[row])
        after = storable(before)
        if after != before:
            values[row] = json.dumps(after, ensure_ascii=False)
            changed += 1
    return pl.Series(column.name, values, dtype=pl.String), changed
