"""What a paid Bedrock call needs, looked at without paying."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.providers.aws import AwsClients
from batch_pipeline.providers.aws_errors import mapped
from batch_pipeline.providers.bedrock_account import AccountChecks, is_aws
from batch_pipeline.providers.contract import Check


@dataclass(frozen=True)
class Preflight:
    """The checks of one migration's bucket, prefix and model."""

    aws: AwsClients
    bucket: str
    prefix: str
    bucket_owner: str | None
    role_arn: str

    def checks(self, model: str, planned: Mapping[str, int] | None) -> list[Check]:
        account = AccountChecks(
            self.aws.bedrock.meta.endpoint_url, self.role_arn, _without_profile(model), planned
        )
        return [
            *account.checks(),
            self._bucket(),
            self._objects(),
            self._jobs(),
            self._model(model),
        ]

    @property
    def _owner(self) -> dict[str, Any]:
        return {"ExpectedBucketOwner": self.bucket_owner} if self.bucket_owner else {}

    def _bucket(self) -> Check:
        """Credentials, existence, owner, and the Region: Bedrock reads only buckets of its own."""
        subject = f"bucket {self.bucket}"
        try:
            with mapped(subject):
                answer = self.aws.s3.head_bucket(Bucket=self.bucket, **self._owner)
        except (TransientError, TerminalError) as error:
            return Check.failed(subject, error, "Create it, or let these credentials reach it")
        region = answer.get("BucketRegion")
        # other servers than S3 have no Regions and name any
        if region and region != self.aws.region and is_aws(self.aws.s3.meta.endpoint_url):
            return Check(
                subject, False, f"lies in {region}, Bedrock is asked in {self.aws.region}: use one Region"
            )
        owner = f", owned by {self.bucket_owner}" if self.bucket_owner else ""
        return Check(subject, True, f"reached{owner}")

    def _objects(self) -> Check:
        """A probe object is written, read back and deleted, its version too."""
        key = f"{self.prefix}probe"
        subject = f"objects under s3://{self.bucket}/{self.prefix}"
        try:
            with mapped(subject):
                put = self.aws.s3.put_object(Bucket=self.bucket, Key=key, Body=b"probe", **self._owner)
                body = self.aws.s3.get_object(Bucket=self.bucket, Key=key, **self._owner)["Body"].read()
                version: dict[str, Any] = {"VersionId": put["VersionId"]} if put.get("VersionId") else {}
                self.aws.s3.delete_object(Bucket=self.bucket, Key=key, **version, **self._owner)
        except (TransientError, TerminalError) as error:
            return Check.failed(
                subject,
                error,
                "Allow s3:PutObject, GetObject, DeleteObject, DeleteObjectVersion and ListBucket",
            )
        return Check(subject, body == b"probe", "written, read and deleted")

    def _jobs(self) -> Check:
        subject = f"Bedrock batch in {self.aws.region}"
        try:
            with mapped(subject):
                self.aws.bedrock.list_model_invocation_jobs(maxResults=1)
        except (TransientError, TerminalError) as error:
            return Check.failed(subject, error, "Allow bedrock:ListModelInvocationJobs and its kin")
        return Check(subject, True, "answers")

    def _model(self, model: str) -> Check:
        """A bare model id must be one that is not served through inference profiles alone.

        Whether it can be batched at all is said by no API; the first job says it, free of charge.
        """
        subject = f"model {model}"
        if model.startswith("arn:") or "." not in model or model.split(".", 1)[0] in _PROFILE_PREFIXES:
            return Check(subject, True, "an inference profile or ARN")
        try:
            with mapped(subject):
                # without retries: where this is not allowed or not known, nothing depends on it
                details: Any = self.aws.bedrock_paid.get_foundation_model(modelIdentifier=model)
        except (TransientError, TerminalError) as error:
            return Check(subject, True, f"not looked up ({error})")
        types = details["modelDetails"].get("inferenceTypesSupported", [])
        if types and "ON_DEMAND" not in types:
            return Check(
                subject,
                False,
                f"is served through inference profiles only ({', '.join(types)}): name one, such as "
                f"us.{model}, eu.{model} or global.{model}",
            )
        return Check(subject, True, "known here")


_PROFILE_PREFIXES: Final = frozenset({"us", "us-gov", "eu", "apac", "au", "jp", "ca", "sa", "global"})


def _without_profile(model: str) -> str:
    """The bare id behind a profile id or an ARN of either."""
    bare = model.rpartition("/")[2]
    head, _, rest = bare.partition(".")
    return rest if head in _PROFILE_PREFIXES else bare
