"""Jobs for operators: pause, cancel and resume a migration from the UI.

They take the migration's key as configuration and are no partitioned runs: those wait in the queue
until the migration's own run is over, which is too late to stop it.
"""

import dagster as dg
from pydantic import Field

from batch_pipeline.ledger import migrations
from batch_pipeline.orchestration.resources import MigrationsResource
from batch_pipeline.stages.cancel import cancel as cancel_jobs
from batch_pipeline.stages.resume import resume as go_on


class Which(dg.Config):
    """The migration an operator means."""

    migration: str = Field(description="Key of the migration: the name of its partition and of its file.")


class Again(Which):
    """How to go on."""

    retry_failed: bool = Field(
        default=False,
        description="Also owe again what failed at the provider; it is paid again where that charges for it.",
    )


@dg.op
def pause(context: dg.OpExecutionContext, config: Which, migration: MigrationsResource) -> None:
    """Send no further job; jobs under way go on and their answers are kept."""
    with migration.operate(config.migration) as opened:
        migrations.set_state(opened.ledger, opened.key, "paused")
    _show(context, config.migration, "paused: no further job is sent")


@dg.op
def cancel(context: dg.OpExecutionContext, config: Which, migration: MigrationsResource) -> None:
    """Send nothing more and ask the provider to stop the jobs under way; finished answers are kept."""
    with migration.operate(config.migration) as opened:
        cancelled = cancel_jobs(opened)
    _show(context, config.migration, f"cancelled: {cancelled}")


@dg.op
def resume(context: dg.OpExecutionContext, config: Again, migration: MigrationsResource) -> None:
    """Go on with a paused, cancelled or held migration; what is owed is sent by the next run."""
    with migration.operate(config.migration) as opened:
        again = go_on(opened, retry_failed=config.retry_failed)
    _show(context, config.migration, f"resumed: {again} failed documents are owed again")


def _show(context: dg.OpExecutionContext, key: str, what: str) -> None:
    """On the page of the asset whose jobs it is about, and in the run's log."""
    context.log.info(f"migration {key} {what}")
    context.log_event(dg.AssetObservation("bedrock_jobs", partition=key, metadata={"operator": what}))


@dg.job(description="Send no further job of a migration; what is under way goes on.")
def pause_migration() -> None:
    pause()


@dg.job(description="Stop a migration's jobs; what they finished is kept.")
def cancel_migration() -> None:
    cancel()


@dg.job(description="Go on with a paused, cancelled or held migration.")
def resume_migration() -> None:
    resume()


OPERATING = [pause_migration, cancel_migration, resume_migration]
