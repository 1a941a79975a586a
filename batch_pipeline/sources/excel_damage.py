"""What a spreadsheet did to an export before it was handed over (trap 19): said, and never read as it is.

An id of more than eleven digits is written back as `4.10002E+11`: its digits are lost, and two people
may have one such id. No program can mend that, so the reading stops.
"""

from typing import Final

import polars as pl

from batch_pipeline.errors import SourceError
from batch_pipeline.sources.base import Notice
from batch_pipeline.sources.canonical import Entity

_IDS: Final = ("source_id", "person_id", "application_id", "job_id")
_ROUNDED: Final = r"^\d(?:[.,]\d+)?E\+\d{1,3}$"
_ROUNDED_PHONE: Final = r'"\+?\d[.,]\d+E\+\d{1,3}"'
_UNSHOWN: Final = r'":"#(?:NAME\?|REF!|VALUE!|DIV/0!|N/A|NUM!|NULL!|#+)"'


def look(entity: Entity, file_name: str, staged: pl.LazyFrame) -> list[Notice]:
    """Raises SourceError for ids that were rounded; a notice for other cells that say nothing any more."""
    there = staged.collect_schema().names()
    tests: dict[str, pl.Expr] = {
        name: pl.col(name).str.contains(_ROUNDED).sum() for name in _IDS if name in there
    }
    tests["raw"] = pl.col("raw").str.contains(_UNSHOWN).sum()
    if "phones" in there:
        tests["phones"] = pl.col("phones").str.contains(_ROUNDED_PHONE).sum()
    found = staged.select(test.alias(name) for name, test in tests.items()).collect(engine="streaming")
    counts = {name: int(count or 0) for name, count in found.row(0, named=True).items()}
    rounded = {name: counts[name] for name in _IDS if counts.get(name)}
    if rounded:
        said = ", ".join(f"{count} of {name}" for name, count in rounded.items())
        raise SourceError(
            f"{file_name}: ids were rounded by a spreadsheet (such as 4.10002E+11: {said}). Their digits are "
            "lost: export the file again and hand it over without opening it"
        )
    notices = [
        Notice("excel_damage", entity, "cells a spreadsheet could not show (#NAME?, ####)", counts["raw"]),
        Notice("excel_damage", entity, "phone numbers rounded (4.42E+11)", counts.get("phones", 0)),
    ]
    return [notice for notice in notices if notice.count]
