"""Which of an account's Service Quotas are batch limits of which model.

A quota is told by its whole name, never by a part of one: names of models begin alike, and several
other quotas speak of records and jobs. Names as listed by Service Quotas; "(in GB)" stands before or
after the model. A few models have two quotas of one name, and then the lower one counts.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

GB: Final = 1_000_000_000

# Quota name without its model -> the field of `provider.quotas` it fills, and the unit in records or bytes.
_KINDS: Final[Mapping[str, tuple[str, int]]] = {
    "Minimum number of records per batch inference job": ("min_records", 1),
    "Records per input file per batch inference job": ("max_records_per_file", 1),
    "Records per batch inference job": ("max_records_per_job", 1),
    "Batch inference input file size": ("max_file_bytes", GB),
    "Batch inference job size": ("max_job_bytes", GB),
    "Sum of in-progress and submitted batch inference jobs using a base model": ("max_jobs_in_flight", 1),
}
_NAME: Final = re.compile(r"(?P<kind>.+?)(?: \(in GB\))? for (?P<model>.+?)(?: \(in GB\))?")

# Bare model id up to its date and version -> the model's name in Service Quotas.
_MODELS: Final[Mapping[str, str]] = {
    "amazon.nova-micro": "Nova Micro V1",
    "amazon.nova-lite": "Nova Lite V1",
    "amazon.nova-pro": "Nova Pro V1",
    "amazon.nova-2-lite": "Nova 2 Lite",
    "anthropic.claude-3-haiku": "Claude 3 Haiku",
    "anthropic.claude-3-5-haiku": "Claude 3.5 Haiku",
    "anthropic.claude-3-7-sonnet": "Claude 3.7 Sonnet",
    "anthropic.claude-haiku-4-5": "Claude Haiku 4.5",
    "anthropic.claude-sonnet-4": "Claude Sonnet 4",
    "anthropic.claude-sonnet-4-5": "Claude Sonnet 4.5",
    "anthropic.claude-sonnet-4-6": "Claude Sonnet 4.6",
    "anthropic.claude-opus-4-5": "Claude Opus 4.5",
    "anthropic.claude-opus-4-6": "Claude Opus 4.6",
    "deepseek.v3": "DeepSeek v3",
    "meta.llama3-1-8b-instruct": "Llama 3.1 8B Instruct",
    "meta.llama3-1-70b-instruct": "Llama 3.1 70B Instruct",
    "meta.llama3-1-405b-instruct": "Llama 3.1 405B Instruct",
    "meta.llama3-3-70b-instruct": "Llama 3.3 70B Instruct",
    "mistral.mistral-large-2407": "Mistral Large 2 (24.07)",
    "mistral.mistral-small-2402": "Mistral Small",
    "openai.gpt-oss-20b": "OpenAI GPT OSS 20b",
    "openai.gpt-oss-120b": "OpenAI GPT OSS 120b",
    "qwen.qwen3-32b": "Qwen3 32B",
    "qwen.qwen3-235b-a22b": "Qwen3 235B",
    "qwen.qwen3-coder-30b-a3b": "Qwen3 Coder 30B",
    "qwen.qwen3-coder-480b-a35b": "Qwen3 Coder 480B",
}
# What may follow: a date, a version, a revision; never a part of another model's name.
_VERSION: Final = re.compile(r"(?:-\d{8}|-\d{4})?(?:-v\d+)?(?:-\d+(?=:))?(?::\d+)?")


def listed_as(base_model: str) -> str | None:
    """The model's name in Service Quotas, or None where it is not known.

    >>> listed_as("anthropic.claude-sonnet-4-5-20250929-v1:0")
    'Claude Sonnet 4.5'
    >>> listed_as("anthropic.claude-sonnet-4-20250514-v1:0")
    'Claude Sonnet 4'
    """
    for prefix in sorted(_MODELS, key=len, reverse=True):
        if base_model.startswith(prefix) and _VERSION.fullmatch(base_model, len(prefix)):
            return _MODELS[prefix]
    return None


def granted(quotas: Iterable[Mapping[str, Any]], model_name: str) -> dict[str, int]:
    """Limits of one model among Service Quotas' rows, by the field names of `provider.quotas`.

    Of two quotas of one name the stricter counts: the higher minimum, the lower maximum.
    """
    found: dict[str, int] = {}
    for quota in quotas:
        name = _NAME.fullmatch(str(quota.get("QuotaName", "")))
        if name is None or name["model"] != model_name or name["kind"] not in _KINDS:
            continue
        field, unit = _KINDS[name["kind"]]
        value = int(float(quota["Value"]) * unit)
        stricter = max if field == "min_records" else min
        found[field] = stricter(found.get(field, value), value)
    return found
