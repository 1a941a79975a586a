"""What rows say about each other: one id one row, references, erased people, order in time."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl

from batch_pipeline.sources.base import Notice
from batch_pipeline.sources.canonical import ENTITIES, UTC, Entity

_IDENTITY: Mapping[Entity, tuple[str, ...]] = {
    "stage": ("job_id", "name"),
    "tag": ("person_id", "application_id", "name"),
    "offer": ("application_id",),
    "question_answer": ("application_id", "question"),
    "stage_move": ("application_id", "to_stage", "moved_at"),
    "note": ("person_id", "application_id", "author", "noted_at", "body_raw"),
    "evaluation": ("application_id", "author", "submitted_at", "overall_raw"),
    "attachment": ("person_id", "application_id", "file_name", "source_handle"),
}
"""What makes an id where the export names none: content, so that a second export gives the same."""

_PERSONAL = ("full_name", "given_name", "family_name", "emails", "phones", "links", "location", "raw")
_REFERENCES: Mapping[Entity, Mapping[str, Entity]] = {
    "application": {"person_id": "person", "job_id": "job"},
    "stage": {"job_id": "job"},
    "tag": {"person_id": "person", "application_id": "application"},
    "offer": {"application_id": "application"},
    "question_answer": {"application_id": "application"},
    "stage_move": {"application_id": "application"},
    "note": {"person_id": "person", "application_id": "application"},
    "evaluation": {"application_id": "application"},
    "attachment": {"person_id": "person", "application_id": "application"},
}


OF_NOBODY: Final[frozenset[Entity]] = frozenset({"job", "stage"})
"""What belongs to no person: nothing of it is emptied with one."""


@dataclass(frozen=True)
class Related:
    rows: pl.LazyFrame
    notices: tuple[Notice, ...]


def with_one_id_each(entity: Entity, rows: pl.LazyFrame) -> Related:
    """Ids made where there are none, the same row kept once, one id held by one row.

    People, jobs and applications are referred to by id: of two different rows with one id the first
    is kept. Of all other entities every row is kept; the later ones get `#2`, `#3`, ...
    """
    notices: list[Notice] = []
    without = int(rows.select(pl.col("source_id").is_null().sum()).collect(engine="streaming").item())
    if without and entity in _IDENTITY:
        key = pl.concat_str(
            [pl.col(name).cast(pl.String).fill_null("") for name in _IDENTITY[entity]], separator="\x1f"
        )
        made = key.map_batches(_digests, return_dtype=pl.String, is_elementwise=True)
        rows = rows.with_columns(pl.coalesce("source_id", made).alias("source_id"))
        notices.append(Notice("derived_ids", entity, ", ".join(_IDENTITY[entity]), without))
    elif without:
        rows = rows.filter(pl.col("source_id").is_not_null())
        notices.append(Notice("rows_without_id", entity, "left out", without))
    ids = rows.select(pl.len(), pl.col("source_id").n_unique().alias("distinct")).collect(engine="streaming")
    if ids["len"][0] == ids["distinct"][0]:
        return Related(rows, tuple(notices))
    fresh = pl.struct("source_id", "raw").is_first_distinct()
    number = pl.int_range(1, pl.len() + 1).over("source_id")
    kept = rows.filter(fresh).with_columns(number.alias("_number"))
    total, distinct, repeated = (
        kept.select(
            pl.len(), pl.col("source_id").n_unique().alias("d"), (pl.col("_number") > 1).sum().alias("r")
        )
        .collect()
        .row(0)
    )
    if ids["len"][0] > total:
        notices.append(Notice("duplicate_rows", entity, "one kept", int(ids["len"][0] - total)))
    if repeated:
        first_only = entity not in _IDENTITY
        how = "the first row kept" if first_only else "later rows numbered"
        notices.append(Notice("duplicate_ids", entity, f"{how}; {distinct} ids in all", int(repeated)))
        if first_only:
            kept = kept.filter(pl.col("_number") == 1)
        else:
            numbered = pl.format("{}#{}", "source_id", "_number")
            kept = kept.with_columns(
                pl.when(pl.col("_number") > 1).then(numbered).otherwise("source_id").alias("source_id")
            )
    return Related(kept.drop("_number"), tuple(notices))


def with_people_by_address(rows: pl.LazyFrame, people: pl.LazyFrame, address: str) -> Related:
    """`person_id` of rows that name their person by e-mail alone: whoever alone has that address.

    `people` are rows before erased ones are emptied: a file of theirs must be known as theirs, so an
    address they share is theirs. An address of several others, or of nobody, names nobody.
    """
    entries = pl.List(pl.Struct({"raw": pl.String, "norm": pl.String}))
    known = (
        people.filter(pl.col("source_id").is_not_null() & pl.col("emails").is_not_null())
        .select(
            "erased_at",
            _person="source_id",
            _known=pl.col("emails").str.json_decode(entries).list.eval(pl.element().struct.field("norm")),
        )
        .explode("_known")
        .group_by("_known")
        .agg(
            pl.col("_person").sort_by(pl.col("erased_at").is_null()).first(),
            pl.col("_person").n_unique().alias("_several"),
            pl.col("erased_at").is_not_null().any().alias("_gone"),
        )
        .filter((pl.col("_several") == 1) | pl.col("_gone"))
        .select("_known", "_person")
    )
    found = rows.join(known, left_on=address, right_on="_known", how="left", maintain_order="left")
    found = found.with_columns(pl.coalesce("person_id", "_person").alias("person_id")).drop("_person")
    lost = pl.col(address).is_not_null() & pl.col("person_id").is_null()
    count = int(found.select(lost.sum()).collect(engine="streaming").item())
    notice = Notice("dangling_references", "attachment", "an e-mail address is not of one person", count)
    return Related(found.drop(address), (notice,) if count else ())


def with_one_row_each(rows: pl.LazyFrame, column: str, separator: str) -> pl.LazyFrame:
    """A row for every value of a cell that holds several; the values make ids that several would share."""
    values = pl.col(column).str.split(separator)
    values = values.list.eval(pl.element().str.strip_chars().replace("", None).drop_nulls())
    values = pl.when(values.list.len() > 0).then(values)  # a cell of separators alone keeps its row
    several = values.list.len() > 1
    rows = rows.with_columns(values.alias(column), several.alias("_several")).explode(column)
    return rows.with_columns(
        pl.when("_several")
        .then(pl.format("{}/{}", "source_id", column))
        .otherwise("source_id")
        .alias("source_id")
    ).drop("_several")


def with_items_joined(rows: pl.LazyFrame) -> pl.LazyFrame:
    """One row a scorecard where the export writes one for every question of it.

    Rows are one scorecard when id, application, author, time and overall value are the same. `raw` of
    several rows is an array of them.
    """
    key = ["source_id", *_IDENTITY["evaluation"]]
    inner = pl.col("items").drop_nulls().unique(maintain_order=True)
    joined = inner.str.strip_prefix("[").str.strip_suffix("]").str.join(",")
    raws = pl.col("raw").unique(maintain_order=True)
    return (
        rows.group_by(key, maintain_order=True)
        .agg(
            pl.exclude(*key, "items", "raw").first(),
            pl.when(inner.len() > 0).then(pl.format("[{}]", joined)).alias("items"),
            pl.when(raws.len() > 1)
            .then(pl.format("[{}]", raws.str.join(",")))
            .otherwise(raws.first())
            .alias("raw"),
        )
        .sort("_row")
    )


def _digests(keys: pl.Series) -> pl.Series:
    return pl.Series(
        keys.name, [hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32] for key in keys]
    )


def erased_on_request(people: pl.LazyFrame, erased: Mapping[str, datetime]) -> pl.LazyFrame:
    """Those of `people` whose id is in `erased` (id -> since when) marked as the export marks its own."""
    if not erased:
        return people
    asked = pl.LazyFrame(
        {"source_id": list(erased), "_asked": list(erased.values())},
        schema={"source_id": pl.String, "_asked": UTC},
    )
    return (
        people.join(asked, on="source_id", how="left", maintain_order="left")
        .with_columns(pl.coalesce("erased_at", "_asked").alias("erased_at"))
        .drop("_asked")
    )


def without_erased(rows: pl.LazyFrame) -> Related:
    """People marked as erased keep their row and lose everything personal in it."""
    erased = pl.col("erased_at").is_not_null()
    count = int(rows.select(erased.sum()).collect(engine="streaming").item())
    blanked = rows.with_columns(pl.when(~erased).then(pl.col(name)).alias(name) for name in _PERSONAL)
    notices = (Notice("erased_people", "person", "personal columns emptied, files never opened", count),)
    return Related(blanked, notices if count else ())


def consent_expired(tables: Path, now: datetime) -> pl.Series:
    """Ids of people, not erased ones, whose consent to storage has ended before `now` (trap 13)."""
    people = pl.scan_parquet(tables / "person.parquet")
    ended = pl.col("erased_at").is_null() & (pl.col("consent_until") < now)
    return people.filter(ended).select("source_id").collect()["source_id"]


def consent_notice(people: pl.Series) -> Notice:
    shown = ", ".join(people.sort().head(20)) + (", ..." if people.len() > 20 else "")
    return Notice("consent_expired", "person", f"files not read, state erased: {shown}", people.len())


def with_people(
    entity: Entity, rows: pl.LazyFrame, tables: Path, restricted: pl.Series | None = None
) -> pl.LazyFrame:
    """Blank what belongs to erased people, and fill `person_id` from the application.

    `restricted` are people who keep their rows and whose attachments are treated as erased. Adds the
    column `_erased`. Reads the person and application tables below `tables`.
    """
    people = pl.scan_parquet(tables / "person.parquet").filter(pl.col("erased_at").is_not_null())
    without = people.select("source_id").collect()["source_id"]
    if entity == "attachment" and restricted is not None:
        without = pl.concat([without, restricted])
    erased_ids = without.implode()
    if entity == "application":
        erased = pl.col("person_id").is_in(erased_ids).fill_null(value=False)
        return rows.with_columns(erased.alias("_erased")).with_columns(
            pl.when(~pl.col("_erased")).then("raw").alias("raw")
        )
    owners = pl.scan_parquet(tables / "application.parquet").select(
        application_id="source_id", _owner="person_id"
    )
    rows = rows.join(owners, on="application_id", how="left", maintain_order="left")
    own = pl.col("person_id") if "person_id" in rows.collect_schema() else pl.lit(None, pl.String)
    rows = rows.with_columns(
        (
            own.is_in(erased_ids).fill_null(value=False)
            | pl.col("_owner").is_in(erased_ids).fill_null(value=False)
        ).alias("_erased"),
        *(
            [pl.coalesce("person_id", "_owner").alias("person_id")]
            if entity in ("tag", "note", "attachment")
            else []
        ),
    )
    hidden = {
        "tag": ("raw", "name"),
        "offer": ("raw", "details"),
        "question_answer": ("raw", "answer"),
        "note": ("raw", "body_raw", "body_text"),
        "evaluation": ("raw", "items", "overall_raw"),
        "attachment": ("raw", "file_name", "source_handle"),
    }.get(entity, ("raw",))
    return rows.with_columns(pl.when(~pl.col("_erased")).then(pl.col(name)).alias(name) for name in hidden)


def in_order(entity: Entity, rows: pl.LazyFrame, *, from_stage_known: bool = False) -> pl.LazyFrame:
    """`sequence_no` of applications, `from_stage` of stage moves."""
    if entity == "application":
        applied = pl.coalesce("applied_at", "source_created_at")
        number = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over(
            "person_id", "job_id", order_by=[applied, pl.col("source_id")]
        )
        return rows.with_columns(number.alias("sequence_no"))
    if entity == "stage_move":
        before = pl.col("to_stage").shift(1).over("application_id", order_by=["moved_at", "_row"])
        rows = rows.with_columns(pl.coalesce("origin", pl.lit("structured")).alias("origin"))
        return rows if from_stage_known else rows.with_columns(before.alias("from_stage"))
    return rows


def dangling(tables: Path) -> list[Notice]:
    """References to ids that no table holds, for every entity below `tables`."""
    notices: list[Notice] = []
    for entity in ENTITIES:
        for column, target in _REFERENCES.get(entity, {}).items():
            known = pl.scan_parquet(tables / f"{target}.parquet").select(source_id="source_id")
            referring = pl.scan_parquet(tables / f"{entity}.parquet").filter(pl.col(column).is_not_null())
            lost = referring.join(known, left_on=column, right_on="source_id", how="anti")
            count = int(lost.select(pl.len()).collect(engine="streaming").item())
            if count:
                notices.append(Notice("dangling_references", entity, f"{column} is in no {target}", count))
    return notices
