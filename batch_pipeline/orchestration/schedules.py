"""The off-peak schedule: starts migrations in their own night, by their own clock."""

from datetime import UTC, datetime

import dagster as dg

from batch_pipeline.errors import BatchPipelineError
from batch_pipeline.ledger import migrations
from batch_pipeline.orchestration.jobs import send
from batch_pipeline.orchestration.launching import runs_needed
from batch_pipeline.orchestration.partitions import NAME
from batch_pipeline.orchestration.resources import MigrationsResource


# Half-hour zones begin their night between two full hours of UTC.
@dg.schedule(
    name="off_peak",
    job=send,
    cron_schedule="*/30 * * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Starts migrations whose file says `start: off_peak`, inside their window and zone.",
)
def off_peak(
    context: dg.ScheduleEvaluationContext, migration: MigrationsResource
) -> list[dg.RunRequest] | dg.SkipReason:
    now = context.scheduled_execution_time or datetime.now(UTC)
    catalogue = migration.catalogue()
    partitions = set(context.instance.get_dynamic_partitions(NAME))
    due, broken = [], 0
    for key in catalogue.migration_keys():
        try:
            start = catalogue.load(key).start
        except BatchPipelineError:
            # the discovery sensor's tick says what is wrong with the file
            broken += 1
            continue
        if key in partitions and start.when == "off_peak" and start.contains(now):
            due.append(key)
    with migration.ledger() as ledger:
        for key in due:
            file = catalogue.load(key)
            migrations.record(ledger, key, file.tenant, file.digest)
        requests = runs_needed(
            context.instance,
            ledger,
            due,
            lambda _, step: step == "prepare",
            migration.settings().poll_seconds,
        )
    if requests:
        return requests
    return dg.SkipReason(
        f"{len(due)} migrations in their window, none of them waits to start; {broken} broken files"
    )


SCHEDULES = [off_peak]
