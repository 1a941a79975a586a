"""Field rules of the Bedrock control plane (botocore 1.44.8 service model), checked by the server.

boto3 checks types, required members, minima and unions only; patterns, maxima and enums leave the
machine unchecked. `jobName` is checked by hand: its published pattern is exponential in Python's `re`.
"""

import re
import string
from collections.abc import Callable
from typing import Any, Final

from batch_pipeline.local.emulator.aws_errors import AwsError

_ALNUM: Final = frozenset(string.ascii_letters + string.digits)
_NAME: Final = _ALNUM | frozenset("+-.")
_TOKEN: Final = _ALNUM | frozenset("-")

ROLE_ARN: Final = re.compile(r"arn:aws(-[^:]+)?:iam::([0-9]{12})?:role/.+")
ACCOUNT: Final = re.compile(r"[0-9]{12}")
MODEL_ID: Final = re.compile(
    r"(arn:aws(-[^:]+)?:bedrock:[a-z0-9-]{1,20}:(([0-9]{12}:custom-model/[a-z0-9-]{1,63}[.][a-z0-9\-:]{1,63}"
    r"/[a-z0-9]{12})|(:foundation-model/([a-z0-9-]{1,63}[.][a-z0-9-]{1,63}([.]?[a-z0-9-]{1,63})"
    r"([:][a-z0-9-]{1,63}){0,2})|(([0-9a-zA-Z][_-]?)+))|([0-9]{12}:(inference-profile|"
    r"application-inference-profile)/[a-zA-Z0-9\-:.]+)))|([a-z0-9-]{1,63}[.][a-z0-9-]{1,63}"
    r"([.]?[a-z0-9-]{1,63})([:][a-z0-9-]{1,63}){0,2})|(([0-9a-zA-Z][_-]?)+)"
)
S3_URI: Final = re.compile(
    r"s3://[a-z0-9][-.a-z0-9]{1,61}[a-z0-9](?:/[-!_*'().a-z0-9A-Z]+(?:/[-!_*'().a-z0-9A-Z]+)*)?/?"
)
KMS_KEY: Final = re.compile(
    r"(arn:aws(-[^:]+)?:kms:[a-zA-Z0-9-]*:[0-9]{12}:((key/[a-zA-Z0-9-]{36})|(alias/[a-zA-Z0-9\-_/]+)))"
    r"|([a-zA-Z0-9-]{36})|(alias/[a-zA-Z0-9\-_/]+)"
)
VPC_ID: Final = re.compile(r"[-0-9a-zA-Z]+")
TAG: Final = re.compile(r"[a-zA-Z0-9\s._:/=+@-]*")
PAGE_TOKEN: Final = re.compile(r"\S*")
JOB_ID: Final = re.compile(
    r"(?:arn:aws(?:-[^:]+)?:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:model-invocation-job/)?[a-z0-9]{12}"
)

STATUSES: Final = (
    "Submitted", "InProgress", "Completed", "Failed", "Stopping", "Stopped", "PartiallyCompleted",
    "Expired", "Validating", "Scheduled",
)  # fmt: skip
INVOCATION_TYPES: Final = ("InvokeModel", "Converse")


def is_job_name(value: str) -> bool:
    """Whether `[a-zA-Z0-9]{1,63}(-*[a-zA-Z0-9\\+\\-\\.]){0,63}` matches (length is a rule of its own)."""
    return value[:1] in _ALNUM and _NAME.issuperset(value) if value else False


def is_token(value: str) -> bool:
    """Whether `[a-zA-Z0-9]{1,256}(-*[a-zA-Z0-9]){0,256}` matches (length is a rule of its own)."""
    return bool(value) and value[0] in _ALNUM and value[-1] in _ALNUM and _TOKEN.issuperset(value)


class Findings:
    """Every violated rule of one request, answered together as AWS does."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, value: object, field: str, rule: str) -> None:
        shown = "null" if value is None else str(value)[:200]
        self._found.append(f"Value '{shown}' at '{field}' failed to satisfy constraint: Member must {rule}")

    def raise_any(self) -> None:
        if self._found:
            count = len(self._found)
            noun = "error" if count == 1 else "errors"
            raise AwsError(
                "ValidationException", f"{count} validation {noun} detected: {'; '.join(self._found)}"
            )

    def text(
        self,
        value: Any,
        field: str,
        pattern: re.Pattern[str] | Callable[[str], bool] | None,
        *,
        shortest: int = 0,
        longest: int | None = None,
        required: bool = False,
    ) -> None:
        """Check a string member; a wrong type is a SerializationException as in AWS."""
        if value is None:
            if required:
                self.add(None, field, "not be null")
            return
        if not isinstance(value, str):
            raise AwsError("SerializationException", f"{field}: STRING_VALUE expected")
        if len(value) < shortest:
            self.add(value, field, f"have length greater than or equal to {shortest}")
        if longest is not None and len(value) > longest:
            self.add(value, field, f"have length less than or equal to {longest}")
        if isinstance(pattern, re.Pattern):
            if not pattern.fullmatch(value):
                self.add(value, field, f"satisfy regular expression pattern: {pattern.pattern}")
        elif pattern is not None and not pattern(value):
            self.add(value, field, f"satisfy regular expression pattern: {pattern.__doc__ or ''}")

    def choice(self, value: Any, field: str, choices: tuple[str, ...]) -> None:
        if value is not None and value not in choices:
            self.add(value, field, f"satisfy enum value set: [{', '.join(choices)}]")

    def number(self, value: Any, field: str, lowest: int, highest: int) -> None:
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int):
            raise AwsError("SerializationException", f"{field}: NUMBER_VALUE expected")
        if value < lowest:
            self.add(value, field, f"have value greater than or equal to {lowest}")
        if value > highest:
            self.add(value, field, f"have value less than or equal to {highest}")


def check_create(body: Any) -> None:
    """Refuse a CreateModelInvocationJob body that breaks a rule of the service model."""
    if not isinstance(body, dict):
        raise AwsError("SerializationException", "The request body is not a JSON object.")
    found = Findings()
    found.text(body.get("jobName"), "jobName", is_job_name, shortest=1, longest=63, required=True)
    found.text(body.get("roleArn"), "roleArn", ROLE_ARN, longest=2048, required=True)
    found.text(body.get("clientRequestToken"), "clientRequestToken", is_token, shortest=1, longest=256)
    found.text(body.get("modelId"), "modelId", MODEL_ID, shortest=1, longest=2048, required=True)
    _check_data(found, body.get("inputDataConfig"), "inputDataConfig", "s3InputDataConfig")
    _check_data(found, body.get("outputDataConfig"), "outputDataConfig", "s3OutputDataConfig")
    _check_vpc(found, body.get("vpcConfig"))
    found.number(body.get("timeoutDurationInHours"), "timeoutDurationInHours", 24, 168)
    _check_tags(found, body.get("tags"))
    found.choice(body.get("modelInvocationType"), "modelInvocationType", INVOCATION_TYPES)
    found.raise_any()


def _check_data(found: Findings, config: Any, field: str, member: str) -> None:
    if config is None:
        found.add(None, field, "not be null")
        return
    if not isinstance(config, dict):
        raise AwsError("SerializationException", f"{field}: STRUCTURE expected")
    given = [name for name, value in config.items() if value is not None]
    if given != [member] or not isinstance(config[member], dict):
        raise AwsError(
            "ValidationException",
            f"{field}: exactly one member must be set: {member}; given: {', '.join(given) or 'none'}",
        )
    place, s3 = f"{field}.{member}", config[member]
    found.text(s3.get("s3Uri"), f"{place}.s3Uri", S3_URI, shortest=1, longest=1024, required=True)
    found.text(s3.get("s3BucketOwner"), f"{place}.s3BucketOwner", ACCOUNT)
    if member == "s3InputDataConfig":
        found.choice(s3.get("s3InputFormat"), f"{place}.s3InputFormat", ("JSONL",))
    else:
        key = s3.get("s3EncryptionKeyId")
        found.text(key, f"{place}.s3EncryptionKeyId", KMS_KEY, shortest=1, longest=2048)


def _check_vpc(found: Findings, vpc: Any) -> None:
    if vpc is None:
        return
    if not isinstance(vpc, dict):
        raise AwsError("SerializationException", "vpcConfig: STRUCTURE expected")
    for name, most in (("subnetIds", 16), ("securityGroupIds", 5)):
        ids = vpc.get(name)
        if ids is None:
            found.add(None, f"vpcConfig.{name}", "not be null")
            continue
        if not isinstance(ids, list):
            raise AwsError("SerializationException", f"vpcConfig.{name}: LIST expected")
        if not 1 <= len(ids) <= most:
            found.add(f"{len(ids)} items", f"vpcConfig.{name}", f"have length between 1 and {most}")
        for index, one in enumerate(ids):
            found.text(one, f"vpcConfig.{name}.{index + 1}.member", VPC_ID, longest=32, required=True)


def _check_tags(found: Findings, tags: Any) -> None:
    if tags is None:
        return
    if not isinstance(tags, list) or not all(isinstance(tag, dict) for tag in tags):
        raise AwsError("SerializationException", "tags: LIST of STRUCTURE expected")
    if len(tags) > 200:
        found.add(f"{len(tags)} tags", "tags", "have length less than or equal to 200")
    for index, tag in enumerate(tags[:200], 1):
        place = f"tags.{index}.member"
        found.text(tag.get("key"), f"{place}.key", TAG, shortest=1, longest=128, required=True)
        found.text(tag.get("value"), f"{place}.value", TAG, longest=256, required=True)


def job_id(identifier: str) -> tuple[str, str | None]:
    """`(12-char id, region or None)` of a job ARN or bare id; a name is a ValidationException."""
    found = Findings()
    found.text(identifier, "jobIdentifier", JOB_ID, longest=1011, required=True)
    found.raise_any()
    if identifier.startswith("arn:"):
        return identifier.rsplit("/", 1)[1], identifier.split(":")[3]
    return identifier, None
