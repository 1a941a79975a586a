"""Every provider with a fake: a line here, and the contract suite runs on it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from batch_pipeline.provider_settings import Kind
from batch_pipeline_tests.providers.fakes.anthropic import AnthropicSkin
from batch_pipeline_tests.providers.fakes.gemini import GeminiSkin
from batch_pipeline_tests.providers.fakes.openai import OpenAISkin
from batch_pipeline_tests.providers.fakes.skin import Skin
from batch_pipeline_tests.providers.fakes.vercel import VercelSkin
from batch_pipeline_tests.providers.fakes.vertex import VertexSkin

SKINS: Final[Mapping[Kind, Callable[[], Skin]]] = {
    "openai": OpenAISkin,
    "anthropic": AnthropicSkin,
    "vercel": VercelSkin,
    "gemini": GeminiSkin,
    "vertex": VertexSkin,
}

# Who answers single calls where a provider has none: a section that leads to the same fake.
SINGLE_CALLS: Final[Mapping[Kind, Callable[[str], dict[str, Any]]]] = {
    "vercel": OpenAISkin().section,
}
