"""boto3 clients, configured by AWS's own variables and files alone.

Endpoints, regions, profiles and roles are boto3's to find. What is set here is only what money and
memory ask for: a paid call is never repeated by the SDK, and nothing waits for ever.
"""

import functools
import os
from dataclasses import dataclass, replace
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

_INFORMS: Final = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=20)


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

    def with_s3(self, s3: "S3Client") -> "AwsClients":
        return replace(self, s3=s3)


def s3_client(
    region: str | None = None, profile: str | None = None, endpoint: str | None = None
) -> "S3Client":
    """S3; a server named by an endpoint setting is addressed by path.

    Other servers than AWS seldom resolve `bucket.host`; AWS itself keeps boto3's own choice.
    """
    named = endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    style: dict[str, Any] = {"s3": {"addressing_style": "path"}} if named else {}
    client: S3Client = _client(
        _session(region, profile), "s3", _READS.merge(Config(**style)), endpoint_url=endpoint
    )
    return client


@functools.lru_cache(maxsize=8)
def clients(region: str | None = None, profile: str | None = None) -> AwsClients:
    """One session's clients, made once: making them reads service models for most of a second."""
    session = _session(region, profile)
    return AwsClients(
        s3=s3_client(region, profile),
        bedrock=_client(session, "bedrock", _READS),
        bedrock_paid=_client(session, "bedrock", _PAID),
        runtime=_client(session, "bedrock-runtime", _ANSWERS),
    )


def client(service: str) -> Any:
    """A client of another service for calls that change nothing that costs money."""
    return _client(_session(None, None), service, _READS)


@functools.lru_cache(maxsize=8)
def client_asked_once(service: str) -> Any:
    """A client for what only informs: one short try, for nothing depends on its answer."""
    return _client(_session(None, None), service, _INFORMS)


def _session(region: str | None, profile: str | None) -> boto3.Session:
    try:
        # boto3 itself reads AWS_DEFAULT_REGION only; every other SDK of AWS reads AWS_REGION
        named = region or os.environ.get("AWS_DEFAULT_REGION") or os.environ.get("AWS_REGION")
        return boto3.Session(region_name=named, profile_name=profile)
    except BotoCoreError as error:
        raise ConfigurationError(
            "AWS_PROFILE", profile or os.environ.get("AWS_PROFILE", "(not set)"), str(error)
        ) from None


def _client(session: boto3.Session, service: str, config: Config, endpoint_url: str | None = None) -> Any:
    try:
        return session.client(service, config=config, endpoint_url=endpoint_url)  # type: ignore[call-overload]
    except (BotoCoreError, ValueError) as error:
        raise ConfigurationError(
            "AWS_REGION" if "region" in str(error).lower() else f"AWS settings for {service}",
            os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "(not set)",
            str(error),
        ) from None
