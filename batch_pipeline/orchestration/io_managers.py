"""The job-ledger IO manager: the ledger is the stored value of `bedrock_jobs`.

Nothing is first written here: an id that reached the ledger only after the asset returned would be
lost with the process. `handle_output` compares, `load_input` reads.
"""

from collections.abc import Sequence

import dagster as dg

from batch_pipeline.errors import LedgerConflict
from batch_pipeline.ledger import jobs
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.orchestration.resources import MigrationsResource


class JobLedgerIOManager(dg.ConfigurableIOManager):
    """Gives downstream assets the jobs of their migration, from any earlier run and any machine."""

    migrations: dg.ResourceDependency[MigrationsResource]

    def handle_output(self, context: dg.OutputContext, obj: Sequence[Job]) -> None:
        """Check that what the asset says is what the ledger holds.

        Raises:
            LedgerConflict: it is not.
        """
        held = {(job.name, job.provider_id) for job in self._jobs(context.partition_key)}
        said = {(job.name, job.provider_id) for job in obj}
        if held != said:
            raise LedgerConflict(
                f"migration {context.partition_key}: the asset reports {len(said)} jobs, the ledger holds "
                f"{len(held)}; materialise bedrock_jobs again"
            )
        context.add_output_metadata({"jobs in the ledger": len(held)})

    def load_input(self, context: dg.InputContext) -> list[Job]:
        return self._jobs(context.asset_partition_key)

    def _jobs(self, key: str) -> list[Job]:
        with self.migrations.ledger() as ledger:
            return [job for job in jobs.jobs(ledger, key) if job.state != "void"]
