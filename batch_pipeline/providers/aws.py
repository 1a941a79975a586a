"""boto3 clients, configured by AWS's own variables and files alone.

Endpoints, regions, profiles and roles are boto3's to find. What is set here is only what money and
memory ask for: a paid call is never repeated by the SDK, and nothing waits for ever.
"""

import functools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from batch_pipeline.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_bedrock import BedrockClient
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient
    from mypy_boto3_s3 import S3Client

# `standard` retries throttling and 5xx with jitter: right for reads, wrong for calls that cost money.
_READS: Final = Config(
    retries={"mode": "standard", "total_max_attempts": 5}, connect_timeout=10, read_timeout=60
)
_PAID: Final = Config(retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=120)
_ANSWERS: Final = Config(
    retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=300, max_pool_connections=64
)


@dataclass(frozen=True)
class AwsClients:
    """The clients of one session."""

    s3: "S3Client"
    bedrock: "BedrockClient"
    bedrock_paid: "BedrockClient"
    runtime: "BedrockRuntimeClient"

    @property
    def region(self) -> str:
        return self.bedrock.meta.region_name


def s3_client(session: boto3.Session | None = None) -> "S3Client":
    """S3; a server named by `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` is addressed by path.

    Other servers than AWS seldom resolve `bucket.host`; AWS itself keeps boto3's own choice.
    """
    named = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    style: dict[str, Any] = {"s3": {"addressing_style": "path"}} if named else {}
    return _client(session, "s3", _READS.merge(Config(**style)))  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1)
def clients() -> AwsClients:
    """One session's clients, made once: making them reads service models for most of a second."""
    session = boto3.Session()
    return AwsClients(
        s3=s3_client(session),
        bedrock=_client(session, "bedrock", _READS),
        bedrock_paid=_client(session, "bedrock", _PAID),
        runtime=_client(session, "bedrock-runtime", _ANSWERS),
    )


def _client(session: boto3.Session | None, service: str, config: Config) -> Any:
    try:
        return (session or boto3.Session()).client(service, config=config)  # type: ignore[call-overload]
    except BotoCoreError as error:
        raise ConfigurationError(
            "AWS_REGION" if "region" in str(error).lower() else f"AWS settings for {service}",
            os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "(not set)",
            str(error),
        ) from None
