"""Two sensors: one turns migration files into partitions, one follows the provider's jobs.

Both are level-triggered: a tick looks at files and ledger as they are and writes only what changed,
so a tick that is lost, repeated or cut off does no harm.
"""

import functools
import os
from collections.abc import Callable
from datetime import UTC, datetime

import dagster as dg

from batch_pipeline.errors import BatchPipelineError, ConfigurationError
from batch_pipeline.ledger import jobs, migrations
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.ledger.states import Step
from batch_pipeline.migration import Catalogue
from batch_pipeline.orchestration.jobs import JOBS
from batch_pipeline.orchestration.launching import runs_needed
from batch_pipeline.orchestration.partitions import MIGRATIONS, NAME
from batch_pipeline.orchestration.resources import MigrationsResource
from batch_pipeline.providers.contract import BatchProvider
from batch_pipeline.providers.registry import Setup, open_provider
from batch_pipeline.stages.poll import Poll, poll

# Read where the code location loads: Dagster wants the interval as a number in the definition.
INTERVAL_SECONDS = max(1, round(float(os.environ.get("BATCH_PIPELINE_POLL_SECONDS") or 60)))
# Where events come, they are looked at more often than the provider is asked without one.
POLLER_INTERVAL_SECONDS = (
    min(10, INTERVAL_SECONDS) if os.environ.get("BATCH_PIPELINE_EVENTS_QUEUE") else INTERVAL_SECONDS
)
# A tick is cut off after 60 s by Dagster; what it did by then stays done, what it asked for is lost.
_TICK_SECONDS = 20.0


@dg.sensor(
    name="migration_discovery",
    jobs=JOBS,
    minimum_interval_seconds=INTERVAL_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Turns new migration files into partitions, and starts those that may start at once.",
)
def migration_discovery(
    context: dg.SensorEvaluationContext, migration: MigrationsResource
) -> dg.SensorResult:
    """A broken file is named in the tick and keeps no other migration from starting."""
    catalogue = migration.catalogue()
    known = set(context.instance.get_dynamic_partitions(NAME))
    added, at_once, broken = [], [], []
    with migration.ledger() as ledger:
        for key in catalogue.migration_keys():
            try:
                file = catalogue.load(key)
                migrations.record(ledger, key, file.tenant, file.digest)
            except BatchPipelineError as error:
                broken.append(str(error))
                continue
            if key not in known:
                added.append(key)
            if file.start.when == "at_once":
                at_once.append(key)
        requests = runs_needed(
            context.instance, ledger, at_once, lambda _, step: step == "prepare", _pause(migration)
        )
    broken += [
        f"{name}: rename it to a key of lower-case letters, digits and dashes"
        for name in catalogue.misnamed()
    ]
    said = [f"{len(known | set(added))} migrations"]
    said += [f"added {', '.join(added)}"] if added else []
    said += [f"broken: {text}" for text in broken]
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[MIGRATIONS.build_add_request(added)] if added else [],
        skip_reason=None if requests else "; ".join(said),
    )


@dg.sensor(
    name="job_poller",
    jobs=JOBS,
    minimum_interval_seconds=POLLER_INTERVAL_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks the provider about open jobs and starts the run each migration needs next.",
)
def job_poller(context: dg.SensorEvaluationContext, migration: MigrationsResource) -> dg.SensorResult:
    """One list call a page for all jobs; then a run for every migration that can go on."""
    with migration.ledger() as ledger:
        due, trouble = _due(migration, ledger)
        before = {job.id: job for job in due}
        found = poll(ledger, due, _Providers(migration), _TICK_SECONDS)
        found.troubles += trouble
        partitions = set(context.instance.get_dynamic_partitions(NAME))
        started = [key for key in migrations.keys(ledger) if key in partitions]
        wanted = _goes_on(ledger, migration.catalogue())
        requests = runs_needed(context.instance, ledger, started, wanted, _pause(migration))
        events = _observations(ledger, before)
    return dg.SensorResult(
        run_requests=requests,
        asset_events=events,
        skip_reason=None if requests else _summary(len(before), found),
    )


def _due(migration: MigrationsResource, ledger: LedgerConnection) -> tuple[list[Job], list[str]]:
    """The jobs to ask about in this tick, and why events could not be read, if so.

    Without events that is every open job. With them ticks come more often, and a job is asked about
    when an event names it or its turn has come: no event is ever needed.
    """
    settings = migration.settings()
    if settings.events_queue is None:
        return jobs.open_jobs(ledger), []
    # boto3 is not needed to load definitions
    from batch_pipeline.providers.job_events import named_jobs  # noqa: PLC0415

    named: set[str] = set()
    trouble = []
    try:
        named = named_jobs(settings.events_queue)
    except BatchPipelineError as error:
        trouble.append(str(error))
    return jobs.due_jobs(ledger, settings.poll_seconds, named), trouble


def _pause(migration: MigrationsResource) -> float:
    return migration.settings().poll_seconds


def _goes_on(ledger: LedgerConnection, catalogue: Catalogue) -> Callable[[str, Step], bool]:
    """A migration is begun by its file's `start`; once begun, it is brought to its end, and its
    on-demand calls are made in the hours its file gives."""
    now = datetime.now(UTC)

    def wanted(key: str, step: Step) -> bool:
        if step == "answer":
            try:
                return catalogue.load(key).on_demand.may_run(now)
            except ConfigurationError:
                # the discovery sensor's tick says what is wrong with the file
                return False
        return step != "prepare" or migrations.was_launched(ledger, key)

    return wanted


class _Providers:
    """The provider of each job's migration and model, made once a tick; clients are made once for all of them."""

    def __init__(self, migration: MigrationsResource) -> None:
        self._settings = migration.settings()
        self._catalogue = migration.catalogue()
        self._aws = functools.cache(migration.aws)
        self._made: dict[tuple[str, int], BatchProvider] = {}

    def __call__(self, job: Job) -> BatchProvider:
        which = (job.migration, job.tier)
        if which not in self._made:
            section = self._catalogue.load(job.migration).at_tier(job.tier).provider
            self._made[which] = open_provider(Setup(section, self._settings, job.migration, self._aws))
        return self._made[which]


def _observations(ledger: LedgerConnection, before: dict[int, Job]) -> list[dg.AssetObservation]:
    """One event per migration whose jobs changed: what a person sees on the asset's page."""
    changed: dict[str, list[Job]] = {}
    for job in jobs.by_id(ledger, list(before)):
        if (job.state, job.provider_status) != (before[job.id].state, before[job.id].provider_status):
            changed.setdefault(job.migration, []).append(job)
    return [
        dg.AssetObservation(
            asset_key="bedrock_jobs",
            partition=key,
            metadata={
                "jobs changed": len(members),
                "jobs ended": sum(job.state == "ended" for job in members),
                "statuses": ", ".join(sorted({job.provider_status or "" for job in members})),
                "records processed": sum(int((job.counts or {}).get("processed", 0)) for job in members),
            },
        )
        for key, members in changed.items()
    ]


def _summary(open_jobs: int, found: Poll) -> str:
    said = f"{open_jobs} open jobs, {found.asked} asked, {found.changed} changed, {found.ended} ended"
    if found.skipped:
        said += f", {found.skipped} left for the next tick"
    return "; ".join([said, *found.troubles[:5]])


SENSORS = [migration_discovery, job_poller]
