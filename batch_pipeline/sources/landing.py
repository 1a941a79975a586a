"""Staged rows of an API dialect -> canonical tables: one row a person, erased people emptied, order told."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from batch_pipeline.sources import duplicates, relations
from batch_pipeline.sources.base import Notice
from batch_pipeline.sources.canonical import ENTITIES, SCHEMAS, Entity
from batch_pipeline.sources.staged_rows import StagedRows
from batch_pipeline.workspace import atomic_path

_LISTS: Final = ("emails", "phones", "links")
_FLAGS: Final = ("do_not_contact", "is_private")


def land(
    staged: StagedRows, into: Path, now: datetime, erased: Mapping[str, datetime], *, erase_expired: bool
) -> list[Notice]:
    """Write every table but the attachments, parents first.

    `now` is what consent is measured by. `erased` are people erased on request, since when;
    `erase_expired` empties people whose consent has ended too.
    """
    notices = _land_people(staged, into, now, erased, erase_expired=erase_expired)
    for entity in ENTITIES:
        if entity in ("person", "attachment"):
            continue
        single = relations.with_one_id_each(entity, staged.scan(entity))
        notices += single.notices
        rows = single.rows
        if entity not in relations.OF_NOBODY:
            rows = relations.with_people(entity, rows, into)
        write_table(entity, relations.in_order(entity, rows), into)
    return [*notices, *_from_the_future(into, now)]


def _from_the_future(into: Path, now: datetime) -> list[Notice]:
    """Rows made after they were read: a clock or a unit of time is wrong (trap 16)."""
    tomorrow = now + timedelta(days=1)
    notices: list[Notice] = []
    for entity in ENTITIES:
        if entity != "attachment":
            rows = pl.scan_parquet(into / f"{entity}.parquet")
            count = rows.select((pl.col("source_created_at") > tomorrow).sum()).collect().item()
            if count:
                notices.append(Notice("dates_out_of_range", entity, "source_created_at lies ahead", count))
    return notices


def attachment_rows(staged: StagedRows, into: Path, now: datetime) -> tuple[pl.DataFrame, list[Notice]]:
    """The attachments with `_url` and `_erased`: nobody may open the files of those.

    Reads the tables `land` wrote.
    """
    single = relations.with_one_id_each("attachment", staged.scan("attachment"))
    restricted = relations.consent_expired(into, now)
    rows = relations.with_people("attachment", single.rows, into, restricted).collect(engine="streaming")
    notices = [*single.notices]
    if restricted.len():
        notices.append(relations.consent_notice(restricted))
    return rows, notices


def write_table(entity: Entity, rows: pl.LazyFrame, into: Path) -> None:
    """The canonical columns of `rows`, whole or not at all."""
    with atomic_path(into / f"{entity}.parquet") as partial:
        rows.select(pl.col(name).cast(kind) for name, kind in SCHEMAS[entity].items()).sink_parquet(partial)


def _land_people(
    staged: StagedRows, into: Path, now: datetime, erased: Mapping[str, datetime], *, erase_expired: bool
) -> list[Notice]:
    rows, notices = _merged(staged.scan("person"))
    rows = relations.erased_on_request(rows, erased)
    if erase_expired:
        ended = pl.col("erased_at").is_null() & (pl.col("consent_until") < now)
        rows = rows.with_columns(
            pl.when(ended).then("consent_until").otherwise("erased_at").alias("erased_at")
        )
    else:
        ended = pl.col("consent_until") < now
        rows = rows.with_columns(
            pl.when(ended).then(pl.lit(value=True)).otherwise(name).alias(name) for name in _FLAGS
        )
    blanked = relations.without_erased(rows)
    write_table("person", blanked.rows, into)
    return [*notices, *blanked.notices, *duplicates.report_possible(into)]


def _merged(rows: pl.LazyFrame) -> tuple[pl.LazyFrame, list[Notice]]:
    """One row a person where the system keeps a record for every candidacy."""
    # ids alone first: whole rows of a large customer do not fit in memory
    ids = rows.select("source_id").filter(pl.col("source_id").is_duplicated()).unique().collect()["source_id"]
    if ids.is_empty():
        return rows, []
    several = pl.col("source_id").is_in(ids.implode())
    repeated = rows.filter(several).sort("_row").collect()
    merged = pl.DataFrame(
        [_one(records) for records in _by_person(repeated)], schema=repeated.schema, orient="row"
    )
    once = rows.filter(~several)
    people = pl.concat([once, merged.lazy()]).sort("_row")
    return people, [Notice("merged_records", "person", "records of one person", repeated.height)]


def _by_person(records: pl.DataFrame) -> Iterable[list[dict[str, Any]]]:
    for group in records.partition_by("source_id", maintain_order=True):
        yield group.to_dicts()


def _one(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The newest record's values, what only older ones know, all addresses; the strictest of each limit."""
    newest_first = sorted(
        records,
        key=lambda one: (
            (one["source_updated_at"] or one["source_created_at"] or datetime.min).replace(tzinfo=None),
            one["_row"],
        ),
        reverse=True,
    )
    person = {name: _first(one[name] for one in newest_first) for name in records[0]}
    for name in _LISTS:
        person[name] = _union(one[name] for one in newest_first)
    for name in _FLAGS:
        stated = [one[name] for one in records if one[name] is not None]
        person[name] = any(stated) if stated else None
    person["_row"] = min(one["_row"] for one in records)
    person["source_created_at"] = min(_known(records, "source_created_at"), default=None)
    person["consent_until"] = min(_known(records, "consent_until"), default=None)
    person["erased_at"] = max(_known(records, "erased_at"), default=None)
    return person


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _known(records: list[dict[str, Any]], name: str) -> list[datetime]:
    return [one[name] for one in records if one[name] is not None]


def _union(texts: Iterable[str | None]) -> str | None:
    """Entries of several JSON lists, each once: addresses compared as they are compared elsewhere."""
    entries: dict[str, Any] = {}
    for text in texts:
        for entry in json.loads(text) if text else []:
            key = entry if isinstance(entry, str) else entry.get("norm", entry["raw"])
            entries.setdefault(key, entry)
    return json.dumps(list(entries.values()), ensure_ascii=False) if entries else None
