"""The sums of a migration that the records rest on, as pure checks over its Parquet files.

Each check counts both sides and names the rows that keep it open; nothing is repaired here. That the
database holds what was staged is checked by the import itself (`merge.py`).
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from batch_pipeline.errors import OpenSums
from batch_pipeline.workspace import Workspace

NAMED_ROWS: Final = 100
_STATES: Final = ("fetched", "missing", "download_failed", "erased")
_VERDICTS: Final = ("cv", "not_a_cv", "quarantined")
_STATUSES: Final = ("parsed", "failed")


@dataclass(frozen=True)
class Sum:
    """One equation: `left` = `right`, and no row is open. `open_rows` holds at most `NAMED_ROWS` ids."""

    name: str
    left: int
    right: int
    open_count: int
    open_rows: tuple[str, ...]

    @property
    def closes(self) -> bool:
        return self.left == self.right and self.open_count == 0

    def __str__(self) -> str:
        if self.closes:
            return f"{self.name}: {self.left} = {self.right}"
        named = ", ".join(self.open_rows)
        return f"{self.name}: {self.left} against {self.right}, {self.open_count} open rows: {named}"


def every_attachment_has_a_state(attachments: pl.LazyFrame) -> Sum:
    """attachments = fetched + missing + download_failed + erased."""
    settled = pl.col("state").is_in(_STATES).fill_null(value=False)
    return _sum(
        "attachments = fetched + missing + download_failed + erased",
        _count(attachments),
        _count(attachments.filter(settled)),
        attachments.filter(~settled).select(pl.col("source_id")),
    )


def every_fetched_file_is_judged(attachments: pl.LazyFrame, documents: pl.LazyFrame) -> Sum:
    """fetched = CVs + not_a_cv + quarantined, counted by attachment."""
    fetched = attachments.filter(pl.col("state") == "fetched").select("source_id", "document_md5")
    judged = documents.filter(pl.col("verdict").is_in(_VERDICTS)).select("md5")
    return _sum(
        "fetched = cv + not_a_cv + quarantined",
        _count(fetched),
        _count(fetched.join(judged, left_on="document_md5", right_on="md5", how="semi")),
        fetched.join(judged, left_on="document_md5", right_on="md5", how="anti").select("source_id"),
    )


def every_cv_has_one_answer(documents: pl.LazyFrame, parsed: pl.LazyFrame) -> Sum:
    """distinct CV documents = parsed + failed; one final answer each, and none for anything else."""
    cvs = documents.filter(pl.col("verdict") == "cv").select("md5")
    answers = parsed.filter(pl.col("status").is_in(_STATUSES)).select("md5")
    twice = answers.group_by("md5").len().filter(pl.col("len") > 1).select("md5")
    return _sum(
        "cv documents = parsed + failed",
        _count(cvs),
        _count(answers),
        pl.concat([cvs.join(answers, on="md5", how="anti"), answers.join(cvs, on="md5", how="anti"), twice]),
    )


def every_cv_reaches_its_applications(
    attachments: pl.LazyFrame, documents: pl.LazyFrame, applications: pl.LazyFrame, links: pl.LazyFrame
) -> Sum:
    """links = CV attachments x their applications.

    An attachment that names an application has exactly that link. One that hangs on a person has at
    least one of the person's applications (which, is the migration's choice), unless there is none.
    Open rows are `attachment/application`, or `attachment/-` where a person's file reaches nothing.
    """
    cvs = documents.filter(pl.col("verdict") == "cv").select("md5")
    held = attachments.filter(pl.col("state") == "fetched").join(
        cvs, left_on="document_md5", right_on="md5", how="semi"
    )
    own = held.filter(pl.col("application_id").is_not_null()).select(
        attachment_id="source_id", application_id="application_id"
    )
    by_person = held.filter(pl.col("application_id").is_null()).select(
        attachment_id="source_id", person_id="person_id"
    )
    possible = by_person.join(
        applications.select("person_id", application_id="source_id"), on="person_id", how="inner"
    ).select("attachment_id", "application_id")
    pairs = links.select("attachment_id", "application_id")
    key = ["attachment_id", "application_id"]
    expected = pl.concat([own, possible.join(pairs, on=key, how="semi")])
    lost = own.join(pairs, on=key, how="anti")
    foreign = pairs.join(pl.concat([own, possible]), on=key, how="anti")
    unreached = (
        possible.join(pairs, on="attachment_id", how="anti")
        .select("attachment_id")
        .unique()
        .with_columns(application_id=pl.lit("-"))
    )
    return _sum(
        "links = cv attachments x their applications",
        _count(links),
        _count(expected),
        pl.concat([lost, foreign, unreached]).select(pl.concat_str(key, separator="/")),
    )


def check(workspace: Workspace) -> tuple[Sum, ...]:
    """All sums of one migration, in the order of its stages."""
    attachments = pl.scan_parquet(workspace.attachments)
    documents = pl.scan_parquet(workspace.documents)
    return (
        every_attachment_has_a_state(attachments),
        every_fetched_file_is_judged(attachments, documents),
        every_cv_has_one_answer(documents, _parsed(workspace)),
        every_cv_reaches_its_applications(
            attachments,
            documents,
            pl.scan_parquet(workspace.table("application")),
            pl.scan_parquet(workspace.links),
        ),
    )


def require_closed(sums: tuple[Sum, ...]) -> None:
    """Raises OpenSums naming the open rows of every sum that does not close."""
    if still_open := [str(each) for each in sums if not each.closes]:
        raise OpenSums("\n".join(still_open))


def _parsed(workspace: Workspace) -> pl.LazyFrame:
    files = sorted(workspace.parsed.glob("*.parquet"))
    if not files:
        return pl.LazyFrame(schema={"md5": pl.String, "status": pl.String})
    return pl.scan_parquet(files).select("md5", "status")


def _count(rows: pl.LazyFrame) -> int:
    return int(rows.select(pl.len()).collect(engine="streaming").item())


def _sum(name: str, left: int, right: int, open_rows: pl.LazyFrame) -> Sum:
    ids = open_rows.collect(engine="streaming").to_series().sort()
    return Sum(name, left, right, len(ids), tuple(map(str, ids.head(NAMED_ROWS))))
