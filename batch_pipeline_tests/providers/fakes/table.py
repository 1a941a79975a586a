"""Every provider with a fake: a line here, and the contract suite runs on it."""

from collections.abc import Callable, Mapping
from typing import Final

from batch_pipeline.provider_settings import Kind
from batch_pipeline_tests.providers.fakes.anthropic import AnthropicSkin
from batch_pipeline_tests.providers.fakes.openai import OpenAISkin
from batch_pipeline_tests.providers.fakes.skin import Skin

SKINS: Final[Mapping[Kind, Callable[[], Skin]]] = {
    "openai": OpenAISkin,
    "anthropic": AnthropicSkin,
}
