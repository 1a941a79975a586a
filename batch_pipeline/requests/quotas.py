"""How many records and bytes a provider takes in a file, a job and at once.

The table holds the lowest value seen for each quota, so that a plan made with it is legal for every
account; a migration file overrides what its own account is granted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from batch_pipeline.requests.families import base_model

GB: Final = 1_000_000_000


class BatchLimits(BaseModel):
    """Limits of one batch job. Sizes are bytes; a job here has one input file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_records: int = Field(100, ge=1, description="fewest records of one job")
    max_records_per_file: int = Field(50_000, ge=1)
    max_records_per_job: int = Field(50_000, ge=1)
    max_file_bytes: int = Field(1 * GB, ge=1)
    max_job_bytes: int = Field(5 * GB, ge=1)
    max_jobs_in_flight: int = Field(10, ge=1, description="jobs submitted or running at once")
    min_timeout_hours: int = Field(24, ge=24, le=168)
    max_timeout_hours: int = Field(168, ge=24, le=168)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min_records > self.max_records:
            raise ValueError("min_records is above the most records of a file or job: no job would be legal")
        if self.min_timeout_hours > self.max_timeout_hours:
            raise ValueError("min_timeout_hours is above max_timeout_hours")
        return self

    @property
    def max_records(self) -> int:
        """Most records of a job of one file."""
        return min(self.max_records_per_file, self.max_records_per_job)

    @property
    def max_bytes(self) -> int:
        """Most bytes of a job of one file."""
        return min(self.max_file_bytes, self.max_job_bytes)


@dataclass(frozen=True)
class Quota:
    """Where the models whose bare id starts with `prefix` differ from the rest of their provider."""

    prefix: str
    limits: Mapping[str, int]
    source: str
    seen: date


_SEEN: Final = date(2026, 11, 30)

QUOTAS: Final[tuple[Quota, ...]] = (
    Quota(
        "amazon.nova-lite",
        {"max_job_bytes": 100 * GB},
        "contracts/bedrock.md section 2.1: job size 100 GB for Nova Lite and Pro (field report)",
        _SEEN,
    ),
    Quota(
        "amazon.nova-pro",
        {"max_job_bytes": 100 * GB},
        "contracts/bedrock.md section 2.1: job size 100 GB for Nova Lite and Pro (field report)",
        _SEEN,
    ),
)


def limits_of(model_id: str, granted: Mapping[str, int] | None = None, **overrides: int) -> BatchLimits:
    """The limits of a model: what its provider grants (Amazon Bedrock's lowest where none is given), where the
    model differs from that, and what a migration file sets itself. Raises pydantic's ValidationError where an
    override has no such field or contradicts another limit."""
    model = base_model(model_id)
    own: Mapping[str, int] = next((quota.limits for quota in QUOTAS if model.startswith(quota.prefix)), {})
    return BatchLimits.model_validate({**(granted or {}), **own, **overrides})
