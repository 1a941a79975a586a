"""Documents that say the same in other bytes: one of them is asked about, the others get its answer.

A second export of a CV has other bytes and, after cleaning, the same text (trap 23). They stay two
documents with two links: people and documents are never merged. `reuse_identical_text: true` only
saves the second question.
"""

from typing import Final

import polars as pl

from batch_pipeline.documents.reasons import Verdict

REUSED: Final = pl.Schema(
    {"md5": pl.String, "record_id": pl.String, "answer_md5": pl.String, "answer_record_id": pl.String}
)
"""A row per document that is not asked about, with the document whose answer it gets."""
_PAID: Final = ("input_tokens", "output_tokens")


def reused_answers(documents: pl.DataFrame) -> pl.DataFrame:
    """Which documents get another's answer, in the shape of REUSED, sorted by md5.

    `documents` has the shape of `dedup.DOCUMENTS`. Of the CVs with one `text_sha` the first by MD5 is
    asked about: the same documents give the same choice, whatever their order. A document that has
    to be looked at has no text and is never among them.
    """
    texts = documents.lazy().filter(
        (pl.col("verdict") == Verdict.CV.value) & pl.col("text_sha").is_not_null() & ~pl.col("needs_vision")
    )
    first = texts.group_by("text_sha").agg(answer_md5=pl.col("md5").min())
    return (
        texts.join(first, on="text_sha")
        .filter(pl.col("md5") != pl.col("answer_md5"))
        .select("md5", "record_id", "answer_md5", answer_record_id=pl.format("cv-{}", "answer_md5"))
        .sort("md5")
        .collect()
    )


def asked_about(documents: pl.DataFrame) -> pl.DataFrame:
    """The documents without those that get another's answer: what a plan of requests is made of."""
    return documents.join(reused_answers(documents), on="md5", how="anti", maintain_order="left")


def with_reused(answers: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Parsed answers and, below them, a copy of each for every document that gets it.

    `answers` holds `md5` and `record_id` among its columns, as `parsed/*.parquet` does. A copy has its
    own document's two, and no tokens: nothing was paid for it. A document whose first has no answer
    yet, or a failed one, gets none or the same failure: the sums close either way.
    """
    reused = reused_answers(documents)
    free = [pl.lit(None, answers.schema[name]).alias(name) for name in _PAID if name in answers.columns]
    copies = (
        answers.drop("record_id")
        .rename({"md5": "answer_md5"})
        .join(reused.drop("answer_record_id"), on="answer_md5")
        .with_columns(free)
        .select(answers.columns)
        .sort("md5")
    )
    return pl.concat([answers, copies])
