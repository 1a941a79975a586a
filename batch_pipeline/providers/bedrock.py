"""Amazon Bedrock batch inference (`CreateModelInvocationJob` and its kin) and its on-demand twin.

Facts: AWS's user guide, botocore's service model and field reports. A token repeated with the same
body is answered with the first job; a job is found again by listing names and comparing tokens;
outputs lie below `<output>/<job id>/` and are found by listing, never by guessing.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from batch_pipeline.errors import ConfigurationError, QuotaReached, TerminalError, TransientError
from batch_pipeline.provider_settings import BedrockProvider
from batch_pipeline.providers.aws import AwsClients, clients
from batch_pipeline.providers.aws_errors import (
    NO_ANSWER,
    NOT_REACHED,
    MappedStream,
    code_of,
    hinted,
    is_busy,
    mapped,
    said,
)
from batch_pipeline.providers.bedrock_manifest import read_manifest
from batch_pipeline.providers.bedrock_preflight import Preflight
from batch_pipeline.providers.capabilities import BEDROCK, Capabilities
from batch_pipeline.providers.contract import (
    ENDED,
    BatchProvider,
    Check,
    ErasureCertificate,
    JobReport,
    JobRequest,
    LostAnswer,
    OutputFile,
    Phase,
    RecordCounts,
    RefusedAnswer,
    Totals,
)
from batch_pipeline.providers.object_erasure import erase_prefix
from batch_pipeline.providers.registry import Setup

if TYPE_CHECKING:
    from mypy_boto3_bedrock.type_defs import ModelInvocationJobSummaryTypeDef

INPUT_NAME: Final = "records.jsonl"
# Words of a refusal that says: there is such a job, or such a token, already.
_KNOWN_ALREADY: Final = ("in use", "already exists", "clientrequesttoken was used")
# The clock of the ledger and that of the provider may differ by this much.
_CLOCK_SKEW: Final = timedelta(minutes=15)


def open_provider(setup: Setup) -> BatchProvider:
    """Bedrock as the migration's file and the environment name it together.

    Raises:
        ConfigurationError: neither names the bucket or the role.
    """
    named, settings = setup.section, setup.settings
    assert isinstance(named, BedrockProvider)
    bucket = named.bucket or settings.bucket
    role = named.role_arn or settings.role_arn
    if bucket is None:
        raise ConfigurationError("provider.bucket", "(not set)", "name it, or set BATCH_PIPELINE_BUCKET")
    if role is None:
        raise ConfigurationError("provider.role_arn", "(not set)", "name it, or set BATCH_PIPELINE_ROLE_ARN")
    return Bedrock(
        aws=setup.aws() if setup.aws else clients(),
        bucket=bucket,
        prefix=f"{named.prefix}/{setup.key}/",
        role_arn=role,
        bucket_owner=named.bucket_owner or settings.bucket_owner,
        kms_key_id=named.kms_key_id,
    )


@dataclass(frozen=True)
class Bedrock:
    """One account and Region, one bucket, one migration's prefix in it."""

    aws: AwsClients
    bucket: str
    prefix: str  # of this migration alone, ends with "/"
    role_arn: str
    bucket_owner: str | None = None
    kms_key_id: str | None = None

    @property
    def capabilities(self) -> Capabilities:
        return BEDROCK

    @property
    def place_settings(self) -> str:
        return "bucket, prefix, role or Region"

    @property
    def fingerprint(self) -> tuple[str, ...]:
        return (self.role_arn, str(self.bucket_owner), str(self.kms_key_id))

    @property
    def account(self) -> str:
        """`bedrock:<account of the role>:<Region>`: quotas are per account and Region."""
        return f"bedrock:{self.role_arn.split(':')[4]}:{self.aws.region}"

    @property
    def home(self) -> str:
        """Where everything of this migration lies."""
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def _owner(self) -> dict[str, Any]:
        return {"ExpectedBucketOwner": self.bucket_owner} if self.bucket_owner else {}

    def preflight(self, model: str, planned: Mapping[str, int] | None) -> list[Check]:
        """Everything a paid call for `model` needs, looked at without paying."""
        look = Preflight(self.aws, self.bucket, self.prefix, self.bucket_owner, self.role_arn)
        return look.checks(model, planned)

    def _input_folder(self, name: str) -> str:
        return f"{self.prefix}input/{name}/"

    def upload(self, name: str, body: BinaryIO, size: int) -> str:
        """Store a shard as the only object below its job's own input folder.

        Every JSONL file below a folder would be run and billed, so anything else found there stops
        the upload.

        Raises:
            TerminalError: the folder holds objects that are not part of the plan.
        """
        folder = self._input_folder(name)
        key = folder + INPUT_NAME
        with mapped(f"upload of {name}"):
            self.aws.s3.upload_fileobj(
                body,
                self.bucket,
                key,
                ExtraArgs={"ContentType": "application/jsonl", **self._owner},
            )
            found = {entry["Key"]: entry["Size"] for entry in self._objects(folder)}
        if found != {key: size}:
            raise TerminalError(
                f"upload of {name}: its input folder should hold one object of {size} bytes and holds "
                f"{len(found)} of {sum(found.values())} bytes; nothing was sent. Remove what does not belong there"
            )
        return f"s3://{self.bucket}/{key}"

    def input_uri(self, name: str) -> str:
        return f"s3://{self.bucket}/{self._input_folder(name)}{INPUT_NAME}"

    def output_uri(self, name: str) -> str:
        return f"s3://{self.bucket}/{self.prefix}output/{name}/"

    def discard(self, name: str) -> None:
        """Every version of the upload goes, not only its name."""
        with mapped(f"removal of the upload of {name}"):
            pages = self.aws.s3.get_paginator("list_object_versions").paginate(
                Bucket=self.bucket, Prefix=self._input_folder(name), **self._owner
            )
            for page in pages:
                for entry in page.get("Versions", []):
                    self._delete(entry["Key"], entry.get("VersionId"))

    def _delete(self, key: str, version: str | None) -> None:
        named: dict[str, Any] = {"VersionId": version} if version else {}
        self.aws.s3.delete_object(Bucket=self.bucket, Key=key, **named, **self._owner)

    def create(self, request: JobRequest) -> str:
        """Start the job. One HTTP attempt: a lost answer is the caller's to resolve."""
        owner: dict[str, Any] = {"s3BucketOwner": self.bucket_owner} if self.bucket_owner else {}
        key: dict[str, Any] = {"s3EncryptionKeyId": self.kms_key_id} if self.kms_key_id else {}
        source: Any = {"s3Uri": request.input_uri, "s3InputFormat": "JSONL", **owner}
        target: Any = {"s3Uri": request.output_uri, **owner, **key}
        kind: Any = request.invocation_type
        try:
            answer = self.aws.bedrock_paid.create_model_invocation_job(
                jobName=request.name,
                roleArn=self.role_arn,
                clientRequestToken=request.token,
                modelId=request.model,
                modelInvocationType=kind,
                timeoutDurationInHours=request.timeout_hours,
                inputDataConfig={"s3InputDataConfig": source},
                outputDataConfig={"s3OutputDataConfig": target},
            )
        except ClientError as error:
            raise self._refusal(request, error) from None
        except NOT_REACHED:
            raise TransientError(f"job {request.name}: Bedrock was not reached; nothing was sent") from None
        except NO_ANSWER as error:
            raise LostAnswer(f"job {request.name}: {type(error).__name__} after the request left") from None
        except BotoCoreError as error:
            raise TerminalError(f"job {request.name}: {error}") from None
        if not answer.get("jobArn"):
            raise LostAnswer(f"job {request.name}: the answer names no job")
        return answer["jobArn"]

    @staticmethod
    def _refusal(request: JobRequest, error: ClientError) -> Exception:
        """What a refusal means for money: a 5xx, a conflict and a name or token in use leave a doubt."""
        code, status = code_of(error)
        words = f"job {request.name}: {said(error)}"
        if code == "ServiceQuotaExceededException":
            return QuotaReached(words)
        if is_busy(error):
            return TransientError(words)
        known = any(mark in words.lower() for mark in _KNOWN_ALREADY)
        if status >= 500 or status == HTTPStatus.REQUEST_TIMEOUT or code == "ConflictException" or known:
            return LostAnswer(words)
        return TerminalError(words)

    def find(
        self,
        request: JobRequest,
        since: datetime,
        known: Collection[str] = (),  # noqa: ARG002 - tokens tell
    ) -> JobReport | None:
        """By name and token among the jobs submitted since then; pages are followed to the end.

        How long an ended job stays in that list is not documented, so what the job may have written is
        looked at too: its output folder is its own, and holds a folder named by its id.

        Raises:
            TerminalError: there is output under this job's name and the provider knows no such job.
        """
        with mapped(f"look-up of {request.name}"):
            for page in self.aws.bedrock.get_paginator("list_model_invocation_jobs").paginate(
                nameContains=request.name, submitTimeAfter=since - _CLOCK_SKEW
            ):
                for summary in page.get("invocationJobSummaries", []):
                    if summary.get("jobName") == request.name and self._same(request, summary):
                        return _report(summary)
            return self._found_by_output(request)

    def _found_by_output(self, request: JobRequest) -> JobReport | None:
        """The job whose output lies below this request's own output folder."""
        folder = f"{self.prefix}output/{request.name}/"
        keys = [str(entry["Key"]) for entry in self._objects(folder)]
        for job_id in sorted({key.removeprefix(folder).partition("/")[0] for key in keys}):
            answer = self.aws.bedrock.get_model_invocation_job(jobIdentifier=job_id)
            if answer.get("clientRequestToken", request.token) == request.token:
                return _report(answer)
        return None

    def _same(self, request: JobRequest, summary: "ModelInvocationJobSummaryTypeDef") -> bool:
        token: str | None = summary.get("clientRequestToken")
        if token is None:
            answer: Mapping[str, Any] = self.aws.bedrock.get_model_invocation_job(
                jobIdentifier=summary["jobArn"]
            )
            token = answer.get("clientRequestToken")
        if token is None:
            # a server that keeps no tokens would start a second job for ours: a folder holds one request's input
            return _input_of(summary) == request.input_uri
        return token == request.token

    def reports(self, since: datetime) -> Iterator[JobReport]:
        with mapped("list of jobs"):
            for page in self.aws.bedrock.get_paginator("list_model_invocation_jobs").paginate(
                submitTimeAfter=since - _CLOCK_SKEW, PaginationConfig={"PageSize": 1000}
            ):
                for summary in page.get("invocationJobSummaries", []):
                    yield _report(summary)

    def report(self, provider_id: str) -> JobReport:
        with mapped(f"status of {provider_id}"):
            return _report(self.aws.bedrock.get_model_invocation_job(jobIdentifier=provider_id))

    def stop(self, provider_id: str) -> None:
        with mapped(f"stop of {provider_id}"):
            try:
                self.aws.bedrock.stop_model_invocation_job(jobIdentifier=provider_id)
            except ClientError as error:
                # it ended in between: a stop races the end of the job
                if code_of(error)[0] not in {"ConflictException", "ValidationException"}:
                    raise

    def outputs(self, name: str, provider_id: str) -> list[OutputFile]:
        """The `.out` files below the job's own folder, manifest left out."""
        job_id = provider_id.rpartition("/")[2]
        folder = f"{self.prefix}output/{name}/{job_id}/"
        with mapped(f"list of the outputs of {name}"):
            return [
                OutputFile(entry["Key"], entry["Size"])
                for entry in self._objects(folder)
                if entry["Key"].endswith(".jsonl.out")
            ]

    def totals(self, name: str, provider_id: str) -> Totals:
        """From the manifest; a missing one says nothing."""
        folder = f"{self.prefix}output/{name}/{provider_id.rpartition('/')[2]}/"
        with mapped(f"read of the manifest of {name}"):
            keys = [str(e["Key"]) for e in self._objects(folder) if e["Key"].endswith("manifest.json.out")]
            if not keys:
                return Totals()
            body = self.aws.s3.get_object(Bucket=self.bucket, Key=keys[0], **self._owner)["Body"].read()
        return read_manifest(body)

    def open(self, file: OutputFile) -> MappedStream:
        what = "read of an output file"
        with mapped(what):
            body = self.aws.s3.get_object(Bucket=self.bucket, Key=file.key, **self._owner)["Body"]
        return MappedStream(body, what)

    def _objects(self, prefix: str) -> list[dict[str, Any]]:
        pages = self.aws.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=prefix, **self._owner
        )
        entries = [entry for page in pages for entry in page.get("Contents", [])]
        return sorted(({"Key": e["Key"], "Size": e["Size"]} for e in entries), key=lambda e: str(e["Key"]))

    def answer(
        self, model: str, invocation_type: str, model_input: Mapping[str, object]
    ) -> Mapping[str, object]:
        """One paid call, one HTTP attempt."""
        try:
            if invocation_type == "Converse":
                arguments: dict[str, Any] = dict(model_input)
                answer = dict(self.aws.runtime.converse(modelId=model, **arguments))
                answer.pop("ResponseMetadata", None)
                return answer
            payload = self.aws.runtime.invoke_model(
                modelId=model,
                body=json.dumps(model_input),
                contentType="application/json",
                accept="application/json",
            )["body"].read()
        except ClientError as error:
            code, status = code_of(error)
            # whether a call that timed out or broke inside the service is billed is not documented
            doubtful = status >= 500 or status == HTTPStatus.REQUEST_TIMEOUT
            if doubtful and not is_busy(error):
                raise LostAnswer(f"on-demand call: {code} ({status})") from None
            raise RefusedAnswer(status, said(error)) from None
        except NOT_REACHED:
            raise TransientError("on-demand call: Bedrock was not reached; nothing was sent") from None
        except NO_ANSWER as error:
            raise LostAnswer(f"on-demand call: {type(error).__name__} after the request left") from None
        except ParamValidationError:
            # botocore quotes the request, and the request is a CV
            raise RefusedAnswer(400, "the SDK refused the request before it left") from None
        except BotoCoreError as error:
            raise TerminalError(f"on-demand call: {error}; nothing was sent") from None
        try:
            output: Mapping[str, object] = json.loads(payload)
        except ValueError:
            raise LostAnswer("on-demand call: the answer is no JSON") from None
        return output

    def erase(self, provider_ids: Sequence[str], since: datetime) -> ErasureCertificate:  # noqa: ARG002
        """Whatever lies below this migration's prefix: nothing of it is anywhere else."""
        return erase_prefix(self.aws.s3, self.bucket, self.prefix, self.bucket_owner)


def _input_of(summary: "ModelInvocationJobSummaryTypeDef") -> str | None:
    return summary["inputDataConfig"].get("s3InputDataConfig", {}).get("s3Uri")


def _report(summary: Mapping[str, Any]) -> JobReport:
    """Of a summary or of the whole answer. Servers other than AWS leave members out that AWS always gives.

    Raises:
        TerminalError: it names no job.
    """
    if "jobArn" not in summary:
        raise TerminalError(
            "Bedrock answered with a job that has no jobArn: is the endpoint a Bedrock server?"
        )
    status = str(summary.get("status", "Submitted"))
    phase: Phase = "ended" if status in ENDED else "running"
    return JobReport(
        provider_id=summary["jobArn"],
        name=summary.get("jobName", ""),
        token=summary.get("clientRequestToken"),
        status=status,
        phase=phase,
        message=hinted(summary["message"]) if summary.get("message") else None,
        ended_at=summary.get("endTime"),
        deadline=summary.get("jobExpirationTime"),
        counts=RecordCounts(
            summary.get("totalRecordCount"),
            summary.get("processedRecordCount"),
            summary.get("successRecordCount"),
            summary.get("errorRecordCount"),
        ),
    )
