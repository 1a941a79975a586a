"""What the AWS account says of a migration's plan: who asks, the job's role, the quotas granted.

Three services beside Bedrock are read, and nothing depends on being allowed to: a right that is missing
is said, and the job's own answer decides. They are asked only where they are the same cloud that Bedrock
is, on AWS or by an endpoint setting of their own; another server's credentials are nothing to AWS.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.providers.aws import client_asked_once
from batch_pipeline.providers.aws_errors import mapped
from batch_pipeline.providers.bedrock_quotas import granted, listed_as
from batch_pipeline.providers.contract import Check

AWS_HOSTS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
_SERVICE: Final = "bedrock.amazonaws.com"


def is_aws(endpoint: str) -> bool:
    """Whether an endpoint is AWS's own."""
    return (urlsplit(endpoint).hostname or "").endswith(AWS_HOSTS)


@dataclass(frozen=True)
class AccountChecks:
    """Checks of the caller, the role `role_arn` and the quotas of `base_model` against `planned` limits."""

    bedrock_endpoint: str
    role_arn: str
    base_model: str
    planned: Mapping[str, int] | None

    def checks(self) -> Iterator[Check]:
        if self._asks("sts"):
            yield from self._identity_and_role()
        if self.planned is not None and self._asks("service-quotas"):
            yield self._quotas(self.planned)

    def _asks(self, service: str) -> bool:
        named = f"AWS_ENDPOINT_URL_{service.upper().replace('-', '_')}"
        return bool(os.environ.get(named)) or is_aws(self.bedrock_endpoint)

    def _identity_and_role(self) -> Iterator[Check]:
        subject = "credentials"
        try:
            with mapped(subject):
                caller = client_asked_once("sts").get_caller_identity()
        except TransientError as error:
            yield Check(subject, True, _not_looked_up(subject, error))
            return
        except TerminalError as error:
            yield Check.failed(subject, error, "Renew them, or name a profile by AWS_PROFILE")
            return
        account, owner = caller["Account"], self.role_arn.split(":")[4]
        if account != owner:
            yield Check(
                subject,
                False,
                f"are of account {account}, the job's role is of {owner}: a role can be passed to Bedrock "
                "within its own account only. Use credentials or a role of one account",
            )
            return
        yield Check(subject, True, f"of account {account}")
        if self._asks("iam"):
            yield self._role()
            yield self._pass_role(caller["Arn"])

    def _role(self) -> Check:
        """The role is there, and Bedrock may take it on."""
        subject = f"role {self.role_arn}"
        try:
            with mapped(subject):
                role = client_asked_once("iam").get_role(RoleName=self.role_arn.rpartition("/")[2])["Role"]
        except (TransientError, TerminalError) as error:
            if "NoSuchEntity" in str(error):
                return Check(subject, False, "does not exist: create it, or name another one")
            return Check(subject, True, _not_looked_up(subject, error))
        if not _trusts_bedrock(role.get("AssumeRolePolicyDocument")):
            return Check(
                subject, False, f"does not let {_SERVICE} take it on: allow sts:AssumeRole to that service"
            )
        return Check(subject, True, f"trusts {_SERVICE}")

    def _pass_role(self, caller_arn: str) -> Check:
        subject = "iam:PassRole"
        try:
            with mapped(subject):
                answer = client_asked_once("iam").simulate_principal_policy(
                    PolicySourceArn=_principal(caller_arn),
                    ActionNames=["iam:PassRole"],
                    ResourceArns=[self.role_arn],
                    ContextEntries=[
                        {
                            "ContextKeyName": "iam:PassedToService",
                            "ContextKeyValues": [_SERVICE],
                            "ContextKeyType": "string",
                        }
                    ],
                )
        except (TransientError, TerminalError) as error:
            return Check(subject, True, _not_looked_up(subject, error))
        decisions = {result["EvalDecision"] for result in answer.get("EvaluationResults", [])}
        if decisions - {"allowed"}:
            return Check(
                subject,
                False,
                f"{', '.join(sorted(decisions))}: allow iam:PassRole on {self.role_arn} to these credentials",
            )
        return Check(subject, True, "allowed")

    def _quotas(self, planned: Mapping[str, int]) -> Check:
        subject = "quotas"
        name = listed_as(self.base_model)
        if name is None:
            return Check(
                subject, True, f"not looked up (no name of {self.base_model} in Service Quotas known)"
            )
        try:
            with mapped(subject):
                pages = client_asked_once("service-quotas").get_paginator("list_service_quotas")
                found = granted(
                    (quota for page in pages.paginate(ServiceCode="bedrock") for quota in page["Quotas"]),
                    name,
                )
        except (TransientError, TerminalError) as error:
            return Check(subject, True, _not_looked_up(subject, error))
        if not found:
            return Check(subject, True, f"none listed for {name}, the plan keeps our defaults")
        return _compared(subject, found, planned)


def _compared(subject: str, found: Mapping[str, int], planned: Mapping[str, int]) -> Check:
    """A plan must keep what the account is granted; jobs over the in-flight quota only wait.

    A job of ours has one file, so the lower limit of file and job is what a plan really uses.
    """
    records = min(planned["max_records_per_file"], planned["max_records_per_job"])
    size = min(planned["max_file_bytes"], planned["max_job_bytes"])
    used = {
        "max_records_per_file": records,
        "max_records_per_job": records,
        "max_file_bytes": size,
        "max_job_bytes": size,
    }
    broken = {field: value for field, value in used.items() if value > found.get(field, value)}
    if planned["min_records"] < found.get("min_records", 0):
        broken["min_records"] = planned["min_records"]
    if broken:
        plans = ", ".join(f"{field} {value}" for field, value in broken.items())
        fixes = ", ".join(f"provider.quotas.{field}: {found[field]}" for field in broken)
        return Check(
            subject, False, f"this account is granted less than the plan uses ({plans}): set {fixes}"
        )
    return Check(subject, True, ", ".join(f"{field} {value}" for field, value in sorted(found.items())))


def _not_looked_up(subject: str, error: Exception) -> str:
    return f"not looked up ({str(error).removeprefix(f'{subject}: ')})"


def _trusts_bedrock(policy: Any) -> bool:
    """Whether a trust policy (a dict, as botocore decodes it) lets the Bedrock service assume the role."""
    statements = policy.get("Statement", []) if isinstance(policy, dict) else []
    for statement in statements if isinstance(statements, list) else [statements]:
        principal = statement.get("Principal", {})
        services = principal.get("Service", []) if isinstance(principal, dict) else []
        named = {services} if isinstance(services, str) else set(services)
        if statement.get("Effect") == "Allow" and _SERVICE in named:
            return True
    return False


def _principal(arn: str) -> str:
    """The role behind an assumed-role session: policies hang on roles, not on sessions."""
    prefix, _, rest = arn.partition(":assumed-role/")
    if not rest:
        return arn
    return f"{prefix.replace(':sts:', ':iam:')}:role/{rest.partition('/')[0]}"
