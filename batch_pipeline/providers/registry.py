"""Kind of provider -> its adapter, imported only where a migration names it.

An adapter is one module, `providers/<kind>.py`, with one function `open_provider(Setup) -> BatchProvider`
(so annotated: the type checker then holds the adapter against the contract).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.provider_settings import Kind, ProviderSection
from batch_pipeline.providers.contract import BatchProvider
from batch_pipeline.settings import Settings

if TYPE_CHECKING:
    from batch_pipeline.providers.aws import AwsClients

# The optional extra that brings a provider's SDK; the others need nothing beside the package itself.
_EXTRAS: Final[Mapping[Kind, str]] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "vertex": "google",
}
_OURS: Final = "batch_pipeline"


@dataclass(frozen=True)
class Setup:
    """What an adapter is made from. `aws` gives clients that a caller configured itself."""

    section: ProviderSection
    settings: Settings
    key: str
    aws: "Callable[[], AwsClients] | None" = None


def open_provider(setup: Setup) -> BatchProvider:
    """The provider a section names.

    Raises:
        ConfigurationError: its SDK is not installed, or file and environment do not say all it needs.
    """
    kind = setup.section.kind
    try:
        module = import_module(f"{_OURS}.providers.{kind}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        extra = _EXTRAS.get(kind)
        if missing == _OURS:
            raise ConfigurationError("provider.kind", kind, "this provider is not there yet") from None
        if extra is None:
            raise
        raise ConfigurationError(
            "provider.kind", kind, f"its SDK is not installed: pip install 'batch-pipeline[{extra}]'"
        ) from None
    provider: BatchProvider = module.open_provider(setup)
    return provider
