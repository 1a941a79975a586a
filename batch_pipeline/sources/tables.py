"""The rows of one file as canonical columns, with marks for every cell that could not be read.

Marks are boolean columns named `?<kind>/<field>`; they are counted for the notices and never reach
a canonical table.
"""

from collections.abc import Mapping

import polars as pl

from batch_pipeline.sources import column_map, dates, value_maps
from batch_pipeline.sources.base import Notice, NoticeKind
from batch_pipeline.sources.canonical import SCHEMAS
from batch_pipeline.sources.html_notes import readable
from batch_pipeline.sources.names import ERASED_NAME, INVISIBLE
from batch_pipeline.sources.resolution import Table, cell

ADDRESS = "_address"
"""A working column of attachments that name their person by e-mail alone."""

_LISTS: Mapping[str, str] = {"emails": r"[;,|\n]+", "phones": r"[;,|\n]+", "links": r"[;,|\s]+"}
_FLAGS = frozenset({"do_not_contact", "is_private", "confidential"})
_NUMBERS = frozenset({"position"})
_DAYS = frozenset({"starts_on"})
_AS_WRITTEN = frozenset({"source_handle", "file_name", "body_raw", "overall_raw", "answer"})


def canonical_rows(table: Table, zone: str, keep_columns: list[str]) -> pl.LazyFrame:
    """Canonical columns in file order, plus `_row` and the marks; empty rows are left out."""
    headers = table.file.headers
    rows = table.file.scan().filter(pl.any_horizontal(pl.col(header).is_not_null() for header in headers))
    for field, date_format in table.date_formats.items():
        text = _text_of(field)
        rows = rows.with_columns(cell(table.columns[field]).alias(text))
        rows = dates.with_parsed(rows, text, date_format, zone)
    columns, marks = _plain_columns(table)
    date_columns, zoneless, date_marks = _date_columns(table, zone)
    columns |= date_columns
    marks |= date_marks
    marks["?formula_cells/any"] = pl.any_horizontal(
        pl.col(header).str.contains(r'^\s*="') for header in headers
    )
    columns["raw"] = _raw(headers, keep_columns)
    if table.entity == "offer":
        used = {header for named in table.columns.values() for header in named}
        rest = tuple(header for header in headers if header not in used)
        if rest:
            columns["details"] = _raw(rest, keep_columns)
    columns["tz_assumed"] = pl.any_horizontal(zoneless) if zoneless else pl.lit(value=False)
    schema = SCHEMAS[table.entity]
    extra = [columns["person_email"].str.to_lowercase().alias(ADDRESS)] if "person_email" in columns else []
    selected = [columns.get(name, pl.lit(None)).cast(dtype).alias(name) for name, dtype in schema.items()]
    marked = [mark.fill_null(value=False).alias(name) for name, mark in marks.items()]
    frame = rows.select(*selected, *marked, *extra).with_row_index("_row")
    return _completed(table, frame, keep_columns)


def _plain_columns(table: Table) -> tuple[dict[str, pl.Expr], dict[str, pl.Expr]]:
    columns: dict[str, pl.Expr] = {}
    marks: dict[str, pl.Expr] = {}
    for field, headers in table.columns.items():
        if field in table.date_formats:
            continue
        text = cell(headers)
        if field in _LISTS:
            columns[field] = _list_column(field, headers)
        elif field in _FLAGS:
            columns[field] = value_maps.truth(text)
            marks[f"?unknown_values/{field}"] = text.is_not_null() & columns[field].is_null()
        elif field in _NUMBERS:
            columns[field] = text.cast(pl.Int32, strict=False)
            marks[f"?unknown_values/{field}"] = text.is_not_null() & columns[field].is_null()
        elif (name := f"{table.entity}.{field}") in value_maps.CANONICAL:
            known = value_maps.mapped(text, name, table.values.get(field, {}))
            # an attachment's type is only a hint: an unknown one is kept in the export's words
            columns[field] = pl.coalesce(known, text) if field == "declared_type" else known
            marks[f"?unknown_values/{field}"] = text.is_not_null() & known.is_null()
        elif field in _AS_WRITTEN:
            columns[field] = text
        else:
            columns[field] = text.str.normalize("NFC").str.replace_all(INVISIBLE, "").replace("", None)
    if "overall_raw" in columns:
        stated = table.values.get("overall_raw", {})
        overall = value_maps.mapped(columns["overall_raw"], "evaluation.overall", stated)
        columns["overall"] = overall.cast(pl.Int32)
        marks["?unknown_values/overall"] = columns["overall_raw"].is_not_null() & overall.is_null()
    if table.entity == "evaluation" and {"question", "answer"} & columns.keys():
        columns["items"] = _item(columns)
    return columns, marks


def _text_of(field: str) -> str:
    """The working column of a date field; no header can hold a NUL."""
    return f"\0{field}"


def _date_columns(table: Table, zone: str) -> tuple[dict[str, pl.Expr], list[pl.Expr], dict[str, pl.Expr]]:
    """Columns, what names no zone, and marks, by date field."""
    columns: dict[str, pl.Expr] = {}
    zoneless: list[pl.Expr] = []
    marks: dict[str, pl.Expr] = {}
    for field in table.date_formats:
        text, utc = pl.col(_text_of(field)), pl.col(f"{_text_of(field)}/utc")
        assumed = pl.col(f"{_text_of(field)}/zoneless").fill_null(value=False)
        # a day without a time is the day where it was written, not the one it still was in Greenwich
        here = utc.dt.convert_time_zone(zone).dt.date()
        columns[field] = pl.when(assumed).then(here).otherwise(utc.dt.date()) if field in _DAYS else utc
        zoneless.append(assumed)
        unread = text.is_not_null() & utc.is_null()
        if field == "erased_at":
            # a mark that is no date still erases: reading an erased person is worse than a wrong date
            marks["?erased/undated"] = unread & ~value_maps.key(text).is_in(value_maps.FALSE)
        else:
            marks[f"?unreadable_dates/{field}"] = unread
            marks[f"?dates_out_of_range/{field}"] = ~utc.dt.year().is_between(1980, 2100)
    return columns, zoneless, marks


def _list_column(field: str, headers: list[str]) -> pl.Expr:
    """JSON text of a cell, or several, that may each hold several values."""
    joined = pl.concat_str([pl.col(header) for header in headers], separator="\n", ignore_nulls=True)
    values = joined.str.replace_all(_LISTS[field], "\n").str.split("\n")
    values = values.list.eval(pl.element().filter(pl.element().str.strip_chars() != ""))
    if field == "emails":
        normal = pl.element().str.normalize("NFC").str.replace_all(INVISIBLE, "")
        values = values.list.eval(
            pl.struct(raw=pl.element(), norm=normal.str.strip_chars().str.to_lowercase())
        )
    elif field == "phones":
        values = values.list.eval(pl.struct(raw=pl.element().str.strip_chars()))
    else:
        values = values.list.eval(pl.element().str.strip_chars())
    text = pl.struct(v=values).struct.json_encode().str.strip_prefix('{"v":').str.strip_suffix("}")
    return pl.when(values.list.len() > 0).then(text)


def _item(columns: Mapping[str, pl.Expr]) -> pl.Expr:
    """The one question a row answers, as JSON of the canonical `items`; null where it asks nothing."""
    parts = {
        name: columns.get(field, pl.lit(None, pl.String))
        for name, field in {"question": "question", "answer": "answer", "rating": "item_rating"}.items()
    }
    one = pl.struct([part.alias(name) for name, part in parts.items()])
    text = pl.format("[{}]", one.struct.json_encode())
    return pl.when(pl.any_horizontal(part.is_not_null() for part in parts.values())).then(text)


def _raw(headers: tuple[str, ...], keep_columns: list[str]) -> pl.Expr:
    kept = {column_map.normalised(header) for header in keep_columns}
    shown = [
        header
        for header in headers
        if not column_map.is_sensitive(header) or column_map.normalised(header) in kept
    ]
    return pl.struct([pl.col(header) for header in shown]).struct.json_encode()


def _completed(table: Table, frame: pl.LazyFrame, keep_columns: list[str]) -> pl.LazyFrame:
    """What follows from the row's other columns."""
    if table.entity == "person":
        named = pl.concat_str("given_name", "family_name", separator=" ", ignore_nulls=True).replace("", None)
        frame = frame.with_columns(pl.coalesce("full_name", named).alias("full_name"))
        looks = pl.col("full_name").str.contains(ERASED_NAME) & pl.col("erased_at").is_null()
        if "?erased/undated" in frame.collect_schema():
            moment = pl.coalesce(
                "source_updated_at", "source_created_at", pl.from_epoch(pl.lit(0)).dt.replace_time_zone("UTC")
            )
            undated = pl.col("?erased/undated")
            frame = frame.with_columns(
                pl.when(undated).then(moment).otherwise("erased_at").alias("erased_at")
            ).drop("?erased/undated")
        frame = frame.with_columns(looks.fill_null(value=False).alias("?looks_erased/full_name"))
    elif table.entity == "note":
        text = pl.col("body_raw").map_elements(readable, return_dtype=pl.String)
        frame = frame.with_columns(text.alias("body_text"), pl.col("visibility").fill_null("private"))
    elif table.entity == "attachment":
        last = pl.col("source_handle").str.extract(r"([^/\\]+)$")
        frame = frame.with_columns(pl.coalesce("file_name", last).alias("file_name"))
    elif table.entity == "question_answer":
        sensitive = pl.col("question").map_elements(column_map.is_sensitive, return_dtype=pl.Boolean)
        allowed = [column_map.normalised(header) for header in keep_columns]
        kept = pl.col("question").map_elements(column_map.normalised, return_dtype=pl.String).is_in(allowed)
        hidden = (sensitive & ~kept).fill_null(value=False)
        frame = frame.with_columns(
            *(pl.when(~hidden).then(pl.col(name)).alias(name) for name in ("answer", "raw")),
            (hidden & pl.col("answer").is_not_null()).alias("?sensitive_columns/answer"),
        )
    elif table.entity == "application":
        derived = (
            pl.when(pl.col("hired_at").is_not_null())
            .then(pl.lit("hired"))
            .when(pl.col("rejected_at").is_not_null())
            .then(pl.lit("rejected"))
            .otherwise(pl.lit("active"))
        )
        # a status no map knows stays null: deriving one would hide it
        unknown = pl.col("?unknown_values/status") if "status" in table.columns else pl.lit(value=False)
        frame = frame.with_columns(
            pl.when(pl.col("status").is_null() & ~unknown).then(derived).otherwise("status").alias("status")
        )
        kind = pl.when(pl.col("job_id").is_null()).then(pl.lit("prospect")).otherwise(pl.lit("applied"))
        frame = frame.with_columns(pl.coalesce("kind", kind).alias("kind"))
    return frame


def count_marks(entity: str, staged: pl.LazyFrame) -> list[Notice]:
    """A notice for every kind of mark that any row carries."""
    marks = [name for name in staged.collect_schema().names() if name.startswith("?")]
    if not marks:
        return []
    found = staged.select(pl.col(name).sum() for name in marks).collect(engine="streaming").row(0, named=True)
    notices: list[Notice] = []
    for name, count in found.items():
        if count:
            kind, field = name[1:].split("/")
            notices.append(Notice(_kind(kind), entity, "any column" if field == "any" else field, int(count)))
    return notices


_MARK_KINDS: dict[str, NoticeKind] = {
    "unknown_values": "unknown_values",
    "unreadable_dates": "unreadable_dates",
    "dates_out_of_range": "dates_out_of_range",
    "formula_cells": "formula_cells",
    "looks_erased": "looks_erased",
    "sensitive_columns": "sensitive_columns",
}


def _kind(name: str) -> NoticeKind:
    return _MARK_KINDS[name]
