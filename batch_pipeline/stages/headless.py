"""One migration from its file to its end, without Dagster: the loop behind `batch-pipeline run`."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from batch_pipeline.errors import NeedsPerson, PreflightError, TerminalError, TransientError, WayOut
from batch_pipeline.ledger import jobs, migrations
from batch_pipeline.ledger.states import Step
from batch_pipeline.providers.contract import Check, LostAnswer
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.dedup import dedup
from batch_pipeline.stages.finish import finish
from batch_pipeline.stages.left_out import Forgotten, forget_left_out
from batch_pipeline.stages.on_demand import answer_on_demand
from batch_pipeline.stages.plan_basis import plan_is_current
from batch_pipeline.stages.poll import poll
from batch_pipeline.stages.raw import read_raw
from batch_pipeline.stages.shards import plan_shards
from batch_pipeline.stages.submit import submit

_MOST_TROUBLES = 10


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `done`, or the step it stopped before."""

    step: Step


def checks(context: Context) -> list[Check]:
    """Everything a paid call of this migration needs; all models first, for an unknown one is told by its id.

    Raises:
        ConfigurationError: a model, the bucket or the role is none that can be used.
    """
    models = [(here, here.batch_requests.model, here.on_demand_requests.model) for here in context.tiers]
    found = []
    for here, batch, single in models:
        at_this = here.provider.preflight(batch, here.limits.model_dump())
        if here.on_demand_provider is not here.provider:
            at_this += here.on_demand_provider.preflight(single, None)
        found += (
            [replace(check, subject=f"cascade {here.tier}, {check.subject}") for check in at_this]
            if here.tier
            else at_this
        )
    return found


def preflight(context: Context) -> None:
    """Refuse before anything is uploaded or paid.

    Raises:
        PreflightError: names every check that failed and what to do.
    """
    failed = [check for check in checks(context) if not check.passed]
    if failed:
        raise PreflightError(
            f"migration {context.key}: nothing was sent, for\n"
            + "\n".join(f"  {check.subject}: {check.detail}" for check in failed)
        )


def prepare(context: Context) -> None:
    """Read, dedup and plan; nothing leaves this machine."""
    with context.ledger.exclusive(f"files of {context.key}"):
        standing = migrations.standing(context.ledger, context.key)
        if standing.state in {"imported", "erased"}:
            return  # another process took it to its end meanwhile: nothing may be written again
        if standing.planned and plan_is_current(context):
            return
        make_files(context)


def make_files(context: Context) -> Forgotten:
    """Read the export, fold it and plan, anew; the caller holds the lock on the migration's files.

    Returns:
        What went because the people it was of are erased by now.
    """
    read_raw(context)
    dedup(context)
    plan_shards(context)
    return forget_left_out(context)


def run(context: Context, sleep: Callable[[float], None] = time.sleep) -> Outcome:
    """Take every step the ledger asks for until the migration is done.

    Raises:
        NeedsPerson: the migration is held or a doubt cannot be resolved.
        BatchPipelineError: what stopped it; running again goes on from there.
    """
    preflight_done = False
    troubles = 0
    while True:
        step = migrations.standing(context.ledger, context.key).next_step()
        try:
            if step in {"submit", "answer"} and not preflight_done:
                preflight(context)
                preflight_done = True
            if step == "done":
                _require_rows(context)
            if step in {"done", "paused"}:
                return Outcome(step)
            take(context, step, sleep)
            troubles = 0
        except TerminalError as error:
            if migrations.standing(context.ledger, context.key).hold is None:
                raise
            raise held(context) from error
        except (TransientError, LostAnswer):
            troubles += 1
            if troubles >= _MOST_TROUBLES:
                raise
            sleep(min(60.0, context.settings.poll_seconds * 2**troubles / 2))


def take(context: Context, step: Step, sleep: Callable[[float], None]) -> None:
    """One step."""
    match step:
        case "prepare":
            prepare(context)
        case "submit":
            have_files(context)
            submit(context)
        case "wait":
            _wait(context, sleep)
        case "answer":
            if not context.migration.on_demand.may_run(datetime.now(UTC)):
                context.progress("waiting for the hours of on-demand calls", 0, None)
                sleep(context.settings.poll_seconds)
                return
            have_files(context)
            answer_on_demand(context)
        case "finish":
            have_files(context)
            finish(context)
        case "held":
            raise held(context)
        case "done" | "paused":
            pass


def _require_rows(context: Context) -> None:
    """Done means that the rows are there.

    Raises:
        TerminalError: they were taken out again, and the answers they came from are erased.
    """
    at = migrations.rolled_back_at(context.ledger, context.key)
    if at is not None:
        raise TerminalError(
            f"migration {context.key} was rolled back at {at:%Y-%m-%d %H:%M} UTC: none of its rows are in the "
            "database, and its answers are erased. A migration file of another name reads and pays again"
        )


def held(context: Context) -> NeedsPerson:
    """Why nothing more is sent, and the ways on."""
    why = migrations.standing(context.ledger, context.key).hold or ""
    return NeedsPerson(
        f"migration {context.key} is held: {why}",
        (
            WayOut(
                "go on with what is owed, after mending the cause",
                "what is owed is sent",
                f"batch-pipeline resume {context.key}",
            ),
            WayOut(
                "also send again what failed",
                "failed records are paid again where the provider charges for them",
                f"batch-pipeline resume {context.key} --retry-failed",
            ),
        ),
    )


def have_files(context: Context) -> None:
    """Another machine, a lost disk, a changed file: everything is made again from the export."""
    imported = migrations.standing(context.ledger, context.key).state in {"imported", "erased"}
    if not imported and not plan_is_current(context):
        prepare(context)


def _wait(context: Context, sleep: Callable[[float], None]) -> None:
    # settings that cannot work are no passing trouble of a poll
    providers = {here.provider.account: here.provider for here in reversed(context.tiers)}
    open_jobs = jobs.jobs(context.ledger, context.key, "accepted", "running")
    # what waits for room waits for jobs of other migrations too, and nobody else may be asking
    asked = open_jobs or [
        job
        for here in context.tiers
        for job in jobs.open_jobs_like(context.ledger, here.provider.account, here.migration.provider.model)
    ]
    found = poll(context.ledger, asked, lambda job: providers[job.account])
    if found.troubles and not found.asked:
        raise TransientError(found.troubles[0])
    total = sum(job.records for job in open_jobs)
    done = sum(
        int((job.counts or {}).get("processed", 0))
        for job in jobs.jobs(context.ledger, context.key, "running")
    )
    context.progress(f"waiting for {len(open_jobs)} jobs: records processed", done, total)
    if not found.ended:
        sleep(context.settings.poll_seconds)
