"""What assets and sensors are given: AWS clients, and a migration opened for work.

No secret is a field: database address and AWS credentials stay in the environment, so that nothing
the UI or the API can show holds them.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster_aws.s3 import S3Resource

from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.migration import Catalogue
from batch_pipeline.orchestration.failures import kept_without_content
from batch_pipeline.settings import Settings
from batch_pipeline.stages.context import Context, open_context

if TYPE_CHECKING:
    from batch_pipeline.providers.aws import AwsClients

_SECONDS_BETWEEN_PROGRESS = 5.0


class MigrationBucket(S3Resource):
    """dagster-aws' S3 resource; a server named by `AWS_ENDPOINT_URL_S3` is addressed by path."""

    def get_client(self) -> Any:
        from batch_pipeline.providers.aws import s3_client  # noqa: PLC0415

        return s3_client(region=self.region_name, profile=self.profile_name, endpoint=self.endpoint_url)


class BedrockResource(dg.ConfigurableResource[Any]):
    """Bedrock through boto3: batch jobs and on-demand calls of one account and Region."""

    region_name: str | None = None
    profile_name: str | None = None

    def clients(self, s3: Any) -> "AwsClients":
        """The clients a migration works with; calls that cost money are never repeated by boto3."""
        from batch_pipeline.providers.aws import clients  # noqa: PLC0415

        return clients(region=self.region_name, profile=self.profile_name).with_s3(s3)


class MigrationsResource(dg.ConfigurableResource[Any]):
    """The catalogue of migration files, the ledger, and the way into one migration."""

    s3: dg.ResourceDependency[S3Resource]
    bedrock: dg.ResourceDependency[BedrockResource]

    def settings(self) -> Settings:
        return Settings.from_environment()

    def catalogue(self) -> Catalogue:
        return Catalogue(self.settings().migrations)

    @contextmanager
    def ledger(self) -> Iterator[LedgerConnection]:
        with LedgerConnection.open(self.settings().database_url.get_secret_value()) as ledger:
            yield ledger

    def aws(self) -> "AwsClients":
        return self.bedrock.clients(self.s3.get_client())

    @contextmanager
    def open(self, context: dg.AssetExecutionContext) -> Iterator[Context]:
        """The migration of this run's partition, its files ours alone until the block ends.

        Progress shows as observations, every few seconds, and the time it took as metadata.

        Raises:
            dg.Failure: for every error, without the customer's data.
        """
        key = context.partition_key
        with (
            kept_without_content(key),
            open_context(self.settings(), key, _Observed(context), aws=self.aws) as opened,
            # the run queue keeps two runs of one migration apart, but not a run and a command
            opened.ledger.exclusive(f"files of {key}"),
        ):
            started = time.monotonic()
            yield opened
            context.add_asset_metadata(
                {"seconds": round(time.monotonic() - started, 2)},
                asset_key=context.asset_key,
                partition_key=key,
            )

    @contextmanager
    def operate(self, key: str) -> Iterator[Context]:
        """A migration for who steers it: does not wait for a run that is at work on its files."""
        with kept_without_content(key), open_context(self.settings(), key, aws=self.aws) as opened:
            yield opened


class _Observed:
    """Progress as events of the asset: few enough to cost nothing, none for what is quick."""

    def __init__(self, context: dg.AssetExecutionContext) -> None:
        self._context = context
        self._last = time.monotonic()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_PROGRESS:
            return
        self._last = now
        self._context.log_event(
            dg.AssetObservation(
                asset_key=self._context.asset_key,
                partition=self._context.partition_key,
                metadata={"what": what, "done": done, **({"total": total} if total is not None else {})},
            )
        )
