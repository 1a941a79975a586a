"""Settling ended jobs: every line that was paid for is counted, whatever the job's status says.

Only the outcome of each record goes to the ledger here; the answers stay in the bucket until
`parsed_cvs` reads them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from batch_pipeline.answers.classify import PAYMENT_REQUIRED, code_of
from batch_pipeline.answers.envelope import Answer, Corrupt, RecordError, read
from batch_pipeline.answers.lines import Line
from batch_pipeline.answers.messages import without_content
from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.ledger import jobs, migrations, settlement
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.ledger.settlement import JobSettlement, RecordOutcome
from batch_pipeline.providers.contract import NOT_BEGUN, OutputFile, ResultsGone
from batch_pipeline.requests.digests import document_digest
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.job_lines import lines_of

_GONE = "answers the provider does not hold any more"


@dataclass
class Harvest:
    """What the lines of one job came to; `oddities` counts what should not be there."""

    job: str
    status: str
    settlement: JobSettlement
    oddities: Counter[str] = field(default_factory=Counter)


def harvest(context: Context) -> list[Harvest]:
    """Settle every ended job of the migration; hold the migration where going on would waste money."""
    harvests = (_settle(context.of(job), job) for job in jobs.jobs(context.ledger, context.key, "ended"))
    return [one for one in harvests if one is not None]


class _NothingUsable(Exception):
    """A job that was paid gave no line we can use."""

    def __init__(self, about: str, why: str) -> None:
        self.about = about
        super().__init__(why)


def _settle(context: Context, job: Job) -> Harvest | None:
    """Settle one job; None where a person must look at its output first."""
    oddities: Counter[str] = Counter()
    errors: dict[str, RecordOutcome] = {}
    requested = _requested(context, job)
    try:
        with context.ledger.transaction():
            settled = settlement.settle(
                context.ledger,
                job,
                _outcomes(context, job, requested, oddities, errors),
                context.migration.limits.attempts,
                count_attempt=job.provider_status not in NOT_BEGUN,
            )
            if _did_work(job) and (settled.missing == settled.requested or oddities[_GONE]):
                _ask_once(context, job, oddities)
            _hold_if_hopeless(context, job, settled, errors)
            oddities.update(_unlike_the_providers(context, job, settled))
    except _NothingUsable as found:
        migrations.hold_once(context.ledger, context.key, found.about, str(found))
        return None
    if odd := {what: count for what, count in oddities.items() if count}:
        migrations.note(context.ledger, context.key, "oddities in output", {"job": job.name, **odd})
    return Harvest(job.name, job.provider_status or "", settled, oddities)


def _unlike_the_providers(context: Context, job: Job, settled: JobSettlement) -> dict[str, int]:
    """Sums that differ from the provider's own, by how much. A sum it does not give, or gives as zero beside
    lines that say otherwise, is no witness."""
    assert job.provider_id is not None
    try:
        said = context.provider.totals(job.name, job.provider_id)
    except (TransientError, TerminalError):
        return {"sums that could not be read": 1}
    used = context.ledger.sql.execute(
        "select coalesce(sum(input_tokens), 0) as given, coalesce(sum(output_tokens), 0) as taken "
        "from job_document where job = %s",
        (job.id,),
    ).fetchone()
    assert used is not None
    pairs = {
        "answers": (said.succeeded, settled.answered),
        "errors": (said.errored, settled.permanent + settled.retryable),
        "input tokens": (said.input_tokens, int(used["given"])),
        "output tokens": (said.output_tokens, int(used["taken"])),
    }
    return {
        f"{what} the provider counted beyond ours": theirs - ours
        for what, (theirs, ours) in pairs.items()
        if theirs and theirs != ours
    }


def _did_work(job: Job) -> bool:
    """Whether the provider may have worked on the job; one that ran out of time says if it had not."""
    if job.provider_status == "PartiallyCompleted":
        return (job.counts or {}).get("processed") != 0
    return job.provider_status not in NOT_BEGUN


def _ask_once(context: Context, job: Job, oddities: Counter[str]) -> None:
    """Records without a usable line are sent and paid again: where that is all of a job, ask first.

    The job stays as it is, so that its output is read again once the cause is mended; the second time
    its records are owed again.
    """
    odd = "; ".join(f"{count} {what}" for what, count in oddities.items() if count) or "no lines at all"
    part = "some" if oddities[_GONE] else "any"
    why = (
        f"job {job.name} ended as {job.provider_status} and its output holds nothing usable for {part} of its "
        f"{job.records} records ({odd}). It may have been paid. To go on reads its output once more, and what "
        "it still lacks is sent and paid again"
    )
    about = f"output of {job.name}"
    if migrations.was_asked(context.ledger, context.key, about):
        return
    raise _NothingUsable(about, why)


def _requested(context: Context, job: Job) -> dict[str, str]:
    """record id -> digest of what was sent, for one job."""
    rows = context.ledger.sql.execute(
        "select record_id, request_digest from job_document join document using (migration, record_id) "
        "where job = %s",
        (job.id,),
    )
    return {row["record_id"]: row["request_digest"] for row in rows}


def _outcomes(
    context: Context,
    job: Job,
    requested: dict[str, str],
    oddities: Counter[str],
    errors: dict[str, RecordOutcome],
) -> Iterator[RecordOutcome]:
    """One outcome per record that has a usable line: the first answer wins, else the last error.

    `errors` is filled on the way, for who looks at what the refusals have in common.
    """
    answered: set[str] = set()
    assert job.provider_id is not None
    echoed = context.provider.capabilities.echoes_input
    for line in _lines(context, job.name, job.provider_id, oddities, sorted(requested)):
        entry = Corrupt("longer than any answer") if line.cut else read(line.data)
        oddity = _oddity(entry, requested, answered, echoed=echoed)
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
                cached_tokens=entry.cached_tokens,
                cache_written_tokens=entry.cache_written_tokens,
            )
    yield from (error for record_id, error in errors.items() if record_id not in answered)


def _lines(
    context: Context, name: str, provider_id: str, oddities: Counter[str], sent: Sequence[str]
) -> Iterator[Line]:
    """Every output line of a job; what the provider has let go is counted, and the rest is read."""
    files: list[OutputFile] = []
    try:
        files = context.provider.outputs(name, provider_id)
    except ResultsGone:
        oddities[_GONE] += 1
    for file in files:
        try:
            yield from lines_of(context, file, sent)
        except ResultsGone:
            oddities[_GONE] += 1


def _oddity(
    entry: Answer | RecordError | Corrupt, requested: dict[str, str], answered: set[str], *, echoed: bool
) -> str | None:
    """Why a line does not count, or None where it does. An answer must repeat what was asked, where its
    provider repeats it at all."""
    if isinstance(entry, Corrupt):
        return "corrupt lines"
    if entry.record_id not in requested:
        return "unknown record ids"
    if entry.record_id in answered:
        return "duplicate record ids"
    if echoed and isinstance(entry, Answer) and not _echoes(entry, requested[entry.record_id]):
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


def _hold_if_hopeless(
    context: Context, job: Job, settled: JobSettlement, errors: Mapping[str, RecordOutcome]
) -> None:
    """Stop before the next job is paid for when this one shows that it would fail the same way."""
    unpaid = [one for one in errors.values() if one.code == PAYMENT_REQUIRED]
    if unpaid:
        migrations.hold(
            context.ledger,
            context.key,
            f"job {job.name}: {len(unpaid)} of {settled.requested} records were refused because the account's "
            f"credit or budget is used up ({unpaid[0].message}). They are owed again: fill it up, then resume",
        )
    if unpaid or settled.answered:
        return
    if job.provider_status == "Failed":
        migrations.hold(
            context.ledger,
            context.key,
            f"job {job.name} ({settled.requested} records) failed as a whole and cost nothing: "
            f"{without_content(job.message) if job.message else 'the provider gave no reason'}",
        )
    elif settled.permanent == settled.requested:
        kinds = settlement.error_kinds(context.ledger, job)
        said = "; ".join(f"{count} x {code}: {message}" for code, message, count in kinds)
        migrations.hold(
            context.ledger,
            context.key,
            f"job {job.name}: all {settled.requested} records were refused: {said}",
        )
