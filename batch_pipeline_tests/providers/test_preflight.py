"""What is looked at before anything is paid, and what is said of it."""

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from urllib3 import HTTPResponse

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.providers.aws import client_asked_once, clients, s3_client
from batch_pipeline.providers.aws_errors import hinted
from batch_pipeline.providers.bedrock_quotas import granted, listed_as
from batch_pipeline.providers.contract import Check
from batch_pipeline_tests.providers.conftest import MODEL, PLANNED, Place

pytestmark = pytest.mark.servers

SERVICES = ("STS", "IAM", "SERVICE_QUOTAS")
BARE = "anthropic.claude-haiku-4-5-20251001-v1:0"


@pytest.fixture
def account(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A place whose account services are the emulator's too."""
    for service in SERVICES:
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", place.emulator.url)
    client_asked_once.cache_clear()
    yield place
    client_asked_once.cache_clear()


def looked_at(place: Place, model: str = MODEL, **planned: int) -> dict[str, Check]:
    return {check.subject.split()[0]: check for check in place.bedrock.preflight(model, PLANNED | planned)}


def test_a_sound_account_passes_every_check(account: Place) -> None:
    checks = looked_at(account)
    assert all(check.passed for check in checks.values())
    assert list(checks) == [
        "credentials", "role", "iam:PassRole", "quotas", "bucket", "objects", "Bedrock", "model",
    ]  # fmt: skip
    assert checks["credentials"].detail == "of account 123456789012"
    assert "max_records_per_job 50000" in checks["quotas"].detail
    assert "not looked up" not in str(checks)


def test_another_server_is_not_asked_about_an_account(place: Place) -> None:
    """Endpoints of Bedrock and S3 alone: the credentials in use there are nothing to AWS."""
    assert list(looked_at(place)) == ["bucket", "objects", "Bedrock", "model"]


@pytest.mark.parametrize(
    ("faults", "subject", "fix"),
    [
        ({"deny": ["GetCallerIdentity"]}, "credentials", "Renew them"),
        ({"role": "missing"}, "role", "create it"),
        ({"role": "untrusting"}, "role", "allow sts:AssumeRole"),
        ({"deny_pass_role": True}, "iam:PassRole", "allow iam:PassRole on"),
    ],
)
def test_what_would_be_refused_is_found_before_it_costs_an_upload(
    account: Place, faults: dict[str, Any], subject: str, fix: str
) -> None:
    account.faults(api=faults)
    failed = [check for check in looked_at(account).values() if not check.passed]
    assert [check.subject.split()[0] for check in failed] == [subject]
    assert fix in failed[0].detail


def test_rights_that_only_inform_may_be_missing(account: Place) -> None:
    account.faults(api={"deny": ["GetRole", "SimulatePrincipalPolicy", "ListServiceQuotas"]})
    checks = looked_at(account)
    assert all(check.passed for check in checks.values())
    for subject in ("role", "iam:PassRole", "quotas"):
        assert "not looked up" in checks[subject].detail


def test_services_that_cannot_be_reached_hold_nothing_up(
    account: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for service in SERVICES:
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", "http://127.0.0.1:9")
    client_asked_once.cache_clear()
    checks = looked_at(account)
    assert all(check.passed for check in checks.values())
    assert "not looked up" in checks["credentials"].detail


def test_a_role_of_another_account_is_found(account: Place) -> None:
    abroad = replace(account.bedrock, role_arn="arn:aws:iam::999999999999:role/batch")
    first = abroad.preflight(MODEL, PLANNED)[0]
    assert not first.passed
    assert "within its own account only" in first.detail


def test_a_plan_over_the_accounts_own_quotas_is_refused_and_the_setting_named(account: Place) -> None:
    account.rules(limits={"max_records_per_job": 20_000, "min_records_per_job": 1_000})
    check = looked_at(account)["quotas"]
    assert not check.passed
    assert "provider.quotas.max_records_per_job: 20000" in check.detail
    assert "provider.quotas.min_records: 1000" in check.detail
    assert looked_at(account, max_records_per_job=20_000, min_records=1_000)["quotas"].passed


def test_a_limit_of_the_job_that_its_one_file_cannot_reach_refuses_nothing(account: Place) -> None:
    assert looked_at(account, max_job_bytes=100_000_000_000)["quotas"].passed


def test_jobs_over_the_in_flight_quota_only_wait(account: Place) -> None:
    account.rules(limits={"max_open_jobs_per_model": 1})
    assert looked_at(account)["quotas"].passed


def test_quotas_of_a_model_nobody_knows_the_name_of_are_said_to_be_unknown(account: Place) -> None:
    check = looked_at(account, "us.minimax.minimax-m2-v1:0")["quotas"]
    assert (check.passed, "not looked up" in check.detail) == (True, True)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("anthropic.claude-3-haiku-20240307-v1:0", "Claude 3 Haiku"),
        ("anthropic.claude-sonnet-4-20250514-v1:0", "Claude Sonnet 4"),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", "Claude Sonnet 4.5"),
        ("anthropic.claude-sonnet-4-6", "Claude Sonnet 4.6"),
        ("anthropic.claude-sonnet-4-7", None),
        ("amazon.nova-lite-v1:0", "Nova Lite V1"),
        ("amazon.nova-2-lite-v1:0", "Nova 2 Lite"),
        ("qwen.qwen3-235b-a22b-2507-v1:0", "Qwen3 235B"),
        ("openai.gpt-oss-120b-1:0", "OpenAI GPT OSS 120b"),
        ("mistral.mistral-large-2407-v1:0", "Mistral Large 2 (24.07)"),
    ],
)
def test_a_models_name_among_the_quotas_is_exact(model: str, name: str | None) -> None:
    assert listed_as(model) == name


def test_quotas_are_told_by_their_whole_name() -> None:
    """Units stand before or after the model; of two of one name the stricter counts."""
    rows = [
        {"QuotaName": "Batch inference job size (in GB) for Qwen3 32B", "Value": 5.0},
        {"QuotaName": "Batch inference input file size for Qwen3 32B (in GB)", "Value": 1.0},
        {"QuotaName": "Records per batch inference job for Qwen3 32B", "Value": 50_000.0},
        {"QuotaName": "Records per batch inference job for Qwen3 32B", "Value": 40_000.0},
        {"QuotaName": "Minimum number of records per batch inference job for Qwen3 32B", "Value": 100.0},
        {"QuotaName": "Minimum number of records per batch inference job for Qwen3 32B", "Value": 200.0},
        {"QuotaName": "Records per input file per batch inference job for Qwen3 32B Coder", "Value": 1.0},
        {"QuotaName": "On-demand model inference requests per minute for Qwen3 32B", "Value": 2.0},
        {"QuotaName": "Throttle rate limit for CreateBlueprint", "Value": 3.0},
    ]
    assert granted(rows, "Qwen3 32B") == {
        "max_job_bytes": 5_000_000_000,
        "max_file_bytes": 1_000_000_000,
        "max_records_per_job": 40_000,
        "min_records": 200,
    }


def test_the_reader_that_cannot_read_is_found_before_a_job_is_paid(place: Place) -> None:
    """F9: what writes and reads the probe is what will read the answers."""

    def refuse_reads(request: Any, **_: Any) -> AWSResponse | None:
        if request.method != "GET" or not request.url.endswith("/probe"):
            return None
        return AWSResponse(request.url, 403, {}, HTTPResponse(BytesIO()))

    s3: Any = s3_client()
    s3.meta.events.register("before-send.s3.GetObject", refuse_reads)
    blind = replace(place.bedrock, aws=clients().with_s3(s3))
    [failed] = [check for check in blind.preflight(MODEL, PLANNED) if not check.passed]
    assert failed.subject.startswith("objects")
    assert "GetObject" in failed.detail
    assert place.jobs() == []


def test_a_bare_id_of_a_model_served_by_profiles_only_names_the_profile(place: Place) -> None:
    """F33."""
    place.rules(models={"profile_only": ["anthropic.claude"]})
    check = looked_at(place, BARE)["model"]
    assert not check.passed
    assert f"global.{BARE}" in check.detail
    place.rules(models={})
    assert looked_at(place, BARE)["model"].passed


def test_a_denied_foundation_model_says_what_denies_it() -> None:
    """F35: an organisation's condition never matches AWS's own resources."""
    denied = (
        "AccessDeniedException (403) User: arn:aws:sts::123456789012:assumed-role/batch/x is not authorized to "
        "perform: bedrock:InvokeModel on resource: arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0"
    )
    assert hinted(denied).startswith(denied)
    assert "aws:ResourceOrgID" in hinted(denied)
    assert hinted("AccessDeniedException (403) no") == "AccessDeniedException (403) no"


def test_no_credentials_is_one_plain_message(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    clients.cache_clear()
    bare = replace(place.bedrock, aws=clients())
    with pytest.raises(ConfigurationError, match="set AWS_PROFILE, or AWS_ACCESS_KEY_ID"):
        bare.preflight(MODEL, PLANNED)


def test_a_server_that_is_not_there_is_told_from_a_bucket_that_is_not(place: Place) -> None:
    away = replace(place.bedrock, aws=clients().with_s3(s3_client(endpoint="http://127.0.0.1:9")))
    bucket = away.preflight(MODEL, PLANNED)[0]
    assert bucket.detail == "EndpointConnectionError. Check the address and the network, then look again"
