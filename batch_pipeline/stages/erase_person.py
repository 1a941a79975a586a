"""One person's erasure on request, at any stage of their migration.

The ledger remembers the id first: whatever is read again from the export comes without them. A shard
that was not sent is made again without them; what is at the provider can no longer be changed, but
its answer is used by nobody and goes with the bucket when the migration ends.
"""

from dataclasses import dataclass

import polars as pl

from batch_pipeline.documents.forgetting import forget_texts
from batch_pipeline.errors import ConfigurationError
from batch_pipeline.ledger import erased_people, jobs, migrations
from batch_pipeline.records.erase_person import erase_person as erase_from_records
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.finish import is_imported
from batch_pipeline.stages.headless import make_files
from batch_pipeline.stages.load import target_of


@dataclass(frozen=True)
class ErasedPerson:
    """Counts of what went; `at_provider` documents are at the provider and go with the bucket."""

    rows: dict[str, int]
    texts: int
    kept_answers: int
    at_provider: int


def erase_person(context: Context, source_id: str) -> ErasedPerson:
    """Remove or blank the person everywhere; safe to repeat.

    Raises:
        ConfigurationError: neither the export nor the database knows this id.
    """
    url = context.settings.database_url.get_secret_value()
    if not is_imported(context):
        _require_known(context, source_id)
    erased_people.erase_person(context.ledger, context.key, source_id)
    texts = answers = 0
    if not is_imported(context) and context.workspace.attachments.exists():
        with context.ledger.exclusive(f"jobs of {context.key}"):
            for job in jobs.jobs(context.ledger, context.key, "intent"):
                if job.sent_at is None:
                    jobs.void(context.ledger, job)
            with context.ledger.exclusive(f"files of {context.key}"):
                make_files(context)
        held = pl.read_parquet(context.workspace.attachments, columns=["document_md5"])["document_md5"]
        texts = forget_texts(context.workspace.texts, set(held.drop_nulls()))
        answers = erased_people.forget_withdrawn_answers(context.ledger, context.key)
    rows = erase_from_records(url, target_of(context), source_id)
    if is_imported(context) and not rows["person"]:
        raise ConfigurationError("SOURCE_ID", source_id, f"no person of migration {context.key} has this id")
    row = context.ledger.sql.execute(
        "select count(*) as n from document d where migration = %s and withdrawn_at is not null "
        "and exists (select from job_document j join job on job.id = j.job where (j.migration, j.record_id) "
        "= (d.migration, d.record_id) and job.state in ('accepted', 'running', 'ended', 'collected'))",
        (context.key,),
    ).fetchone()
    assert row is not None
    migrations.note(context.ledger, context.key, "person erased", {"rows": rows, "texts": texts})
    return ErasedPerson(rows, texts, answers, row["n"])


def _require_known(context: Context, source_id: str) -> None:
    path = context.workspace.table("person")
    if path.exists():
        people = pl.scan_parquet(path).filter(pl.col("source_id") == source_id).select(pl.len()).collect()
        if people.item():
            return
    raise ConfigurationError("SOURCE_ID", source_id, f"no person of migration {context.key} has this id")
