"""People who may be one and the same: reported by id, never merged (traps 7 and 8)."""

from pathlib import Path
from typing import Final

import polars as pl

from batch_pipeline.sources.base import Notice
from batch_pipeline.workspace import write_parquet

POSSIBLE_DUPLICATES: Final = "possible_duplicates.parquet"
"""Written beside the canonical tables: `group` i64, `person_id`, `same` (e-mail, or phone and name)."""

_SHOWN: Final = 20


def report_possible(tables: Path) -> list[Notice]:
    """Compare the people below `tables`, write POSSIBLE_DUPLICATES, return a notice where there are any.

    Addresses are the same without case, spaces and a `+tag`; numbers when their last nine digits are,
    and then only with the same name.
    """
    people = pl.scan_parquet(tables / "person.parquet")
    address = _each(people, "emails", "norm").with_columns(
        pl.col("value").str.replace(r"\+[^@]*@", "@").alias("value"), same=pl.lit("e-mail")
    )
    number = (
        _each(people, "phones", "raw")
        .with_columns(pl.col("value").str.replace_all(r"\D", "").str.tail(9))
        .filter(pl.col("value").str.len_chars() == 9)
        .with_columns(
            pl.concat_str("value", "name", separator=" "),
            same=pl.lit("phone and name"),
        )
    )
    groups = (
        pl.concat([address, number])
        .select("same", "value", "person_id")
        .unique(maintain_order=True)
        .filter(pl.len().over("same", "value") > 1)
        .collect()
    )
    found = groups.select(
        pl.struct("same", "value").rank("dense").cast(pl.Int64).alias("group"), "person_id", "same"
    ).sort("group", "person_id")
    write_parquet(found, tables / POSSIBLE_DUPLICATES)
    if found.is_empty():
        return []
    sets = found.group_by("group", maintain_order=True).agg(pl.col("person_id").sort())
    distinct = sets["person_id"].list.join(" = ").unique(maintain_order=True)
    shown = "; ".join(distinct.head(_SHOWN)) + ("; ..." if distinct.len() > _SHOWN else "")
    return [Notice("possible_duplicates", "person", f"kept apart: {shown}", distinct.len())]


def _each(people: pl.LazyFrame, column: str, field: str) -> pl.LazyFrame:
    """`person_id`, `name` as it is compared, `value`: one row for each entry of a JSON column."""
    entries = pl.List(pl.Struct({"raw": pl.String, "norm": pl.String}))
    name = pl.col("full_name").str.normalize("NFKD").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")
    return (
        people.filter(pl.col(column).is_not_null())
        .select(
            person_id="source_id",
            name=name,
            value=pl.col(column).str.json_decode(entries).list.eval(pl.element().struct.field(field)),
        )
        .explode("value")
        .filter(pl.col("value").is_not_null() & (pl.col("value") != ""))
    )
