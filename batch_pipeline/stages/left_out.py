"""People erased on request: whom a reading leaves out, and what is still kept of them after it."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from batch_pipeline.documents.forgetting import forget_texts
from batch_pipeline.ledger.erased_people import ErasedPeople, forget_withdrawn_answers
from batch_pipeline.stages.context import Context

_NOTE = "left_out"


@dataclass(frozen=True)
class Forgotten:
    """Counts of what was still kept."""

    texts: int = 0
    kept_answers: int = 0


def erased_people(context: Context) -> ErasedPeople:
    """The ledger's memory of this migration's tenant and source system."""
    migration = context.migration
    return ErasedPeople(context.ledger, context.key, migration.tenant, migration.source_system)


def keep_left_out(context: Context, people: Iterable[str]) -> None:
    """Write down whom the tables that were just written leave out."""
    context.workspace.write_note(_NOTE, {"people": sorted(people)})


def everybody_is_left_out(context: Context) -> bool:
    """Whether this workspace's tables leave out everybody whose erasure was asked for since."""
    asked = erased_people(context).since().keys()
    note = context.workspace.read_note(_NOTE)
    return asked <= set(note["people"] if note else ())


def forget_left_out(context: Context) -> Forgotten:
    """Drop texts and single answers of documents that nobody sent any more; the plan is made already."""
    if not erased_people(context).since():
        return Forgotten()
    held = pl.read_parquet(context.workspace.attachments, columns=["document_md5"])["document_md5"]
    md5s = held.drop_nulls().unique().to_list()
    for folder in context.workspace.redacted.glob("*"):
        forget_texts(folder, set(md5s))
    return Forgotten(
        forget_texts(context.workspace.texts, set(md5s)),
        forget_withdrawn_answers(context.ledger, context.key, md5s),
    )
