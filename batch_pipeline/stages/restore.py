"""Answers to redacted texts -> the answers that the texts themselves would have got.

An answer is read by the table of the very text that was sent, which its request's digest names: the file, the
export or the people behind a document may have changed since.
"""

import json
from collections.abc import Mapping

import polars as pl

from batch_pipeline.answers.table import Expected, Restored
from batch_pipeline.ledger import migrations
from batch_pipeline.privacy.restoration import UnknownPlaceholder, holds_placeholder, restore_json
from batch_pipeline.stages.context import Context
from batch_pipeline.tasks.base import Failure

_USED = "redaction_used"


def mark_redacted(context: Context) -> None:
    """Remember for good that texts of this migration left redacted, or may have."""
    migrations.keep_report(context.ledger, context.key, {_USED: True})


def was_redacted(context: Context) -> bool:
    return bool(migrations.report(context.ledger, context.key).get(_USED))


def restoring(context: Context, expected: Mapping[str, Expected]) -> Restored | None:
    """From a record id and its answer to the answer with everything put back, or why it cannot be.

    A placeholder that the text does not hold is an invention, and where the model made up one it may have mixed
    up others: such an answer fails as a whole. None where nothing of this migration was ever redacted.
    """
    if not was_redacted(context):
        return None
    sent = pl.LazyFrame(
        list(expected.values()), schema={"md5": pl.String, "request_digest": pl.String}, orient="row"
    )
    tables = _tables(context, sent)
    as_it_is = set() if context.migration.redaction else _planned_now(context, sent)

    def restored(record_id: str, answer: str) -> str | Failure:
        document = expected[record_id]
        table = tables.get(document)
        if table is None:
            lost = document not in as_it_is and holds_placeholder(answer)
            return context.task.unrestored(made_up=False) if lost else answer
        try:
            return restore_json(answer, json.loads(table))
        except UnknownPlaceholder:
            return context.task.unrestored(made_up=True)

    return restored


def _tables(context: Context, sent: pl.LazyFrame) -> dict[Expected, str]:
    """Of every text that was sent redacted what was taken out of it, as JSON. By document too: the CVs of two
    people may differ in nothing but what is taken out."""
    parts = sorted(context.workspace.redacted.glob("*/part-*.parquet"))
    if not parts:
        return {}
    rows = (
        pl.scan_parquet(parts)
        .join(sent, on=["md5", "request_digest"], how="semi")
        .select("md5", "request_digest", "originals")
        .collect()
    )
    return {Expected(md5, digest): originals for md5, digest, originals in rows.iter_rows()}


def _planned_now(context: Context, sent: pl.LazyFrame) -> set[Expected]:
    """Documents whose text is sent as it is: what looks like a placeholder is theirs."""
    lines = pl.scan_parquet(context.workspace.request_lines)
    rows = lines.join(sent, on=["md5", "request_digest"], how="semi").select("md5", "request_digest")
    return {Expected(md5, digest) for md5, digest in rows.collect().iter_rows()}
