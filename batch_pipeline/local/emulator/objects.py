"""The S3 side: find a job's input objects, stream them to disk, upload its output."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from batch_pipeline.local.emulator.job import Job

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CHUNK = 1 << 20


class ObjectError(Exception):
    """The job's role could not reach its objects; the message is the job's failure message."""


@dataclass(frozen=True)
class InputObject:
    bucket: str
    key: str
    bytes: int


def split_uri(uri: str) -> tuple[str, str]:
    """`s3://bucket/some/key` -> `("bucket", "some/key")`."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


class Objects:
    """S3 through the standard AWS environment. The client is made when first needed."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._lock = Lock()
        self._made: S3Client | None = None

    def connect(self) -> S3Client:
        """The client of the environment as it was at the first call."""
        with self._lock:
            if self._made is None:
                session = boto3.Session()
                region = session.region_name or self._region
                client = session.client("s3", region_name=region)
                if not client.meta.endpoint_url.endswith(("amazonaws.com", "amazonaws.com.cn")):
                    # a local server answers on one host name: buckets cannot be host names there
                    path_style = Config(s3={"addressing_style": "path"})
                    client = session.client("s3", region_name=region, config=path_style)
                self._made = client
            return self._made

    def inputs(self, job: Job) -> list[InputObject]:
        """The object named by the input URI, or every `.jsonl` below it as a folder, by key."""
        bucket, key = split_uri(job.input["s3Uri"])
        owner = _owner(job.input)
        try:
            if key.endswith(".jsonl"):
                head = self.connect().head_object(Bucket=bucket, Key=key, **owner)
                return [InputObject(bucket, key, head["ContentLength"])]
            prefix = key if not key or key.endswith("/") else f"{key}/"
            pages = (
                self.connect()
                .get_paginator("list_objects_v2")
                .paginate(Bucket=bucket, Prefix=prefix, **owner)
            )
            found = [
                InputObject(bucket, item["Key"], item["Size"])
                for page in pages
                for item in page.get("Contents", ())
                if item["Key"].endswith(".jsonl")
            ]
        except (ClientError, BotoCoreError) as error:
            raise ObjectError(f"Cannot read the input location: {_why(error)}") from error
        return sorted(found, key=lambda found_one: found_one.key)

    def download(self, source: InputObject, target: Path, job: Job) -> None:
        """Stream one object to a file, a megabyte at a time."""
        try:
            body = self.connect().get_object(Bucket=source.bucket, Key=source.key, **_owner(job.input))[
                "Body"
            ]
            with target.open("wb") as sink:
                for chunk in body.iter_chunks(_CHUNK):
                    sink.write(chunk)
        except (ClientError, BotoCoreError) as error:
            raise ObjectError(f"Cannot read an input file: {_why(error)}") from error

    def count_lines(self, job: Job) -> int:
        """Records of a job without keeping them, for the synchronous minimum check; 0 if unreadable."""
        records = 0
        try:
            for source in self.inputs(job):
                body = self.connect().get_object(Bucket=source.bucket, Key=source.key)["Body"]
                last = b"\n"
                for chunk in body.iter_chunks(_CHUNK):
                    records += chunk.count(b"\n")
                    last = chunk[-1:]
                records += last != b"\n"
        except (ClientError, BotoCoreError, ObjectError):
            return 0
        return records

    def upload(self, source: Path, job: Job, name: str) -> None:
        """Put a file at `<output URI>/<job id>/<name>`, in parts where it is large."""
        bucket, prefix = split_uri(job.output["s3Uri"])
        key = "/".join(part for part in (prefix.rstrip("/"), job.id, name) if part)
        try:
            self.connect().upload_file(
                str(source),
                bucket,
                key,
                ExtraArgs=_owner(job.output),
                Config=TransferConfig(use_threads=False),
            )
        except (ClientError, BotoCoreError, boto3.exceptions.S3UploadFailedError) as error:
            raise ObjectError(f"Cannot write to the output location: {_why(error)}") from error


def _owner(config: dict[str, Any]) -> Any:
    owner = config.get("s3BucketOwner")
    return {"ExpectedBucketOwner": owner} if owner else {}


def _why(error: Exception) -> str:
    if isinstance(error, ClientError):
        return error.response.get("Error", {}).get("Code", "unknown error")
    cause = error.__cause__ or error.__context__
    if isinstance(cause, ClientError):
        return _why(cause)
    return type(error).__name__
