"""From attachments and outcomes to distinct documents and the fan-out that loses no reference."""

from collections.abc import Iterator
from typing import Final, Literal

import polars as pl

from batch_pipeline.documents.classify import Kind, not_a_cv
from batch_pipeline.documents.reasons import NOT_A_CV, QUARANTINE, Reason, State, Verdict
from batch_pipeline.errors import TerminalError

DOCUMENTS: Final = pl.Schema(
    {
        "md5": pl.String,
        "sha256": pl.String,
        "bytes": pl.Int64,
        "sniffed_mime": pl.String,
        "local_path": pl.String,
        "references": pl.Int32,
        "pages": pl.Int32,
        "text_chars": pl.Int64,
        "text_sha": pl.String,
        "verdict": pl.String,
        "reason": pl.String,
        "needs_vision": pl.Boolean,
        "record_id": pl.String,
        "route": pl.String,
    }
)
PersonFiles = Literal["all", "latest_application"]
"""Which of a person's applications a file belongs to that the source hangs on the person alone."""
LINKS: Final = pl.Schema(
    {
        "attachment_id": pl.String,
        "application_id": pl.String,
        "person_id": pl.String,
        "document_md5": pl.String,
        "is_latest": pl.Boolean,
    }
)


def distinct_files(attachments: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    """(md5, path, mime) of every distinct document whose text has to be looked for."""
    wanted = attachments.filter((pl.col("state") == State.FETCHED.value) & pl.col("reason").is_null())
    first = wanted.group_by("document_md5").agg(pl.col("local_path").min(), pl.col("sniffed_mime").first())
    ordered = first.sort("document_md5").select("document_md5", "local_path", "sniffed_mime")
    yield from ordered.iter_rows()


def build_documents(attachments: pl.DataFrame, outcomes: pl.LazyFrame) -> pl.DataFrame:
    """One row per distinct MD5, in the shape of DOCUMENTS, sorted by md5.

    Routes know no provider yet: `batch` for a CV with text, `on_demand` for one that must be looked
    at, `none` for the rest. One MD5 over two contents (size or SHA-256 differ) is quarantined whole.

    Raises TerminalError where a document has no outcome: its text was never looked for.
    """
    fetched = attachments.filter(pl.col("state") == State.FETCHED.value)
    documents = (
        fetched.lazy()
        .group_by(md5="document_md5")
        .agg(
            pl.col("sha256").min(),
            pl.col("bytes").min(),
            pl.col("sniffed_mime").min(),
            pl.col("local_path").min(),
            pl.len().cast(pl.Int32).alias("references"),
            pl.col("reason").drop_nulls().min().alias("_reason"),
            pl.col("declared_type").fill_null("").unique().sort().str.join("|").alias("_declared"),
            ((pl.col("sha256").n_unique() > 1) | (pl.col("bytes").n_unique() > 1)).alias("_collision"),
        )
        .join(outcomes.rename({"reason": "_outcome"}), on="md5", how="left")
        .sort("md5")
        .collect(engine="streaming")
    )
    unread = documents.filter(pl.col("_reason").is_null() & pl.col("text_chars").is_null())
    if unread.height:
        raise TerminalError(
            f"{unread.height} documents have no extraction outcome, the first is {unread['md5'][0]}: "
            "run the extraction to its end"
        )
    documents = documents.join(_verdicts(documents), on=["kind", "_declared"], how="left", nulls_equal=True)
    reason = (
        pl.when("_collision")
        .then(pl.lit(Reason.MD5_COLLISION.value))
        .otherwise(pl.coalesce("_reason", "_outcome", "_other"))
    )
    documents = documents.with_columns(reason.alias("reason"))
    quarantined = pl.col("reason").is_in([reason.value for reason in QUARANTINE])
    other = pl.col("reason").is_in([reason.value for reason in NOT_A_CV])
    is_cv = pl.col("reason").is_null()
    vision = pl.col("needs_vision").fill_null(value=False) & is_cv
    return (
        documents.with_columns(
            pl.when(is_cv)
            .then(pl.lit(Verdict.CV.value))
            .when(quarantined)
            .then(pl.lit(Verdict.QUARANTINED.value))
            .when(other)
            .then(pl.lit(Verdict.NOT_A_CV.value))
            .alias("verdict"),
            pl.col("text_chars").fill_null(0),
            vision.alias("needs_vision"),
            pl.when(is_cv).then(pl.format("cv-{}", "md5")).alias("record_id"),
            pl.when(vision)
            .then(pl.lit("on_demand"))
            .when(is_cv)
            .then(pl.lit("batch"))
            .otherwise(pl.lit("none"))
            .alias("route"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in DOCUMENTS.items())
        .sort("md5")
    )


def _verdicts(documents: pl.DataFrame) -> pl.DataFrame:
    """`_other` (why not a CV) for every combination of kind and declarations that occurs."""
    pairs = documents.select("kind", "_declared").unique().sort("kind", "_declared")
    reasons = [
        not_a_cv(None if kind is None else Kind(kind), [word or None for word in declared.split("|")])
        for kind, declared in pairs.iter_rows()
    ]
    return pairs.with_columns(
        pl.Series("_other", [None if reason is None else reason.value for reason in reasons], pl.String)
    )


def build_links(
    attachments: pl.DataFrame,
    documents: pl.DataFrame,
    applications: pl.DataFrame,
    person_files: PersonFiles = "all",
) -> pl.DataFrame:
    """One row per CV attachment and application it belongs to, in the shape of LINKS.

    An attachment that hangs on the person belongs to `person_files` of their applications. The latest of
    an application is the one with the newest `source_created_at`, the greater id among equals.
    Sorted by application and attachment.
    """
    cvs = documents.lazy().filter(verdict=Verdict.CV.value).select(document_md5="md5")
    references = (
        attachments.lazy()
        .filter(pl.col("state") == State.FETCHED.value)
        .select("source_created_at", "person_id", "application_id", "document_md5", attachment_id="source_id")
        .join(cvs, on="document_md5", how="semi")
    )
    owners = applications.lazy().select(application_id="source_id", _owner="person_id")
    own = references.filter(pl.col("application_id").is_not_null()).join(owners, on="application_id")
    personal = (
        references.filter(pl.col("application_id").is_null())
        .drop("application_id")
        .join(_of_person(applications, person_files), left_on="person_id", right_on="_owner")
        .with_columns(_owner="person_id")
    )
    links = pl.concat([own, personal], how="diagonal").with_columns(
        pl.coalesce("_owner", "person_id").alias("person_id")
    )
    newest = pl.struct(
        pl.col("source_created_at").fill_null(pl.datetime(1, 1, 1, time_zone="UTC")), "attachment_id"
    )
    latest = newest.rank("ordinal", descending=True).over("application_id") == 1
    return (
        links.with_columns(latest.alias("is_latest"))
        .select(pl.col(name).cast(dtype) for name, dtype in LINKS.items())
        .sort("application_id", "attachment_id")
        .collect(engine="streaming")
    )


def _of_person(applications: pl.DataFrame, person_files: PersonFiles) -> pl.LazyFrame:
    """Which applications a person's own files belong to: `application_id`, `_owner`."""
    owned = applications.lazy().filter(pl.col("person_id").is_not_null())
    if person_files == "latest_application":
        applied = pl.coalesce("applied_at", "source_created_at").fill_null(
            pl.datetime(1, 1, 1, time_zone="UTC")
        )
        newest = pl.struct(applied, "source_id").rank("ordinal", descending=True).over("person_id")
        owned = owned.filter(newest == 1)
    return owned.select(application_id="source_id", _owner="person_id")


def count_near_duplicates(documents: pl.DataFrame) -> int:
    """CV documents whose text an earlier document already has, byte for byte after cleaning.

    Reported and never merged: a second export of one CV has other bytes and the same text (trap 23).
    """
    texts = documents.filter(verdict=Verdict.CV.value)["text_sha"].drop_nulls()
    return texts.len() - texts.n_unique()
