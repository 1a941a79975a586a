"""What every stage works with: one migration, its files, the ledger, the provider."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import psycopg

from batch_pipeline.costs.prices import Price, Route, price_of
from batch_pipeline.errors import ConfigurationError, TransientError
from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.escalation import highest_tier
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.migration import Catalogue, Migration
from batch_pipeline.provider_settings import ProviderSection, caches_prompt
from batch_pipeline.providers.capabilities import CAPABILITIES
from batch_pipeline.providers.contract import BatchProvider
from batch_pipeline.providers.registry import Setup, open_provider
from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.requests.quotas import BatchLimits, limits_of
from batch_pipeline.settings import Settings
from batch_pipeline.tasks.base import Task
from batch_pipeline.tasks.cv.parser import CvTask
from batch_pipeline.workspace import Workspace

if TYPE_CHECKING:
    from batch_pipeline.providers.aws import AwsClients


_TASK: Task = CvTask()


class Progress(Protocol):
    """Told how far a stage is; `total` is None while it cannot be known."""

    def __call__(self, what: str, done: int, total: int | None) -> None: ...


def silent(what: str, done: int, total: int | None) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class Context:
    """One migration at work; of a cascade, at one of its models (`tier`)."""

    settings: Settings
    migration: Migration
    workspace: Workspace
    ledger: LedgerConnection
    progress: Progress = silent
    task: Task = _TASK
    aws: "Callable[[], AwsClients] | None" = None
    tier: int = 0

    @property
    def key(self) -> str:
        return self.migration.key

    @cached_property
    def tiers(self) -> tuple["Context", ...]:
        """The migration at each of its models, the file's provider first: provider, limits, requests and request
        files of each follow its own section.

        Raises:
            ConfigurationError: documents are at a model that the file does not name any more.
        """
        last = max(len(self.migration.cascade), highest_tier(self.ledger, self.key))
        return (self, *(self._at_tier(tier) for tier in range(1, last + 1)))

    def _at_tier(self, tier: int) -> "Context":
        return replace(
            self,
            migration=self.migration.at_tier(tier),
            workspace=replace(self.workspace, tier=tier),
            tier=tier,
        )

    def of(self, job: Job) -> "Context":
        """The migration at the model that a job was sent to."""
        return self.tiers[job.tier]

    @cached_property
    def provider(self) -> BatchProvider:
        provider = self._opened(self.migration.provider)
        self._require_same_place(provider)
        return provider

    @cached_property
    def on_demand_provider(self) -> BatchProvider:
        """Who answers single calls; the batch's provider unless the file names another."""
        other = self.migration.on_demand.provider
        return self.provider if other is None else self._opened(other)

    def _opened(self, section: ProviderSection) -> BatchProvider:
        return open_provider(Setup(section, self.settings, self.key, self.aws))

    def _require_same_place(self, provider: BatchProvider) -> None:
        """What was sent lies where file and environment pointed then: another place would lose it."""
        row = self.ledger.sql.execute(
            "select account, input_uri from job where migration = %s and tier = %s and state <> 'void' "
            "and (account <> %s or not starts_with(input_uri, %s)) limit 1",
            (self.key, self.tier, provider.account, provider.home),
        ).fetchone()
        if row is not None:
            before = row["input_uri"].partition(f"/{self.key}/input/")[0]
            raise ConfigurationError(
                provider.place_settings,
                f"{provider.home} of {provider.account}",
                f"jobs of migration {self.key} lie below {before}/{self.key}/ of {row['account']}: put the "
                "settings back until it has ended; what lies there would neither be read nor erased",
            )

    @cached_property
    def limits(self) -> BatchLimits:
        """The model's quotas with the migration's own overrides."""
        return limits_of(
            self.migration.provider.model,
            CAPABILITIES[self.migration.provider.kind].limits.as_quotas(),
            **self.migration.provider.quotas.model_dump(exclude_none=True),
        )

    @property
    def prompt(self) -> str:
        return self.task.redacted_prompt if self.migration.redaction else self.task.prompt

    @cached_property
    def batch_requests(self) -> RequestBuilder:
        provider = self.migration.provider
        return RequestBuilder.for_model(
            provider.model,
            self.prompt,
            provider.max_output_tokens,
            provider.kind,
            cache_prompt=caches_prompt(provider),
        )

    @property
    def on_demand_model(self) -> str:
        return self.migration.on_demand.model or self.migration.on_demand_provider.model

    @cached_property
    def on_demand_requests(self) -> RequestBuilder:
        section = self.migration.on_demand_provider
        return RequestBuilder.for_model(
            self.on_demand_model,
            self.prompt,
            section.max_output_tokens,
            section.kind,
            cache_prompt=caches_prompt(section),
        )

    @property
    def invocation_type(self) -> str:
        """The dialect of the batch's bodies: on Bedrock the very word its API takes."""
        return self.batch_requests.dialect.name

    def price(self, route: Route, model: str) -> Price | None:
        """What a model costs at the provider of a route, as far as it is known."""
        section = self.migration.provider if route == "batch" else self.migration.on_demand_provider
        return price_of(model, section.kind) if section.is_priced else None


@contextmanager
def open_context(
    settings: Settings,
    key: str,
    progress: Progress = silent,
    aws: "Callable[[], AwsClients] | None" = None,
) -> Iterator[Context]:
    """Everything a stage of migration `key` needs; makes the migration known to the ledger.

    Raises:
        ConfigurationError: the file or the environment is wrong.
        TransientError: PostgreSQL does not answer, or went away in between: what was written is kept.
    """
    migration = Catalogue(settings.migrations).load(key)
    with LedgerConnection.open(settings.database_url.get_secret_value()) as ledger:
        migrations.record(ledger, key, migration.tenant, migration.digest)
        workspace = Workspace(settings.home.absolute(), key).create()
        try:
            yield Context(settings, migration, workspace, ledger, progress, aws=aws)
        except psycopg.OperationalError as error:
            raise TransientError(
                f"PostgreSQL went away ({type(error).__name__}): what was written is kept, run again"
            ) from None
