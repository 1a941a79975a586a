"""Cancelling: nothing more is sent, jobs under way are asked to stop, what they did is kept."""

from batch_pipeline.ledger import jobs, migrations
from batch_pipeline.stages.context import Context


def cancel(context: Context) -> int:
    """Stop the migration's open jobs; return how many were asked.

    The migration is cancelled in the ledger first, so that no launcher sends another job meanwhile.
    Stopping is asynchronous: polling settles what each job left.
    """
    migrations.set_state(context.ledger, context.key, "cancelled")
    with context.ledger.exclusive(f"jobs of {context.key}"):
        for job in jobs.jobs(context.ledger, context.key, "intent"):
            if job.sent_at is None:
                jobs.void(context.ledger, job)
                context.provider.discard(job.name)
        open_jobs = jobs.jobs(context.ledger, context.key, "accepted", "running")
        for job in open_jobs:
            assert job.provider_id is not None
            context.provider.stop(job.provider_id)
    return len(open_jobs)
