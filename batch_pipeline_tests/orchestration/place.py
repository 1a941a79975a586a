"""A Dagster instance over real servers, and short ways to do what its daemon would do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import httpx
import pytest
import yaml
from dagster import DagsterRunStatus
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster._core.test_utils import create_run_for_test

from batch_pipeline.definitions import definitions
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.local.emulator.server import RunningEmulator, running_emulator
from batch_pipeline.local.emulator.settings import EmulatorSettings
from batch_pipeline.orchestration.partitions import NAME
from batch_pipeline.orchestration.resources import BedrockResource, MigrationBucket, MigrationsResource
from batch_pipeline.providers import aws

MODEL = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
ROLE = "arn:aws:iam::123456789012:role/batch"
_RESOURCES = {"migration": MigrationsResource(s3=MigrationBucket(), bedrock=BedrockResource())}


@dataclass
class Place:
    """Migration files, ledger, emulator and instance of one test."""

    folder: Path
    database: str
    instance: dg.DagsterInstance
    emulator: RunningEmulator
    environment: dict[str, str]

    @property
    def migrations(self) -> Path:
        return self.folder / "migrations"

    @contextmanager
    def ledger(self) -> Iterator[LedgerConnection]:
        with LedgerConnection.open(self.database) as ledger:
            yield ledger

    def write(
        self,
        key: str,
        source: dict[str, Any] | None = None,
        sections: dict[str, Any] | None = None,
        **start: Any,
    ) -> None:
        """A migration file; without `source` one whose export does not exist. `sections` replace the usual ones."""
        content = {
            "tenant": key,
            "source": source or {"kind": "csv_folder", "path": "nowhere", "system": "none"},
            "provider": {"kind": "bedrock", "model": MODEL},
            "start": {"when": "at_once", **start},
            **(sections or {}),
        }
        (self.migrations / f"{key}.yaml").write_text(yaml.safe_dump(content))

    def tick(self, name: str, cursor: str | None = None) -> SensorExecutionData:
        """One tick of a sensor as the daemon makes it, its partitions added."""
        repository = definitions.get_repository_def()
        with dg.build_sensor_context(
            instance=self.instance,
            instance_ref=self.instance.get_ref(),
            cursor=cursor,
            repository_def=repository,
            resources=_RESOURCES,
        ) as context:
            data = repository.get_sensor_def(name).evaluate_tick(context)
        for request in data.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
        return data

    def due(self, utc: str) -> list[str]:
        """Migrations the off-peak schedule starts at this time."""
        repository = definitions.get_repository_def()
        with dg.build_schedule_context(
            instance=self.instance,
            instance_ref=self.instance.get_ref(),
            scheduled_execution_time=datetime.fromisoformat(utc).replace(tzinfo=UTC),
            repository_def=repository,
            resources=_RESOURCES,
        ) as context:
            requests = repository.get_schedule_def("off_peak").evaluate_tick(context).run_requests
        return sorted(str(request.partition_key) for request in requests or [])

    def execute(self, job: str, key: str) -> dg.ExecuteInProcessResult:
        """One run of a job for one migration, in this process."""
        return definitions.resolve_job_def(job).execute_in_process(
            partition_key=key, instance=self.instance, raise_on_error=False
        )

    def run(self, key: str, status: DagsterRunStatus) -> None:
        """A run of a migration as the instance would hold it, not executed."""
        create_run_for_test(
            self.instance, job_name="send_migration", status=status, tags={"dagster/partition": key}
        )

    def meter(self) -> dict[str, Any]:
        """What the emulator was paid for so far."""
        answer: dict[str, Any] = httpx.get(f"{self.emulator.url}/_emulator/meter").json()
        return answer

    def know(self, *keys: str) -> None:
        self.instance.add_dynamic_partitions(NAME, list(keys))

    def faults(self, **faults: Any) -> None:
        httpx.put(f"{self.emulator.url}/_emulator/faults", json=faults).raise_for_status()


@contextmanager
def opened_place(
    folder: Path,
    database: str,
    bucket: str,
    settings: EmulatorSettings,
    patch: pytest.MonkeyPatch,
    **more: str,
) -> Iterator[Place]:
    """The AWS variables of an S3 server must be set already."""
    (folder / "migrations").mkdir(parents=True)
    with running_emulator(settings) as emulator, dg.instance_for_test() as instance:
        environment = {
            "AWS_ENDPOINT_URL_BEDROCK": emulator.url,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": emulator.url,
            "DATABASE_URL": database,
            "BATCH_PIPELINE_HOME": str(folder / "work"),
            "BATCH_PIPELINE_MIGRATIONS": str(folder / "migrations"),
            "BATCH_PIPELINE_BUCKET": bucket,
            "BATCH_PIPELINE_ROLE_ARN": ROLE,
            "BATCH_PIPELINE_POLL_SECONDS": "0.2",
            "BATCH_PIPELINE_WORKERS": "2",
            **more,
        }
        for name, value in environment.items():
            patch.setenv(name, value)
        # clients are kept for the process's life with the addresses they were made with
        aws.clients.cache_clear()
        yield Place(folder, database, instance, emulator, environment)
        aws.clients.cache_clear()
