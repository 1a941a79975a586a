"""What each provider can do and promises, as data with its source and date.

`docs/providers.md` is made from it (`python -m docs.providers_table`), sharding takes its limits from it, and
the stages ask it instead of asking which provider they work with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final, Literal

from batch_pipeline.provider_settings import Kind

Recovery = Literal["token", "stamp", "self-identifying ids", "replay"]
Resend = Literal["token", "after_look_up"]

GB: Final = 1_000_000_000
MB: Final = 1_000_000
# A job is in a provider's list at once as far as anybody has seen; this leaves room for a slow one.
_SHOWN_WITHIN: Final = timedelta(minutes=5)


@dataclass(frozen=True)
class Limits:
    """Of one job. Bytes are those of our own lines: a little under what the provider's own may have."""

    min_records: int
    max_records: int
    max_bytes: int
    max_jobs_in_flight: int

    def as_quotas(self) -> Mapping[str, int]:
        """In the words of `requests/quotas.py`."""
        return {
            "min_records": self.min_records,
            "max_records_per_file": self.max_records,
            "max_records_per_job": self.max_records,
            "max_file_bytes": self.max_bytes,
            "max_job_bytes": self.max_bytes,
            "max_jobs_in_flight": self.max_jobs_in_flight,
        }


@dataclass(frozen=True)
class Capabilities:
    """One provider's."""

    kind: Kind
    title: str
    limits: Limits
    id_rule: str
    deadline: str
    retention: str
    recovery: Recovery
    # `token`: a request sent again under its token is the same job. `after_look_up`: it is a second one, so an
    # intent that left is sent again only once the provider had `shown_within` to show its job.
    resend: Resend
    deletable: str
    kept: str  # what nobody can delete; empty where there is nothing
    echoes_input: bool  # an output line repeats its request, which is then held against what was sent
    keeps_order: bool
    structured_output: str
    caching: str
    batch_discount: str
    needs_bucket: bool
    source: str
    seen: date
    shown_within: timedelta = field(default=_SHOWN_WITHIN)
    # Wrong parameters end a job at once; where they do not, they come back as an error of every record.
    fails_as_a_whole: bool = True
    keeps_expired: bool = True  # what was finished when a job's time ran out can be read


_SEEN: Final = date(2026, 11, 30)
_CONTRACT: Final = "contracts/providers.md section 2"

BEDROCK: Final = Capabilities(
    kind="bedrock",
    title="Amazon Bedrock",
    limits=Limits(100, 50_000, 1 * GB, 10),
    id_rule="any text of the record id",
    deadline="24 to 168 h, to choose",
    retention="your own bucket",
    recovery="token",
    resend="token",
    deletable="every object, version and unfinished upload of your bucket",
    kept="",
    echoes_input=True,
    keeps_order=False,
    structured_output="none in batch, JSON by prompt",
    caching="none in batch",
    batch_discount="50 % for most models",
    needs_bucket=True,
    source="contracts/bedrock.md sections 2 and 2.1",
    seen=_SEEN,
)
OPENAI: Final = Capabilities(
    kind="openai",
    title="OpenAI Batch, and servers that speak it",
    # 200 MB is of OpenAI's own lines: each is about 100 bytes longer than ours
    limits=Limits(1, 50_000, 190 * MB, 50),
    id_rule="not stated; ours is within every rule known",
    deadline="24 h, what is finished by then is kept",
    retention="output and input 30 days, ours are asked to expire in 30",
    recovery="stamp",
    resend="after_look_up",
    deletable="input, output and error files",
    kept="batch records: ids, counts and the stamp, no content",
    echoes_input=False,
    keeps_order=False,
    structured_output="JSON object",
    caching="automatic, reported in the usage",
    batch_discount="50 %",
    needs_bucket=False,
    source=f"{_CONTRACT}.2",
    seen=_SEEN,
)
ANTHROPIC: Final = Capabilities(
    kind="anthropic",
    title="Anthropic Message Batches",
    # 256 MB is of Anthropic's own requests: each is about 100 bytes longer than ours
    limits=Limits(1, 100_000, 240 * MB, 50),
    id_rule="[a-zA-Z0-9_-], 1 to 64",
    deadline="24 h, what is finished by then is kept",
    retention="29 days from creation",
    recovery="self-identifying ids",
    resend="after_look_up",
    deletable="the batch with its results, once ended",
    kept="",
    echoes_input=False,
    keeps_order=False,
    structured_output="JSON by prompt",
    caching="stacks with the discount, best effort, 1 h entries",
    batch_discount="50 %",
    needs_bucket=False,
    source=f"{_CONTRACT}.1",
    seen=_SEEN,
    fails_as_a_whole=False,
)
GEMINI: Final = Capabilities(
    kind="gemini",
    title="Gemini API batch",
    # inline requests alone: under 20 MB, and nothing is left that cannot be deleted
    limits=Limits(1, 10_000, 18 * MB, 50),
    id_rule="any text, a key in the request's metadata; by place where the API loses it",
    deadline="48 h, nothing is kept of a job that expires",
    retention="6 weeks",
    recovery="stamp",
    resend="after_look_up",
    deletable="the job with its inline requests and results; file mode, whose results nobody can delete, is not used",
    kept="",
    echoes_input=False,
    keeps_order=True,
    structured_output="JSON object",
    caching="cached content, at the usual cache rate",
    batch_discount="50 %",
    needs_bucket=False,
    source=f"{_CONTRACT}.3",
    seen=_SEEN,
    keeps_expired=False,
)
VERTEX: Final = Capabilities(
    kind="vertex",
    title="Vertex AI batch prediction",
    limits=Limits(1, 200_000, 1 * GB, 4),
    id_rule="Claude: any text; Gemini: none, an answer is known by the request it repeats",
    deadline="72 h in the queue and 24 h of work, what is finished is kept",
    retention="your own bucket",
    recovery="stamp",
    resend="after_look_up",
    deletable="the job, and every object and generation of your bucket",
    kept="what the bucket's soft delete policy holds, until its end: 7 days where nobody set another",
    echoes_input=True,
    keeps_order=False,
    structured_output="JSON object (Gemini), by prompt (Claude)",
    caching="implicit, in place of the batch discount",
    batch_discount="50 %",
    needs_bucket=True,
    source=f"{_CONTRACT}.4",
    seen=_SEEN,
)
VERCEL: Final = Capabilities(
    kind="vercel",
    title="Vercel AI Gateway batch",
    limits=Limits(1, 1_000, 4_300_000, 50),
    id_rule="any text",
    deadline="24 h",
    retention="29 days or more after the end",
    recovery="replay",
    resend="token",
    deletable="nothing",
    kept="requests and results, until the date the gateway gives; those a lost ledger forgot cannot be found",
    echoes_input=False,
    keeps_order=False,
    structured_output="none, JSON by prompt",
    caching="as the provider behind it",
    batch_discount="50 % for most models",
    needs_bucket=False,
    source=f"{_CONTRACT}.5 (an API that is still experimental)",
    seen=_SEEN,
)

CAPABILITIES: Final[Mapping[Kind, Capabilities]] = {
    one.kind: one for one in (BEDROCK, OPENAI, ANTHROPIC, GEMINI, VERTEX, VERCEL)
}
