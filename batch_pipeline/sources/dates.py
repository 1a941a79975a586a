"""Dates of an export: which order a column is written in, and its values as UTC.

An order is derived only where the values prove it. `03/04/2026` can be two days; a column in which
every pair of numbers is 12 or less is refused, and so is one that proves both orders (trap 17 of
the export contract). Offsets in the text win over the migration's zone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

import polars as pl

Order = Literal["year_first", "day_first", "month_first", "text", "epoch", "excel"]
ORDERS: Final[tuple[Order, ...]] = get_args(Order)

_TIME = (
    r"(?:[T ,]+(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?"
    r"\s*(?P<p>[AaPp])?(?:\.?[Mm]\.?)?\s*(?P<z>[Zz]|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?)?$"
)
_YEAR_FIRST = r"^(?P<a>\d{4})[-/.](?P<b>\d{1,2})[-/.](?P<c>\d{1,2})" + _TIME
_YEAR_LAST = r"^(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<c>\d{4}|\d{2})" + _TIME
_SERIAL = r"^[2-7]\d{4}(?:\.\d+)?$"  # days since 1899-12-30, of the years 1954 to 2119
_EPOCH = r"^\d{9,10}(?:\d{3})?$"
_MONTH_NAME = r"(?P<b>[A-Za-z]{3,9})\.?"
_DAY_NAME_MONTH = r"^(?P<c>\d{1,2})[ -]" + _MONTH_NAME + r"[ ,-]+(?P<a>\d{4})" + _TIME
_NAME_DAY_YEAR = r"^" + _MONTH_NAME + r" (?P<c>\d{1,2}),? (?P<a>\d{4})" + _TIME
_ZONE = r"\d\s*(?:[AaPp]?\.?[Mm]?\.?)\s*(?:[Zz]|UTC|GMT|:\d{2}(?:[.,]\d+)?\s*[+-]\d{2}(?::?\d{2})?)$"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True)
class DateColumn:
    """What one column's values prove."""

    filled: int
    year_first: int
    year_last: int
    day_first: int  # year-last values whose first number is no month
    month_first: int  # year-last values whose second number is no month
    text: int
    epoch: int
    serial: int  # as a spreadsheet counts days
    without_zone: int  # values that name no zone (epochs need none)

    @property
    def has_dates(self) -> bool:
        return bool(self.year_first or self.year_last or self.text or self.epoch or self.serial)

    def order(self) -> Order:
        """The only order the values allow. Raises ValueError saying what a person must state."""
        shapes: dict[Order, int] = {
            "year_first": self.year_first,
            "day_first": self.year_last,
            "text": self.text,
            "epoch": self.epoch,
            "excel": self.serial,
        }
        present = [order for order, count in shapes.items() if count]
        if not present:
            if self.filled:
                raise ValueError("no value is a date this program knows: state the format")
            return "year_first"
        if len(present) > 1:
            raise ValueError(
                "the column mixes formats ("
                + ", ".join(
                    f"{shapes[order]} {'year last' if order == 'day_first' else order}" for order in present
                )
                + "): mend the export, no single format reads it"
            )
        if present != ["day_first"]:
            return present[0]
        if self.day_first and self.month_first:
            raise ValueError(
                f"the column mixes orders: {self.day_first} dates put the day first, "
                f"{self.month_first} the month: mend the export"
            )
        if not self.day_first and not self.month_first:
            raise ValueError(
                f"all {self.year_last} dates can be read as day/month and as month/day: "
                "state day_first or month_first"
            )
        return "day_first" if self.day_first else "month_first"


def observe(rows: pl.LazyFrame, columns: Mapping[str, pl.Expr]) -> dict[str, DateColumn]:
    """One pass over the rows: what each column's values prove, by the mapping's keys."""
    if not columns:
        return {}
    tests: list[pl.Expr] = []
    for key, column in columns.items():
        last = column.str.extract_groups(_YEAR_LAST)
        first_number = last.struct.field("a").cast(pl.Int32)
        second_number = last.struct.field("b").cast(pl.Int32)
        textual = column.str.contains(_DAY_NAME_MONTH) | column.str.contains(_NAME_DAY_YEAR)
        counts = {
            "filled": column.is_not_null(),
            "year_first": column.str.contains(_YEAR_FIRST),
            "year_last": first_number.is_not_null(),
            "day_first": first_number > 12,
            "month_first": second_number > 12,
            "text": textual,
            "epoch": column.str.contains(_EPOCH),
            "serial": column.str.contains(_SERIAL),
            "without_zone": ~column.str.contains(_EPOCH) & ~column.str.contains(_ZONE),
        }
        tests += [test.sum().alias(f"{key}/{name}") for name, test in counts.items()]
    found = rows.select(tests).collect(engine="streaming").row(0, named=True)
    return {
        key: DateColumn(**{name: int(found[f"{key}/{name}"] or 0) for name in DateColumn.__annotations__})
        for key in columns
    }


def with_parsed(rows: pl.LazyFrame, column: str, date_format: str, zone: str) -> pl.LazyFrame:
    """Add `<column>/utc` (null where the text is no date of that format) and `<column>/zoneless`.

    `date_format` is one of ORDERS or a strptime format with `%`. Every step is a column of its own:
    one expression would run the pattern again for each of its parts.
    """
    text = pl.col(column)
    utc, zoneless = f"{column}/utc", f"{column}/zoneless"
    if date_format == "epoch":
        number = text.str.extract(r"^(\d{9,13})$").cast(pl.Int64)
        # by magnitude (trap 16): seconds have at most ten digits until the year 2286
        micros = pl.when(number >= 100_000_000_000).then(number * 1_000).otherwise(number * 1_000_000)
        instant = micros.cast(pl.Datetime("us", "UTC"))
        return rows.with_columns(instant.alias(utc), pl.lit(value=False).alias(zoneless))
    if date_format == "excel":
        seconds = (text.str.extract(r"^(\d+(?:\.\d+)?)$").cast(pl.Float64) * 86_400).round().cast(pl.Int64)
        shown = pl.datetime(1899, 12, 30) + pl.duration(seconds=seconds)
        return rows.with_columns(_in_zone(shown, zone).alias(utc), seconds.is_not_null().alias(zoneless))
    if "%z" in date_format:
        aware = text.str.to_datetime(date_format, time_unit="us", time_zone="UTC", strict=False)
        return rows.with_columns(aware.alias(utc), pl.lit(value=False).alias(zoneless))
    naive, offset = f"{column}/naive", f"{column}/offset"
    if date_format in ORDERS:
        rows = _with_naive(rows, column, date_format, naive, offset)
    else:
        read = text.str.to_datetime(date_format, time_unit="us", strict=False)
        rows = rows.with_columns(read.alias(naive), pl.lit(None, pl.Int64).alias(offset))
    stated = pl.col(naive).dt.replace_time_zone("UTC") - pl.duration(minutes=pl.col(offset))
    instant = pl.when(pl.col(offset).is_not_null()).then(stated).otherwise(_in_zone(pl.col(naive), zone))
    assumed = pl.col(naive).is_not_null() & pl.col(offset).is_null()
    return rows.with_columns(instant.alias(utc), assumed.alias(zoneless)).drop(naive, offset)


_PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "year_first": (_YEAR_FIRST,),
    "day_first": (_YEAR_LAST,),
    "month_first": (_YEAR_LAST,),
    "text": (_DAY_NAME_MONTH, _NAME_DAY_YEAR),
}
_YEAR_MONTH_DAY: Final = {
    "year_first": ("a", "b", "c"),
    "day_first": ("c", "b", "a"),
    "month_first": ("c", "a", "b"),
    "text": ("a", "b", "c"),
}


def _with_naive(rows: pl.LazyFrame, column: str, order: str, naive: str, offset: str) -> pl.LazyFrame:
    """The time as written, and its offset in minutes where it states one."""
    patterns = _PATTERNS[order]
    groups = [f"{column}/groups{number}" for number in range(len(patterns))]
    rows = rows.with_columns(
        pl.col(column).str.extract_groups(pattern).alias(name)
        for name, pattern in zip(groups, patterns, strict=True)
    )

    def part(name: str) -> pl.Expr:
        return pl.coalesce(pl.col(group).struct.field(name) for group in groups)

    year_name, month_name, day_name = _YEAR_MONTH_DAY[order]
    year = part(year_name).cast(pl.Int32)
    # 0001-01-01 is how some systems write that there is no date: not the year 2001
    year = (
        pl.when(part(year_name).str.len_chars() > 2)
        .then(year)
        .when(year <= 68)
        .then(year + 2000)
        .otherwise(year + 1900)
    )
    month = part(month_name).cast(pl.Int32, strict=False)
    if order == "text":
        names = part(month_name).str.slice(0, 3).str.to_lowercase()
        numbers = list(range(1, 13))
        month = names.replace_strict(list(_MONTHS), numbers, default=None, return_dtype=pl.Int32)
    hour = part("H").cast(pl.Int32).fill_null(0)
    half = part("p").str.to_lowercase()
    hour = pl.when(half == "p").then(hour % 12 + 12).when(half == "a").then(hour % 12).otherwise(hour)
    written = pl.format(
        "{}-{}-{} {}:{}:{}.{}",
        year.cast(pl.String).str.zfill(4),
        month.cast(pl.String).str.zfill(2),
        part(day_name).str.zfill(2),
        hour.cast(pl.String).str.zfill(2),
        part("M").fill_null("00"),
        part("S").fill_null("00"),
        part("f").fill_null("0").str.slice(0, 6).str.pad_end(6, "0"),
    )
    digits = part("z").str.replace(":", "", literal=True)
    sign = pl.when(digits.str.starts_with("-")).then(-1).otherwise(1)
    minutes = (
        digits.str.extract(r"^[+-](\d{2})").cast(pl.Int64).fill_null(0) * 60
        + digits.str.extract(r"^[+-]\d{2}(\d{2})$").cast(pl.Int64).fill_null(0)
    ) * sign
    return rows.with_columns(
        written.str.to_datetime("%Y-%m-%d %H:%M:%S%.6f", time_unit="us", strict=False).alias(naive),
        pl.when(digits.is_not_null()).then(minutes).alias(offset),
    ).drop(groups)


def _in_zone(naive: pl.Expr, zone: str) -> pl.Expr:
    """The hour that a summer-time change repeats is its first; the one it skips moves on by an hour."""

    def placed(expression: pl.Expr) -> pl.Expr:
        return expression.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")

    return pl.coalesce(placed(naive), placed(naive + pl.duration(hours=1))).dt.convert_time_zone("UTC")
