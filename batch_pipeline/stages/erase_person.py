"""One person's erasure on request, at any stage of their migration.

The ledger remembers the id first, and for good: whatever is read from then on, by this migration or a later
one of the same tenant and source system, comes without them. A shard that was not sent is made again without
them; what is at the provider can no longer be changed, but its answer is used by nobody and goes with the
bucket when the migration ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.ledger import jobs, migrations
from batch_pipeline.records.erase_person import erase_person as erase_from_records
from batch_pipeline.records.erase_person import holds_person
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.finish import is_imported
from batch_pipeline.stages.headless import make_files
from batch_pipeline.stages.left_out import Forgotten, erased_people
from batch_pipeline.stages.load import target_of


@dataclass(frozen=True)
class ErasedPerson:
    """Counts of what went; `at_provider` documents are at the provider and go with the bucket.

    `known` is false where nothing that was read is here to look in: the id is remembered.
    """

    known: bool
    rows: Mapping[str, int]
    forgotten: Forgotten
    at_provider: int


def erase_person(context: Context, source_id: str) -> ErasedPerson:
    """Remove or blank the person everywhere; safe to repeat.

    Raises:
        ConfigurationError: what was read does not hold this id, nor does the database: nothing is remembered.
    """
    people = erased_people(context)
    new = people.remember(source_id)
    with context.ledger.exclusive(f"files of {context.key}"):  # neither read nor imported meanwhile
        known = _is_known(context, source_id)
        if known is False:
            if new:
                people.forget(source_id)
            kept = "nothing is remembered" if new else "that it was asked for before stays remembered"
            raise ConfigurationError(
                "SOURCE_ID", source_id, f"no person of migration {context.key} has this id; {kept}"
            )
        rows = _from_records(context, source_id)
        forgotten = Forgotten() if is_imported(context) else _from_files(context)
    found = ErasedPerson(known is True, rows, forgotten, _at_provider(context))
    migrations.note(context.ledger, context.key, "person erased", {"rows": rows, "texts": forgotten.texts})
    return found


def _is_known(context: Context, source_id: str) -> bool | None:
    """Whether the database or the tables of this workspace hold the id; None where there is nothing to look in."""
    url = context.settings.database_url.get_secret_value()
    if holds_person(url, target_of(context), source_id):
        return True
    if is_imported(context):
        # its rows were the tables; once rolled back nobody can say any more who was in them
        return None if migrations.rolled_back_at(context.ledger, context.key) else False
    path = context.workspace.table("person")
    if not path.exists():
        return None
    people = pl.scan_parquet(path).filter(pl.col("source_id") == source_id).select(pl.len()).collect()
    return bool(people.item())


def _from_records(context: Context, source_id: str) -> dict[str, int]:
    url = context.settings.database_url.get_secret_value()
    return erase_from_records(url, target_of(context), source_id)


def _from_files(context: Context) -> Forgotten:
    """Before the import: what was not sent is made again; where the files are not here, when they are."""
    with context.ledger.exclusive(f"jobs of {context.key}"):
        for job in jobs.jobs(context.ledger, context.key, "intent"):
            if job.sent_at is None:
                jobs.void(context.ledger, job)
        return make_files(context) if context.workspace.attachments.exists() else Forgotten()


def _at_provider(context: Context) -> int:
    row = context.ledger.sql.execute(
        "select count(*) as n from document d where migration = %s and withdrawn_at is not null "
        "and exists (select from job_document j join job on job.id = j.job where (j.migration, j.record_id) "
        "= (d.migration, d.record_id) and job.state in ('accepted', 'running', 'ended', 'collected'))",
        (context.key,),
    ).fetchone()
    assert row is not None
    return int(row["n"])
