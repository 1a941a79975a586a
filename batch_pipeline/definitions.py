"""The code location: merges the parts of `orchestration/`, nothing else."""

import dagster as dg
from dagster_aws.s3 import S3Resource

from batch_pipeline.orchestration.assets import ASSETS
from batch_pipeline.orchestration.io_managers import JobLedgerIOManager
from batch_pipeline.orchestration.jobs import JOBS
from batch_pipeline.orchestration.operating import OPERATING
from batch_pipeline.orchestration.resources import BedrockResource, MigrationBucket, MigrationsResource
from batch_pipeline.orchestration.schedules import SCHEDULES
from batch_pipeline.orchestration.sensors import SENSORS

_s3: S3Resource = MigrationBucket()
_bedrock = BedrockResource()
_migration = MigrationsResource(s3=_s3, bedrock=_bedrock)

definitions = dg.Definitions(
    assets=ASSETS,
    jobs=[*JOBS, *OPERATING],
    sensors=SENSORS,
    schedules=SCHEDULES,
    resources={
        "s3": _s3,
        "bedrock": _bedrock,
        "migration": _migration,
        "job_ledger": JobLedgerIOManager(migrations=_migration),
    },
    # spawned steps cost five CPU-seconds each and gain nothing: the work is in child processes anyway
    executor=dg.in_process_executor,
)
