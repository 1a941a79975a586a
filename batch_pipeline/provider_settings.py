"""Sections of a migration file that name a provider: which service, which model, under which limits.

One section per provider, told apart by `kind`. Keys and passwords are never here: each SDK reads its own
standard variables (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`, `AI_GATEWAY_API_KEY`, AWS's and
Google's credential chains). What each provider can do is in `providers/capabilities.py`.
"""

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

Kind = Literal["bedrock", "openai", "anthropic", "gemini", "vertex", "vercel"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

Model = Annotated[str, Field(min_length=1, max_length=2048)]
MaxOutputTokens = Annotated[int, Field(ge=256)]
Address = Annotated[str | None, Field(pattern=r"^https?://[^/\s]+(/\S*)?$")]


class Section(BaseModel):
    """A part of a migration file: fixed once read, and a misspelt setting is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Quotas(Section):
    """Overrides of the provider's published quotas; empty fields keep the default table."""

    min_records: Annotated[int | None, Field(ge=1)] = None
    max_records_per_file: Annotated[int | None, Field(ge=1)] = None
    max_records_per_job: Annotated[int | None, Field(ge=1)] = None
    max_file_bytes: Annotated[int | None, Field(ge=1)] = None
    max_job_bytes: Annotated[int | None, Field(ge=1)] = None
    max_jobs_in_flight: Annotated[int | None, Field(ge=1)] = None


class BedrockProvider(Section):
    """Amazon Bedrock: which model answers, where the files lie meanwhile."""

    kind: Literal["bedrock"] = "bedrock"
    model: Model
    bucket: str | None = None
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$")] = (
        "batch-pipeline"
    )
    role_arn: Annotated[str | None, Field(pattern=r"^arn:aws(-[^:]+)?:iam::\d{12}:role/.+$")] = None
    bucket_owner: Annotated[str | None, Field(pattern=r"^\d{12}$")] = None
    kms_key_id: str | None = None
    max_output_tokens: MaxOutputTokens = 4096
    timeout_hours: Annotated[int, Field(ge=24, le=168)] = 24
    quotas: Quotas = Quotas()

    @property
    def is_priced(self) -> bool:
        return True


class _Hosted(Section):
    """A provider reached by one address and one key, without a bucket."""

    model: Model
    base_url: Annotated[Address, Field(description="another server of the same protocol")] = None
    max_output_tokens: MaxOutputTokens = 4096
    quotas: Quotas = Quotas()

    @property
    def timeout_hours(self) -> int:
        """How long a job may take; these providers let nobody choose."""
        return 24

    @property
    def is_priced(self) -> bool:
        """Whether the published prices hold: what another server asks is not known."""
        return self.base_url is None


class OpenAIProvider(_Hosted):
    """OpenAI's Batch API, and every server that speaks it (Azure, Groq, Together, OGX, local ones)."""

    kind: Literal["openai"]
    purpose: Annotated[str, Field(pattern=r"^[a-z][a-z_-]*$", description="of the input file")] = "batch"
    completion_window: Annotated[str, Field(pattern=r"^[1-9]\d{0,2}[hd]$")] = "24h"
    files_expire_days: Annotated[
        int | None,
        Field(ge=1, le=30, description="a net under our own erasing; empty for servers without it"),
    ] = 30

    @property
    def timeout_hours(self) -> int:
        return int(self.completion_window[:-1]) * (24 if self.completion_window.endswith("d") else 1)


class AnthropicProvider(_Hosted):
    """Anthropic's Message Batches."""

    kind: Literal["anthropic"]
    cache_prompt: Annotated[
        bool,
        Field(
            description="keep the prompt in a cache for an hour: read at a tenth of its price, written at twice it; "
            "a prompt under the model's minimum is not kept, and how often a batch finds it is not promised"
        ),
    ] = False


class GeminiProvider(_Hosted):
    """The Gemini API's batch mode. google-genai 3.6 asks v1 by default; batch is documented for v1beta."""

    kind: Literal["gemini"]
    api_version: Annotated[str, Field(pattern=r"^v\d+(alpha|beta)?\d*$")] = "v1beta"

    @property
    def timeout_hours(self) -> int:
        return 48


class VertexProvider(Section):
    """Vertex AI batch prediction over Google Cloud Storage: Gemini, and Claude as a partner model."""

    kind: Literal["vertex"]
    model: Model
    project: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$")]
    location: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")] = "europe-west1"
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$")]
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$")] = (
        "batch-pipeline"
    )
    base_url: Address = None
    storage_url: Address = None
    max_output_tokens: MaxOutputTokens = 4096
    quotas: Quotas = Quotas()

    @property
    def timeout_hours(self) -> int:
        """Up to 72 hours in the queue and 24 of work."""
        return 96

    @property
    def is_priced(self) -> bool:
        return self.base_url is None


class VercelProvider(_Hosted):
    """Vercel AI Gateway's batch protocol; `model` names provider and model, such as openai/gpt-5-mini."""

    kind: Literal["vercel"]
    team: Annotated[
        str | None,
        Field(pattern=r"^[A-Za-z0-9_-]{1,100}$", description="id or slug, for a key that sees several"),
    ] = None


def caches_prompt(section: "ProviderSection") -> bool:
    """Whether requests ask for the prompt to be cached; most providers do so by themselves or never."""
    return isinstance(section, AnthropicProvider) and section.cache_prompt


# Providers whose single calls nobody has documented.
BATCH_ALONE: Final[frozenset[Kind]] = frozenset({"vercel"})


def _kind_of(section: Any) -> str:
    """Without a kind it is Bedrock's."""
    if isinstance(section, dict):
        return str(section.get("kind", "bedrock"))
    return str(getattr(section, "kind", "bedrock"))


ProviderSection = Annotated[
    Annotated[BedrockProvider, Tag("bedrock")]
    | Annotated[OpenAIProvider, Tag("openai")]
    | Annotated[AnthropicProvider, Tag("anthropic")]
    | Annotated[GeminiProvider, Tag("gemini")]
    | Annotated[VertexProvider, Tag("vertex")]
    | Annotated[VercelProvider, Tag("vercel")],
    Discriminator(
        _kind_of,
        custom_error_type="unknown_kind",
        custom_error_message="give one of " + ", ".join(KINDS),
    ),
]
