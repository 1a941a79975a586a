"""Settling ended jobs: every line that was paid for is counted, whatever the job's status says.

Only the outcome of each record goes to the ledger here; the answers stay in the bucket until
`parsed_cvs` reads them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from batch_pipeline.answers.classify import is_permanent
from batch_pipeline.answers.envelope import Answer, Corrupt, RecordError, read_line
from batch_pipeline.answers.lines import iterate_lines
from batch_pipeline.ledger import jobs, migrations, settlement
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.ledger.settlement import JobSettlement, RecordOutcome
from batch_pipeline.requests.digests import document_digest
from batch_pipeline.requests.families import family_of
from batch_pipeline.stages.context import Context

# Statuses under which a record without a line was never begun: its attempt is not counted.
_NOT_BEGUN = frozenset({"Expired", "Stopped", "Failed"})


@dataclass
class Harvest:
    """What the lines of one job came to; `oddities` counts what should not be there."""

    job: str
    status: str
    settlement: JobSettlement
    oddities: Counter[str] = field(default_factory=Counter)


def harvest(context: Context) -> list[Harvest]:
    """Settle every ended job of the migration; hold the migration where going on would waste money."""
    return [_settle(context, job) for job in jobs.jobs(context.ledger, context.key, "ended")]


def _settle(context: Context, job: Job) -> Harvest:
    oddities: Counter[str] = Counter()
    requested = _requested(context, job)
    with context.ledger.transaction():
        settled = settlement.settle(
            context.ledger,
            job,
            _outcomes(context, job, requested, oddities),
            context.migration.limits.attempts,
            count_attempt=job.provider_status not in _NOT_BEGUN,
        )
        _hold_if_hopeless(context, job, settled)
    if oddities:
        migrations.note(
            context.ledger, context.key, "oddities in output", {"job": job.name, **dict(oddities)}
        )
    return Harvest(job.name, job.provider_status or "", settled, oddities)


def _requested(context: Context, job: Job) -> dict[str, str]:
    """record id -> digest of what was sent, for one job."""
    rows = context.ledger.sql.execute(
        "select record_id, request_digest from job_document join document using (migration, record_id) "
        "where job = %s",
        (job.id,),
    )
    return {row["record_id"]: row["request_digest"] for row in rows}


def _outcomes(
    context: Context, job: Job, requested: dict[str, str], oddities: Counter[str]
) -> Iterator[RecordOutcome]:
    """One outcome per record that has a usable line: the first answer wins, else the last error."""
    family = family_of(job.model)
    errors: dict[str, RecordOutcome] = {}
    answered: set[str] = set()
    assert job.provider_id is not None
    for file in context.provider.outputs(job.name, job.provider_id):
        with context.provider.open(file) as stream:
            for line in iterate_lines(stream):
                entry = read_line(line.data, family)
                if isinstance(entry, Corrupt):
                    oddities["corrupt lines"] += 1
                    continue
                if entry.record_id not in requested:
                    oddities["unknown record ids"] += 1
                    continue
                if entry.record_id in answered:
                    oddities["duplicate record ids"] += 1
                    continue
                if not _echo_matches(entry, requested[entry.record_id]):
                    oddities["echoed input differs"] += 1
                    continue
                if isinstance(entry, RecordError):
                    errors[entry.record_id] = RecordOutcome(
                        entry.record_id,
                        "permanent" if is_permanent(entry) else "retryable",
                        entry.code,
                        entry.message,
                    )
                    continue
                answered.add(entry.record_id)
                yield RecordOutcome(
                    entry.record_id,
                    "answered",
                    input_tokens=entry.input_tokens,
                    output_tokens=entry.output_tokens,
                )
    yield from (error for record_id, error in errors.items() if record_id not in answered)


def _echo_matches(entry: Answer | RecordError, digest: str) -> bool:
    """An error record may come without its input; an answer must repeat what was asked."""
    if entry.model_input is None:
        return isinstance(entry, RecordError)
    return document_digest(bytes(entry.model_input)) == digest


def _hold_if_hopeless(context: Context, job: Job, settled: JobSettlement) -> None:
    """Stop before the next job is paid for when this one shows that it would fail the same way."""
    if settled.answered:
        return
    if job.provider_status == "Failed":
        migrations.hold(
            context.ledger,
            context.key,
            f"job {job.name} ({settled.requested} records) failed as a whole and cost nothing: "
            f"{job.message or 'the provider gave no reason'}",
        )
    elif settled.permanent == settled.requested:
        kinds = settlement.error_kinds(context.ledger, job)
        said = "; ".join(f"{count} x {code}: {message}" for code, message, count in kinds)
        migrations.hold(
            context.ledger,
            context.key,
            f"job {job.name}: all {settled.requested} records were refused: {said}",
        )
