"""The lines of one output file of a job, each with the record it is about."""

from collections.abc import Iterator, Sequence

from batch_pipeline.answers.lines import Line, iter_lines
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.providers.contract import OutputFile
from batch_pipeline.providers.record_places import with_record
from batch_pipeline.stages.context import Context


def lines_of(context: Context, file: OutputFile, sent: Sequence[str]) -> Iterator[Line]:
    """A line that names only its place is about the record sent at that place: see `sent_in`."""
    with context.provider.open(file) as stream:
        for line in iter_lines(stream):
            yield line._replace(data=with_record(line.data, sent))


def sent_in(context: Context, job: Job) -> list[str]:
    """The records of a job in the order of its shard, which is that of their ids."""
    rows = context.ledger.sql.execute("select record_id from job_document where job = %s", (job.id,))
    return sorted(row["record_id"] for row in rows)
