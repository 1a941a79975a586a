"""Cancelling: nothing more is sent, jobs under way are asked to stop, what they did is kept."""

from dataclasses import dataclass

from batch_pipeline.ledger import jobs, migrations
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.report import cost_report


@dataclass(frozen=True)
class Cancelled:
    """`asked` jobs were asked to stop; the rest is what was paid before they answer."""

    asked: int
    answers: int
    cost: str

    def __str__(self) -> str:
        return (
            f"{self.asked} jobs were asked to stop; {self.answers} answers settled so far cost {self.cost}, "
            "and what these jobs finish until they stop is paid and kept"
        )


def cancel(context: Context) -> Cancelled:
    """Stop the migration's open jobs.

    The migration is cancelled in the ledger first, so that no launcher sends another job meanwhile.
    Stopping is asynchronous: polling settles what each job left.

    Raises:
        LedgerConflict: the migration is at its end already.
    """
    migrations.set_state(context.ledger, context.key, "cancelled")
    with context.ledger.exclusive(f"jobs of {context.key}"):
        for job in jobs.jobs(context.ledger, context.key, "intent"):
            if job.sent_at is None:
                jobs.void(context.ledger, job)
                context.of(job).provider.discard(job.name)
        open_jobs = jobs.jobs(context.ledger, context.key, "accepted", "running")
        for job in open_jobs:
            assert job.provider_id is not None
            context.of(job).provider.stop(job.provider_id)
    figures = cost_report(context)
    answers = sum(int(figures.get(f"{route}_answers", 0)) for route in ("batch", "on_demand"))
    return Cancelled(len(open_jobs), answers, str(figures["total_cost"]))
