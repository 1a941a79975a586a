"""Settling ended jobs: every line that was paid for is counted, whatever the job's status says.

Only the outcome of each record goes to the ledger here; the answers stay in the bucket until
`parsed_cvs` reads them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from batch_pipeline.answers.classify import code_of
from batch_pipeline.answers.envelope import Answer, Corrupt, RecordError, read
from batch_pipeline.answers.lines import iter_lines
from batch_pipeline.answers.messages import without_content
from batch_pipeline.ledger import jobs, migrations, settlement
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.ledger.settlement import JobSettlement, RecordOutcome
from batch_pipeline.requests.digests import document_digest
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
    errors: dict[str, RecordOutcome] = {}
    answered: set[str] = set()
    assert job.provider_id is not None
    for file in context.provider.outputs(job.name, job.provider_id):
        with context.provider.open(file) as stream:
            for line in iter_lines(stream):
                entry = Corrupt("longer than any answer") if line.cut else read(line.data)
                oddity = _oddity(entry, requested, answered)
                if oddity is not None:
                    oddities[oddity] += 1
                elif isinstance(entry, RecordError):
                    errors[entry.record_id] = _refusal(entry)
                elif isinstance(entry, Answer):
                    answered.add(entry.record_id)
                    yield RecordOutcome(
                        entry.record_id,
                        "answered",
                        input_tokens=entry.input_tokens,
                        output_tokens=entry.output_tokens,
                    )
    yield from (error for record_id, error in errors.items() if record_id not in answered)


def _oddity(
    entry: Answer | RecordError | Corrupt, requested: dict[str, str], answered: set[str]
) -> str | None:
    """Why a line does not count, or None where it does. An answer must repeat what was asked."""
    if isinstance(entry, Corrupt):
        return "corrupt lines"
    if entry.record_id not in requested:
        return "unknown record ids"
    if entry.record_id in answered:
        return "duplicate record ids"
    if isinstance(entry, Answer) and not _echoes(entry, requested[entry.record_id]):
        return "echoed input differs"
    return None


def _echoes(answer: Answer, digest: str) -> bool:
    try:
        return document_digest(answer.model_input) == digest
    except ValueError:
        return False


def _refusal(error: RecordError) -> RecordOutcome:
    return RecordOutcome(
        error.record_id,
        "retryable" if error.retryable else "permanent",
        code_of(error.code),
        without_content(error.message),
    )


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
