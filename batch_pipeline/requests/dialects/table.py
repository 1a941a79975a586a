"""Which dialect a model takes at a provider."""

from typing import Final

from batch_pipeline.provider_settings import Kind
from batch_pipeline.requests.dialects import claude, converse, gateway, gemini, openai_chat
from batch_pipeline.requests.dialects.base import Dialect
from batch_pipeline.requests.families import family_of, invocation_type

_ONLY: Final[dict[Kind, Dialect]] = {
    "anthropic": claude.ANTHROPIC,
    "openai": openai_chat.CHAT,
    "gemini": gemini.GEMINI,
    "vercel": gateway.GATEWAY,
}


def dialect_of(kind: Kind, model: str) -> Dialect:
    """Raises ConfigurationError for a Bedrock model whose body we do not know."""
    if kind == "bedrock":
        native = invocation_type(family_of(model)) == "InvokeModel"
        return claude.BEDROCK if native else converse.CONVERSE
    if kind == "vertex":
        return claude.VERTEX if "claude" in model else gemini.GEMINI
    return _ONLY[kind]
