"""The sums of this room that must close, each with the rows that keep it open."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from batch_pipeline.documents.dedup import PersonFiles
from batch_pipeline.documents.reasons import State, Verdict


@dataclass(frozen=True)
class Sum:
    """`total` must equal the parts together. `open_rows` names the rows in no part, or in two."""

    name: str
    total: int
    parts: Mapping[str, int]
    open_rows: pl.DataFrame

    @property
    def closes(self) -> bool:
        return self.total == sum(self.parts.values()) and self.open_rows.is_empty()

    def __str__(self) -> str:
        parts = " + ".join(f"{count} {name}" for name, count in self.parts.items())
        return f"{self.name}: {self.total} = {parts}" + ("" if self.closes else " (open)")


def references(listed: pl.DataFrame, attachments: pl.DataFrame) -> Sum:
    """Every reference the source listed is a row, once; members of bundles come on top."""
    own = attachments.filter(pl.col("parent_attachment_id").is_null()).select("source_id")
    lost = listed.select("source_id").join(own, on="source_id", how="anti")
    doubled = attachments.filter(pl.col("source_id").is_duplicated()).select("source_id").unique()
    unknown = own.join(listed.select("source_id"), on="source_id", how="anti")
    open_rows = pl.concat([lost, doubled, unknown]).unique().sort("source_id")
    return Sum("listed references", listed.height, {"rows": own.height}, open_rows)


def states(attachments: pl.DataFrame) -> Sum:
    """attachments = fetched + missing + download_failed + erased."""
    names = [state.value for state in State]
    open_rows = attachments.filter(~pl.col("state").is_in(names).fill_null(value=False)).select(
        "source_id", "state"
    )
    return Sum("attachments", attachments.height, _counts(attachments["state"], names), open_rows)


def verdicts(attachments: pl.DataFrame, documents: pl.DataFrame) -> Sum:
    """fetched = CVs + not_a_cv + quarantined, counted by reference."""
    fetched = attachments.filter(pl.col("state") == State.FETCHED.value).select(
        "source_id", md5="document_md5"
    )
    judged = fetched.join(documents.select("md5", "verdict"), on="md5", how="left", nulls_equal=True)
    names = [verdict.value for verdict in Verdict]
    open_rows = judged.filter(~pl.col("verdict").is_in(names).fill_null(value=False))
    return Sum("fetched", fetched.height, _counts(judged["verdict"], names), open_rows)


def routes(documents: pl.DataFrame) -> Sum:
    """distinct documents that are no other kind of document = batch + on_demand + quarantined."""
    wanted = documents.filter(pl.col("verdict").ne_missing(Verdict.NOT_A_CV.value))
    cv = pl.col("verdict") == Verdict.CV.value
    quarantined = pl.col("verdict") == Verdict.QUARANTINED.value
    routed = pl.col("route").is_in(["batch", "on_demand"])
    right = (cv & routed & pl.col("record_id").is_not_null()) | (quarantined & (pl.col("route") == "none"))
    parts = {
        "batch": wanted.filter(cv & (pl.col("route") == "batch")).height,
        "on_demand": wanted.filter(cv & (pl.col("route") == "on_demand")).height,
        "quarantined": wanted.filter(quarantined).height,
    }
    open_rows = wanted.filter(~right.fill_null(value=False)).select("md5", "verdict", "route")
    return Sum("distinct documents", wanted.height, parts, open_rows)


def links(
    attachments: pl.DataFrame,
    documents: pl.DataFrame,
    applications: pl.DataFrame,
    fan_out: pl.DataFrame,
    person_files: PersonFiles = "all",
) -> Sum:
    """links = CV attachments x their applications; one latest link for every application with any.

    Counted without joining what was joined to build them: from the number of applications a person
    has. A CV attachment that reaches no application is no open row here: see `unlinked`.
    """
    cvs = documents.filter(verdict=Verdict.CV.value).select(document_md5="md5")
    cv_attachments = attachments.filter(pl.col("state") == State.FETCHED.value).join(
        cvs, on="document_md5", how="semi"
    )
    known = applications["source_id"].implode()
    per_person = applications.group_by("person_id").agg(pl.len().alias("_applications"))
    if person_files == "latest_application":
        per_person = per_person.with_columns(pl.col("_applications").clip(upper_bound=1))
    own = pl.col("application_id").is_in(known).cast(pl.UInt32)
    expected = cv_attachments.join(per_person, on="person_id", how="left").select(
        attachment_id="source_id",
        expected=pl.when(pl.col("application_id").is_null())
        .then(pl.col("_applications").fill_null(0))
        .otherwise(own),
    )
    found = fan_out.group_by("attachment_id").agg(pl.len().alias("found"))
    compared = expected.join(found, on="attachment_id", how="full", coalesce=True).with_columns(
        pl.col("expected", "found").fill_null(0)
    )
    latest = fan_out.group_by("application_id").agg(pl.col("is_latest").sum())
    wrong_latest = latest.filter(pl.col("is_latest") != 1).select(attachment_id="application_id")
    open_rows = pl.concat(
        [compared.filter(pl.col("expected") != pl.col("found")), wrong_latest], how="diagonal"
    )
    total = int(expected["expected"].sum())
    return Sum("links", total, {"fan-out rows": fan_out.height}, open_rows)


def unlinked(attachments: pl.DataFrame, documents: pl.DataFrame, fan_out: pl.DataFrame) -> pl.DataFrame:
    """CV attachments that reach no application (`source_id`, `person_id`): people without one."""
    cvs = documents.filter(verdict=Verdict.CV.value).select(document_md5="md5")
    return (
        attachments.filter(pl.col("state") == State.FETCHED.value)
        .join(cvs, on="document_md5", how="semi")
        .join(fan_out, left_on="source_id", right_on="attachment_id", how="anti")
        .select("source_id", "person_id")
        .sort("source_id")
    )


def _counts(column: pl.Series, names: list[str]) -> dict[str, int]:
    return {name: int((column == name).sum()) for name in names}
