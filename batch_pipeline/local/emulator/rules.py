"""What the emulated service enforces, and how it behaves where AWS' behaviour is not established."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """Base of every settings model: unknown names are errors, not silence."""

    model_config = ConfigDict(extra="forbid")


class Limits(Strict):
    """Service quotas. AWS values differ by account, model and date: read them at run time there."""

    min_records_per_job: int = Field(100, ge=0, description="Fewest records of a job, over all its files.")
    max_records_per_file: int = Field(50_000, ge=1, description="Most records of one input file.")
    max_records_per_job: int = Field(50_000, ge=1, description="Most records of a job, over all its files.")
    max_file_bytes: int = Field(1_000_000_000, ge=1, description="Most bytes of one input file.")
    max_job_bytes: int = Field(5_000_000_000, ge=1, description="Most bytes of a job, over all its files.")
    max_open_jobs_per_model: int = Field(
        20, ge=0, description="Jobs in any non-terminal state per base model; profiles count to their model."
    )
    default_page_size: int = Field(
        100, ge=1, le=1000, description="Jobs a List call returns without maxResults."
    )


class Models(Strict):
    """Facts about models that a request is checked against."""

    unsupported: tuple[str, ...] = Field(
        (), description="Base-model prefixes refused with `Batch inference is not supported ...`."
    )
    profile_only: tuple[str, ...] = Field(
        (), description="Base-model prefixes refused when named by a bare id instead of a profile."
    )
    application_profiles: dict[str, str] = Field(
        default_factory=dict, description="Application-inference-profile id -> base model id."
    )
    max_output_tokens: dict[str, int] = Field(
        default_factory=lambda: {
            "amazon.nova-micro": 10_000,
            "amazon.nova-2-lite": 65_535,
            "meta.llama4": 8_192,
            "qwen.qwen3-32b": 32_768,
            "openai.gpt-oss": 128_000,
        },
        description="Base-model prefix -> most output tokens a request may ask for.",
    )
    temperature_xor_top_p: tuple[str, ...] = Field(
        ("anthropic.claude",), description="Prefixes refusing temperature and top_p together."
    )
    no_sampling: tuple[str, ...] = Field(
        ("anthropic.claude-opus-5",), description="Prefixes refusing temperature or top_p other than 1."
    )


class Unknowns(Strict):
    """Behaviours nobody has established in public: each is a switch, its default the riskier guess."""

    token_ttl_seconds: float | None = Field(
        86_400, ge=0, description="How long a clientRequestToken is remembered; null: for ever."
    )
    token_mismatch: Literal["return_old", "validation", "conflict"] = Field(
        "return_old", description="Same token, different request."
    )
    duplicate_job_name: Literal["accept", "conflict", "validation"] = Field(
        "accept", description="A name another job of the account already has."
    )
    duplicate_record_ids: Literal["process", "fail_job"] = Field(
        "process", description="Same recordId twice in a job: both answered and paid, or the job Failed."
    )
    record_id_max_length: int | None = Field(
        None, description="Longest recordId; a longer one fails the job."
    )
    minimum_check: Literal["async", "sync"] = Field(
        "async",
        description="Too few records: the job is Failed while Validating, or Create answers Validation.",
    )
    output_layout: Literal["flat", "nested"] = Field(
        "flat", description="Output name below the job folder: file name only, or the key below the prefix."
    )
    expired_lines: Literal["absent", "error_lines"] = Field(
        "absent",
        description="Records a timed-out job never reached: no line, or an error line with expired=true.",
    )
    all_records_failed: Literal["completed", "failed"] = Field(
        "completed", description="Status of a job whose every record is an error."
    )
    queued_states_count: bool = Field(
        True, description="Whether Submitted, Validating, Scheduled and Stopping jobs count to the quota."
    )
    default_timeout_hours: int = Field(
        24, ge=24, le=168, description="timeoutDurationInHours when not given."
    )
    stop_of_ended_job: Literal["conflict", "validation", "ok"] = Field(
        "conflict", description="Stop of a job in a terminal state."
    )
    claude_cache_control: Literal["accept", "reject"] = Field(
        "reject", description="cache_control inside a Claude InvokeModel batch record."
    )
    claude_pdf_by_s3: Literal["reject", "accept"] = Field(
        "reject",
        description="A Claude document by S3 URI in batch; accepted means unreadable to the engine.",
    )
    list_ended_jobs_seconds: float | None = Field(
        None, description="How long an ended job stays in List; null: for ever."
    )
    bill_failed_records: bool = Field(
        False, description="Whether a record that ends in an error costs its input tokens."
    )
    refuse_cross_account_role: bool = Field(
        True, description="Refuse a role ARN of another account than the caller's."
    )


class Rules(Strict):
    """Everything `GET/PUT /_emulator/rules` shows and takes."""

    limits: Limits = Field(default_factory=Limits)
    models: Models = Field(default_factory=Models)
    unknowns: Unknowns = Field(default_factory=Unknowns)
