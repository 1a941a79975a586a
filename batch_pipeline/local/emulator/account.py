"""What is emulated of the services beside Bedrock: who calls (STS), the job's role (IAM), the quotas.

STS and IAM speak the query protocol (a form in, XML out), Service Quotas speaks JSON by a target header;
all three are POSTs to `/`, told apart by what they carry.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, quote
from xml.sax.saxutils import escape

from batch_pipeline.local.emulator.aws_errors import AwsError
from batch_pipeline.local.emulator.faults import ApiFaults, Operation
from batch_pipeline.local.emulator.rules import Limits

QUOTAS_TARGET: Final = "ServiceQuotasV20190624.ListServiceQuotas"

_NAMESPACES: Final[Mapping[str, str]] = {
    "GetCallerIdentity": "https://sts.amazonaws.com/doc/2011-06-15/",
    "GetRole": "https://iam.amazonaws.com/doc/2010-05-08/",
    "SimulatePrincipalPolicy": "https://iam.amazonaws.com/doc/2010-05-08/",
}
_OPERATIONS: Final[tuple[Operation, ...]] = ("GetCallerIdentity", "GetRole", "SimulatePrincipalPolicy")

# Names as Service Quotas lists them; the emulator has one set of limits for every model.
_MODELS: Final = ("Claude 3 Haiku", "Claude Haiku 4.5", "Nova Lite V1", "Nova Micro V1", "Qwen3 32B")
_QUOTAS: Final = (
    ("Minimum number of records per batch inference job for {}", "min_records_per_job", 1),
    ("Records per input file per batch inference job for {}", "max_records_per_file", 1),
    ("Records per batch inference job for {}", "max_records_per_job", 1),
    ("Batch inference input file size (in GB) for {}", "max_file_bytes", 1_000_000_000),
    ("Batch inference job size (in GB) for {}", "max_job_bytes", 1_000_000_000),
    (
        "Sum of in-progress and submitted batch inference jobs using a base model for {}",
        "max_open_jobs_per_model",
        1,
    ),
)
_PAGE: Final = 20


def query_operation(form: bytes) -> Operation | None:
    """The emulated operation a query-protocol body asks for."""
    asked = parse_qs(form.decode("utf-8", errors="replace")).get("Action")
    return next((operation for operation in _OPERATIONS if asked == [operation]), None)


def answer_query(operation: Operation, form: bytes, account: str, faults: ApiFaults, request_id: str) -> str:
    """The XML answer of one query-protocol operation."""
    given = {
        key: values[0] for key, values in parse_qs(form.decode("utf-8", errors="replace")).items() if values
    }
    if operation == "GetCallerIdentity":
        result = (
            f"<Arn>arn:aws:iam::{account}:user/emulator</Arn><UserId>AIDAEMULATOR</UserId>"
            f"<Account>{account}</Account>"
        )
    elif operation == "GetRole":
        result = _role(given.get("RoleName", ""), account, faults)
    else:
        result = _simulated(given, faults)
    return (
        f'<{operation}Response xmlns="{_NAMESPACES[operation]}"><{operation}Result>{result}</{operation}Result>'
        f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{operation}Response>"
    )


def query_error(error: AwsError, request_id: str) -> str:
    """The query protocol's error body; its codes drop the word Exception."""
    return (
        '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>'
        f"<Code>{error.name.removesuffix('Exception')}</Code><Message>{escape(error.message)}</Message></Error>"
        f"<RequestId>{request_id}</RequestId></ErrorResponse>"
    )


def service_quotas(body: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """One page of Bedrock's quotas: those of batch, and one that only looks like them."""
    if body.get("ServiceCode") != "bedrock":
        raise AwsError("ValidationException", "Only the quotas of bedrock are emulated.")
    rows = [
        _quota(name.format(model), getattr(limits, field) / unit)
        for model in _MODELS
        for name, field, unit in _QUOTAS
    ]
    rows.append(_quota("Minimum number of records per batch inference job for Claude 3 Haiku Long", 1.0))
    start = int(body.get("NextToken") or 0)
    page: dict[str, Any] = {"Quotas": rows[start : start + _PAGE]}
    if start + _PAGE < len(rows):
        page["NextToken"] = str(start + _PAGE)
    return page


def _quota(name: str, value: float) -> dict[str, Any]:
    code = hashlib.sha256(name.encode()).hexdigest()[:8].upper()
    return {"ServiceCode": "bedrock", "QuotaCode": f"L-{code}", "QuotaName": name, "Value": value}


def _role(name: str, account: str, faults: ApiFaults) -> str:
    if faults.role == "missing":
        raise AwsError("NoSuchEntity", f"The role with name {name} cannot be found.")
    service = "bedrock.amazonaws.com" if faults.role == "right" else "ec2.amazonaws.com"
    trust = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
    }
    return (
        f"<Role><Path>/</Path><RoleName>{escape(name)}</RoleName><RoleId>AROAEMULATOR</RoleId>"
        f"<Arn>arn:aws:iam::{account}:role/{escape(name)}</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate>"
        f"<AssumeRolePolicyDocument>{quote(json.dumps(trust))}</AssumeRolePolicyDocument></Role>"
    )


def _simulated(given: Mapping[str, str], faults: ApiFaults) -> str:
    decision = "implicitDeny" if faults.deny_pass_role else "allowed"
    return (
        f"<IsTruncated>false</IsTruncated><EvaluationResults><member>"
        f"<EvalActionName>{escape(given.get('ActionNames.member.1', ''))}</EvalActionName>"
        f"<EvalResourceName>{escape(given.get('ResourceArns.member.1', '*'))}</EvalResourceName>"
        f"<EvalDecision>{decision}</EvalDecision></member></EvaluationResults>"
    )
