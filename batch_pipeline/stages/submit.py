"""`bedrock_jobs`: settle what ended, resolve what is in doubt, reserve what is owed, send it.

Every write is in `ledger/`; the order of them is here. A process may die between any two lines:

1. `reserve` writes all intents of the plan before the first call, in one transaction.
2. `mark_sent` is durable before the create call leaves.
3. `accept` is durable before the next shard is touched.

An intent that was marked sent and not accepted is looked up at the provider by name and token. Found:
adopted. Not found: sent again with the same token, which the provider answers with the first job if
there is one after all. A provider that honours no token is first given the time to show its job; one
that can tell only from a job's answers is asked again until that job has ended, and nothing is sent meanwhile.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import polars as pl

from batch_pipeline.errors import (
    LedgerConflict,
    NeedsPerson,
    QuotaReached,
    TerminalError,
    TransientError,
    WayOut,
)
from batch_pipeline.ledger import documents, jobs, migrations
from batch_pipeline.ledger.jobs import Job, Reservation
from batch_pipeline.providers.contract import JobRequest, LostAnswer, NotYetKnown
from batch_pipeline.providers.job_names import job_name
from batch_pipeline.requests.shard_body import ShardBody
from batch_pipeline.requests.shards import plan
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.harvest import Harvest, harvest
from batch_pipeline.stages.job_lines import sent_in
from batch_pipeline.stages.later_requests import have_requests
from batch_pipeline.stages.plan_basis import plan_is_current

# A full quota is looked at again after this long, or as soon as a job of the account ends.
_QUOTA_PAUSE_SECONDS = 60.0
# A job that ended because the provider has no room for it goes again after this long.
_ROOM_PAUSE_SECONDS = 600.0
# Jobs older than any that can still be running (168 hours) need not be looked for.
_FORGOTTEN_WITHIN = timedelta(hours=168)


@dataclass
class Submission:
    """What one run of the stage did."""

    harvested: list[Harvest] = field(default_factory=list)
    adopted: int = 0
    reserved: int = 0
    accepted: int = 0
    waiting: int = 0
    moved_to_on_demand: int = 0
    doubtful: set[int] = field(default_factory=set)  # ids of intents nothing can be done about now
    full: set[int] = field(default_factory=set)  # ids of intents there is no room for


def submit(context: Context) -> Submission:
    """Bring the migration's jobs as far as they can go now; safe to repeat and to run twice at once.

    Raises:
        TransientError: the provider could not be asked; nothing is in doubt, run again.
        TerminalError: the provider refused a job for good: its upload is removed, its records are
            owed again and the migration is held.
        LostAnswer: an answer got lost and the provider could not be asked about it; run again.
    """
    done = Submission()
    with context.ledger.exclusive(f"jobs of {context.key}"):
        done.harvested = harvest(context)
        if done.harvested and not plan_is_current(context):
            # what comes back from there may be owed in other words: the plan is made again first
            migrations.progressed(context.ledger, context.key)
            return done
        _resolve_doubts(context, done)
        for here in context.tiers:
            if not _may_send(context):
                return done
            _give_up_outdated(here, done)
            _reserve_owed(here, done)
            _send(here, done)
    if done.harvested or done.accepted or done.adopted or done.moved_to_on_demand:
        migrations.progressed(context.ledger, context.key)
    return done


def _may_send(context: Context) -> bool:
    standing = migrations.standing(context.ledger, context.key)
    return standing.hold is None and standing.state == "open"


def _resolve_doubts(context: Context, done: Submission) -> None:
    for job in jobs.jobs(context.ledger, context.key, "intent"):
        if job.sent_at is not None:
            done.adopted += _adopt_or_wait(context.of(job), job, done)


def _adopt_or_wait(context: Context, job: Job, done: Submission) -> bool:
    """Adopt where the provider can say; an intent it cannot speak of yet is left alone for a while."""
    try:
        return _adopt(context, job)
    except NotYetKnown:
        _leave_in_doubt(context, job, _QUOTA_PAUSE_SECONDS, done)
        return False


def _leave_in_doubt(context: Context, job: Job, seconds: float, done: Submission) -> None:
    jobs.delay(context.ledger, job, seconds)
    done.doubtful.add(job.id)
    done.waiting = len(done.doubtful)


def _adopt(context: Context, job: Job, *, just_sent: bool = False) -> bool:
    """Take over the job that this very request started, if the provider knows one.

    Asked before every create call: a ledger put back from a backup may have forgotten that it sent it.
    """
    since = job.sent_at or job.reserved_at - _FORGOTTEN_WITHIN
    found = context.provider.find(job.request, since, jobs.ids_of_others(context.ledger, job))
    if found is None:
        return False
    if job.sent_at is None and not just_sent:
        _ask_about_a_job_of_another_ledger(context, job)
    jobs.mark_sent(context.ledger, job)
    jobs.accept(context.ledger, job, found.provider_id, adopted=True)
    return True


def _ask_about_a_job_of_another_ledger(context: Context, job: Job) -> None:
    """The provider knows a job that this ledger never sent: taking it over ends in erasing its answers.

    Raises:
        NeedsPerson: nobody has said yet that this ledger is the right one.
    """
    why = (
        f"the provider has job {job.name} of {job.records} records, which this ledger never sent. Either the ledger "
        "was put back from a backup, or DATABASE_URL names another database than before"
    )
    if migrations.hold_once(context.ledger, context.key, f"sent by another ledger: {job.name}", why):
        raise NeedsPerson(
            f"migration {context.key}: {why}",
            (
                WayOut("take the job over", "nothing is paid again", f"batch-pipeline resume {context.key}"),
                WayOut(
                    "go on with the ledger that sent it",
                    "nothing is paid again",
                    "export DATABASE_URL=<where it was>",
                ),
            ),
        )


def _give_up_outdated(context: Context, done: Submission) -> None:
    """Intents of another model than the file names now: their bodies would not fit. Their records are owed
    again, unless the job turns out to exist."""
    now = (context.migration.provider.model, context.invocation_type)
    for job in jobs.jobs(context.ledger, context.key, "intent"):
        if job.tier != context.tier:
            continue
        if (job.model, job.invocation_type) == now or job.id in done.doubtful:
            continue
        if _adopt_or_wait(context, job, done):
            done.adopted += 1
            continue
        if job.id in done.doubtful:
            continue
        _require_time_to_be_found(context, job)
        jobs.void(context.ledger, job)


def request_lines(context: Context, record_ids: Sequence[str]) -> pl.DataFrame:
    """Where the requests of these records lie in the workspace, in record-id order.

    Raises:
        LedgerConflict: the workspace lacks some of them.
    """
    path = context.workspace.request_lines
    if not path.exists():
        raise LedgerConflict(
            f"migration {context.key}: its requests are not in this workspace; materialise jsonl_shards first"
        )
    lines = (
        pl.scan_parquet(path)
        .join(
            pl.LazyFrame({"record_id": record_ids}, schema={"record_id": pl.String}),
            on="record_id",
            how="semi",
        )
        .collect()
        .sort("record_id")
    )
    if lines.height != len(record_ids):
        raise LedgerConflict(
            f"migration {context.key}: {len(record_ids) - lines.height} of {len(record_ids)} owed requests are "
            "not in this workspace; materialise raw_cvs, deduped_cvs and jsonl_shards again"
        )
    return lines


def shard_digest(lines: pl.DataFrame) -> str:
    """SHA-256 over what the shard asks: record ids and request digests, in order."""
    running = hashlib.sha256()
    for record_id, digest in lines.select("record_id", "request_digest").iter_rows():
        running.update(f"{record_id} {digest}\n".encode())
    return running.hexdigest()


def _reserve_owed(context: Context, done: Submission) -> None:
    owed = documents.owed(context.ledger, context.key, "batch", context.tier)
    if not owed:
        return
    have_requests(context)
    lines = request_lines(context, [record_id for record_id, _ in owed])
    if lines["request_digest"].to_list() != [digest for _, digest in owed]:
        raise LedgerConflict(
            f"migration {context.key}: requests in this workspace differ from those the ledger planned; "
            "materialise jsonl_shards again"
        )
    planned = plan(lines["length"].to_list(), context.limits)
    for part in planned.on_demand:
        left = lines[part.start : part.stop]["record_id"].to_list()
        done.moved_to_on_demand += documents.move_to_on_demand(context.ledger, context.key, left)
    tried = documents.tried_before(context.ledger, context.key, "batch")
    full = jobs.found_no_room(context.ledger, context.key, context.tier, _ROOM_PAUSE_SECONDS)
    least = _ROOM_PAUSE_SECONDS if full else 0.0
    reservations = [
        _reservation(context, lines[part.start : part.stop], tried, least) for part in planned.shards
    ]
    jobs.reserve(context.ledger, context.key, reservations)
    done.reserved += len(reservations)


def _reservation(
    context: Context, lines: pl.DataFrame, tried: Mapping[str, int], least_pause: float
) -> Reservation:
    digest = shard_digest(lines)
    record_ids = lines["record_id"].to_list()
    attempt = jobs.next_attempt(context.ledger, context.key, digest)
    name = job_name(context.key, digest, attempt)
    provider = context.provider
    settings = context.migration.provider
    return Reservation(
        shard_digest=digest,
        attempt=attempt,
        account=provider.account,
        request=JobRequest(
            name=name,
            token=job_token(context, name, digest, attempt),
            model=settings.model,
            invocation_type=context.invocation_type,
            input_uri=provider.input_uri(name),
            output_uri=provider.output_uri(name),
            timeout_hours=settings.timeout_hours,
            records=lines.height,
        ),
        bytes=int(lines["length"].sum()),
        record_ids=record_ids,
        pause_seconds=max(
            least_pause,
            context.migration.limits.pause_seconds(max(tried.get(one, 0) for one in record_ids)),
        ),
        tier=context.tier,
    )


def job_token(context: Context, name: str, digest: str, attempt: int) -> str:
    """Idempotency token: a hash of everything that changes the job, 64 hex digits."""
    settings = context.migration.provider
    provider = context.provider
    parts = (
        context.key,
        name,
        provider.account,
        settings.model,
        context.invocation_type,
        provider.input_uri(name),
        provider.output_uri(name),
        *provider.fingerprint,
        digest,
        str(settings.timeout_hours),
        str(attempt),
    )
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def _send(context: Context, done: Submission) -> None:
    intents = [job for job in jobs.due(context.ledger, context.key) if job.tier == context.tier]
    if intents:
        have_requests(context)
    for number, job in enumerate(intents):
        context.progress("jobs sent", number, len(intents))
        if number and not _may_send(context):
            return  # paused, cancelled or held meanwhile
        if job.id in done.doubtful:
            continue
        most = context.limits.max_jobs_in_flight
        if jobs.room(context.ledger, context.key, job.account, job.model, most) <= 0:
            _wait(context, intents[number:], done)
            return
        if _adopt_or_wait(context, job, done):
            done.adopted += 1
            continue
        if job.id in done.doubtful or _must_be_looked_for_again(context, job, done):
            continue
        try:
            _send_one(context, job)
        except QuotaReached:
            _wait(context, intents[number:], done)
            return
        done.accepted += 1
    context.progress("jobs sent", len(intents), len(intents))


def _must_be_looked_for_again(context: Context, job: Job, done: Submission) -> bool:
    """Sent once, not found, and its provider would start a second job: it has its time to show the first."""
    if context.provider.capabilities.resend == "token":
        return False
    left = _time_to_be_found(context, job)
    if left is None:
        return False
    _leave_in_doubt(context, job, left.total_seconds() + 1, done)
    return True


def _wait(context: Context, intents: Sequence[Job], done: Submission) -> None:
    for job in intents:
        jobs.delay(context.ledger, job, _QUOTA_PAUSE_SECONDS)
    done.full |= {job.id for job in intents}
    done.waiting = len(done.doubtful | done.full)


def _send_one(context: Context, job: Job) -> None:
    lines = request_lines(context, sent_in(context, job))
    if shard_digest(lines) != job.shard_digest:
        _require_time_to_be_found(context, job)
        jobs.void(context.ledger, job)
        raise LedgerConflict(
            f"job {job.name}: the requests in this workspace are not those it was reserved for; it was never "
            "accepted and is given up, its records are owed again: run again"
        )
    with ShardBody(context.workspace.requests, lines["offset"].to_list(), lines["length"].to_list()) as body:
        context.provider.upload(job.name, body, body.size)  # type: ignore[arg-type]
    jobs.mark_sent(context.ledger, job)
    try:
        provider_id = context.provider.create(job.request)
    except LostAnswer:
        if not _adopt(context, job, just_sent=True):
            raise
    except TerminalError as error:
        if _adopt(context, job, just_sent=True):
            return
        _require_time_to_be_found(context, job)
        with context.ledger.transaction():
            jobs.void(context.ledger, job)
            migrations.hold(context.ledger, context.key, str(error))
        context.provider.discard(job.name)
        raise
    else:
        _check_not_another_jobs(context, job, provider_id)
        jobs.accept(context.ledger, job, provider_id)


def _time_to_be_found(context: Context, job: Job) -> timedelta | None:
    """How long the provider still has to show the job of an intent that left before; None: long enough."""
    if job.sent_at is None:
        return None
    left = job.sent_at + context.provider.capabilities.shown_within - datetime.now(UTC)
    return left if left > timedelta() else None


def _require_time_to_be_found(context: Context, job: Job) -> None:
    """An intent that left once before is given up only when the provider had time to show its job.

    Raises:
        TransientError: not yet; run again later.
    """
    if _time_to_be_found(context, job) is not None:
        minutes = context.provider.capabilities.shown_within.seconds // 60
        raise TransientError(
            f"job {job.name} left {job.sent_at:%H:%M:%S} UTC without an answer and the provider does not show it "
            f"yet; whether it exists is certain {minutes} minutes after that: run again then"
        )


def _check_not_another_jobs(context: Context, job: Job, provider_id: str) -> None:
    """A token answers with its first job: that must not be one this ledger holds under another name."""
    row = context.ledger.sql.execute(
        "select name from job where provider_id = %s and id <> %s", (provider_id, job.id)
    ).fetchone()
    if row is not None:
        raise LedgerConflict(
            f"job {job.name}: the provider answered with the job of {row['name']}; nothing new was started"
        )
