"""What the control plane refuses, remembers and pages, over HTTP with boto3."""

import re
import string
from datetime import timedelta
from typing import Any

import botocore.session
import httpx
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, HTTPClientError
from hypothesis import given
from hypothesis import strategies as st

from batch_pipeline.local.emulator import constraints
from batch_pipeline_tests.local.emulator.conftest import CLAUDE, ROLE, Bench, job_request

SOURCE = "s3://bucket-of-tests/in/"
SHAPES = botocore.session.get_session().get_service_model("bedrock")


def create(api: Bench, **changes: Any) -> str:
    request = {k: v for k, v in (job_request(SOURCE) | changes).items() if v is not None}
    return str(api.client().create_model_invocation_job(**request)["jobArn"])


def error_of(call: Any) -> tuple[str, int, str]:
    with pytest.raises(ClientError) as caught:
        call()
    answer = caught.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Message"]


@pytest.mark.parametrize(
    "changes",
    [
        {"jobName": "a_b"},
        {"jobName": "a" * 64},
        {"jobName": "-a"},
        {"jobName": "has space"},
        {"jobName": "a" + "-" * 40 + "_"},
        {"roleArn": "arn:aws:iam::123:role/x"},
        {"roleArn": "not-an-arn"},
        {"clientRequestToken": "a:b"},
        {"clientRequestToken": "a_b"},
        {"clientRequestToken": "ends-"},
        {"clientRequestToken": "a" * 257},
        {"modelId": "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abc"},
        {"modelId": "arn:aws:bedrock:us-east-1:123456789012:imported-model/abc"},
        {"modelInvocationType": "Foo"},
        {"timeoutDurationInHours": 169},
        {"tags": [{"key": "k", "value": "é"}]},
        {"tags": [{"key": "k", "value": "a,b"}]},
        {"tags": [{"key": f"k{n}", "value": "v"} for n in range(201)]},
        {"vpcConfig": {"subnetIds": ["s"] * 17, "securityGroupIds": ["g"]}},
        {"vpcConfig": {"subnetIds": ["under_score"], "securityGroupIds": ["g"]}},
        {"inputDataConfig": {"s3InputDataConfig": {"s3Uri": SOURCE, "s3InputFormat": "CSV"}}},
        {"inputDataConfig": {"s3InputDataConfig": {"s3Uri": SOURCE, "s3BucketOwner": "12"}}},
        *(
            {"inputDataConfig": {"s3InputDataConfig": {"s3Uri": uri}}}
            for uri in (
                "s3://b/x",
                "s3://bucket/dt=2026-11-30/",
                "s3://bucket/a b",
                "s3://bucket/a//b",
                "s3://bucket/é",
                "s3://under_score/x",
                "s3://bucket/a%20b",
                f"s3://bucket/{'a' * 1024}",
            )
        ),
        {"outputDataConfig": {"s3OutputDataConfig": {"s3Uri": SOURCE, "s3EncryptionKeyId": "no key"}}},
        {"outputDataConfig": {"s3OutputDataConfig": {"s3Uri": SOURCE}}},
    ],
)
def test_what_boto3_lets_out_is_refused_by_the_server(api: Bench, changes: dict[str, Any]) -> None:
    code, status, message = error_of(lambda: create(api, **changes))
    assert (code, status) == ("ValidationException", 400)
    assert message
    assert api.get("jobs") == {"jobs": []}


@pytest.mark.parametrize(
    "model_id",
    [
        CLAUDE,
        f"us.{CLAUDE}",
        f"global.{CLAUDE}",
        "amazon.nova-micro-v1:0",
        "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",
        "meta.llama4-scout-17b-instruct-v1:0",
        "mistral.mistral-large-2407-v1:0",
        "openai.gpt-oss-120b-1:0",
        "qwen.qwen3-32b-v1:0",
    ],
)
def test_every_form_of_a_model_id_is_taken(api: Bench, model_id: str) -> None:
    arn = create(api, modelId=model_id)
    assert re.fullmatch(r"arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/[a-z0-9]{12}", arn)
    shown = api.client().get_model_invocation_job(jobIdentifier=arn)
    assert (shown["modelId"], shown["timeoutDurationInHours"]) == (model_id, 24)
    assert shown["jobExpirationTime"] - shown["submitTime"] == timedelta(hours=24)


def test_union_arity_is_checked_where_boto3_is_not_in_between(api: Bench) -> None:
    body = job_request(SOURCE)
    body["inputDataConfig"] = {"s3InputDataConfig": {"s3Uri": SOURCE}, "other": {}}
    answer = httpx.post(
        f"{api.url}/model-invocation-job", json=body, headers={"authorization": "AWS4-HMAC-SHA256 x"}
    )
    assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (400, "ValidationException")
    assert list(answer.json()) == ["message"]


def test_an_unsigned_request_is_refused(api: Bench) -> None:
    answer = httpx.get(f"{api.url}/model-invocation-jobs")
    assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (
        403,
        "MissingAuthenticationTokenException",
    )


@pytest.mark.parametrize("text", ["not json", "[]", '{"jobName": 1}', '{"tags": "x"}'])
def test_bodies_of_a_wrong_type_are_serialization_errors(api: Bench, text: str) -> None:
    answer = httpx.post(
        f"{api.url}/model-invocation-job", content=text, headers={"authorization": "AWS4-HMAC-SHA256 x"}
    )
    assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (400, "SerializationException")


NAME_PATTERN = re.compile(SHAPES.shape_for("ModelInvocationJobName").metadata["pattern"])
TOKEN_PATTERN = re.compile(SHAPES.shape_for("ModelInvocationIdempotencyToken").metadata["pattern"])


@given(st.text(alphabet="aZ9-+._ é", max_size=12))
def test_the_hand_checks_agree_with_the_published_patterns(text: str) -> None:
    assert constraints.is_job_name(text) == bool(NAME_PATTERN.fullmatch(text))
    assert constraints.is_token(text) == bool(TOKEN_PATTERN.fullmatch(text))


@given(
    st.text(alphabet=string.ascii_lowercase + "09-._:/ %=", max_size=20),
    st.sampled_from(["", "s3://", "s3://abc/"]),
)
def test_the_other_patterns_agree_with_the_service_model(text: str, head: str) -> None:
    for mine, shape in (
        (constraints.S3_URI, "S3Uri"),
        (constraints.MODEL_ID, "ModelId"),
        (constraints.TAG, "TagKey"),
    ):
        published = re.compile(SHAPES.shape_for(shape).metadata["pattern"])
        assert bool(mine.fullmatch(head + text)) == bool(published.fullmatch(head + text)), shape


def test_statuses_and_types_are_those_of_the_service_model() -> None:
    assert set(constraints.STATUSES) == set(SHAPES.shape_for("ModelInvocationJobStatus").metadata["enum"])
    assert set(constraints.INVOCATION_TYPES) == set(SHAPES.shape_for("ModelInvocationType").metadata["enum"])


def test_get_answers_only_members_of_the_service_model(api: Bench) -> None:
    arn = create(api, tags=[{"key": "a", "value": "b"}], clientRequestToken="t1")
    raw = httpx.get(
        f"{api.url}/model-invocation-job/{arn.replace(':', '%3A').replace('/', '%2F')}",
        headers={"authorization": "AWS4-HMAC-SHA256 Credential=x/20261130/us-east-1/bedrock/aws4_request"},
    ).json()
    shape = SHAPES.operation_model("GetModelInvocationJob").output_shape
    assert shape is not None
    assert set(raw) <= set(shape.members)
    assert set(shape.required_members) <= set(raw)


def test_jobs_are_found_by_arn_and_by_id_but_not_by_name(api: Bench) -> None:
    arn = create(api, jobName="my-job")
    client = api.client()
    assert client.get_model_invocation_job(jobIdentifier=arn)["jobName"] == "my-job"
    assert client.get_model_invocation_job(jobIdentifier=arn[-12:])["jobArn"] == arn
    by_name = error_of(lambda: client.get_model_invocation_job(jobIdentifier="my-job"))
    assert by_name[:2] == ("ValidationException", 400)
    missing = error_of(lambda: client.get_model_invocation_job(jobIdentifier="a" * 12))
    assert missing[:2] == ("ResourceNotFoundException", 404)
    elsewhere = api.client(region="eu-west-1")
    assert error_of(lambda: elsewhere.get_model_invocation_job(jobIdentifier=arn))[1] == 404
    assert elsewhere.list_model_invocation_jobs()["invocationJobSummaries"] == []


def test_list_pages_filters_and_sorts(api: Bench) -> None:
    arns = []
    for number in range(7):
        arns.append(create(api, jobName=f"run-{number % 2}-{number}", clientRequestToken=f"t{number}"))
        api.advance(1)
    client = api.client()
    first = client.list_model_invocation_jobs(maxResults=3)
    assert [s["jobArn"] for s in first["invocationJobSummaries"]] == arns[:3:-1]
    assert first["invocationJobSummaries"][0]["clientRequestToken"] == "t6"
    pages = client.get_paginator("list_model_invocation_jobs").paginate(
        sortBy="CreationTime", sortOrder="Ascending", PaginationConfig={"PageSize": 2}
    )
    assert [s["jobArn"] for page in pages for s in page["invocationJobSummaries"]] == arns
    named = client.list_model_invocation_jobs(nameContains="run-1")["invocationJobSummaries"]
    assert len(named) == 3
    third = client.get_model_invocation_job(jobIdentifier=arns[3])["submitTime"]
    after = client.list_model_invocation_jobs(submitTimeAfter=third)["invocationJobSummaries"]
    assert [s["jobArn"] for s in after] == arns[:3:-1]
    before = client.list_model_invocation_jobs(submitTimeBefore=third)["invocationJobSummaries"]
    assert [s["jobArn"] for s in before] == arns[2::-1]
    assert client.list_model_invocation_jobs(statusEquals="Completed")["invocationJobSummaries"] == []
    for wrong in (
        {"maxResults": 1001},
        {"statusEquals": "Done"},
        {"nameContains": "a_b"},
        {"nextToken": "x"},
    ):
        code, status, _ = error_of(lambda wrong=wrong: client.list_model_invocation_jobs(**wrong))
        assert (code, status) == ("ValidationException", 400)


def test_the_same_token_gives_the_same_job(api: Bench) -> None:
    first = create(api, clientRequestToken="token-1", jobName="a")
    assert create(api, clientRequestToken="token-1", jobName="a") == first
    assert create(api, clientRequestToken="token-1", jobName="b") == first, "ignored, no error"
    api.rules(unknowns={"token_mismatch": "validation"})
    assert (
        error_of(lambda: create(api, clientRequestToken="token-1", jobName="b"))[0] == "ValidationException"
    )
    api.rules(unknowns={"token_ttl_seconds": 60})
    api.advance(61)
    assert create(api, clientRequestToken="token-1", jobName="a") != first


def test_a_duplicate_name_is_a_switch(api: Bench) -> None:
    create(api, jobName="same")
    create(api, jobName="same")
    api.rules(unknowns={"duplicate_job_name": "conflict"})
    assert error_of(lambda: create(api, jobName="same"))[:2] == ("ConflictException", 400)


def test_the_quota_counts_open_jobs_of_the_base_model(api: Bench) -> None:
    api.rules(limits={"max_open_jobs_per_model": 2})
    same = {"clientRequestToken": "again", "jobName": "again"}
    first = create(api, **same)
    create(api, modelId=f"us.{CLAUDE}")
    over = error_of(lambda: create(api, modelId=f"global.{CLAUDE}"))
    assert over[:2] == ("ServiceQuotaExceededException", 400)
    assert create(api, **same) == first, "a known token needs no place"
    assert create(api, modelId="amazon.nova-lite-v1:0"), "another model has its own quota"
    api.client().stop_model_invocation_job(jobIdentifier=first)
    assert error_of(lambda: create(api))[0] == "ServiceQuotaExceededException", "Stopping still counts"
    api.advance(10)
    assert create(api)


def test_roles_and_models_that_cannot_be_used_are_refused(api: Bench) -> None:
    other = error_of(lambda: create(api, roleArn="arn:aws:iam::999999999999:role/x"))
    assert other == ("AccessDeniedException", 403, "Cross-account pass role is not allowed.")
    api.rules(models={"unsupported": ["anthropic.claude-sonnet-5"], "profile_only": ["amazon.nova-micro"]})
    refused = error_of(lambda: create(api, modelId="us.anthropic.claude-sonnet-5-v1:0"))
    assert refused == (
        "ValidationException", 400, "Batch inference is not supported for the requested model."
    )  # fmt: skip
    assert "on-demand throughput" in error_of(lambda: create(api, modelId="amazon.nova-micro-v1:0"))[2]
    assert create(api, modelId="us.amazon.nova-micro-v1:0")
    api.faults(api={"deny_pass_role": True})
    assert "iam:PassRole" in error_of(lambda: create(api))[2]
    api.faults(api={"deny": ["ListModelInvocationJobs"]})
    assert error_of(api.client().list_model_invocation_jobs)[:2] == ("AccessDeniedException", 403)


def test_a_dropped_answer_leaves_an_accepted_job_that_list_finds(api: Bench) -> None:
    api.faults(api={"drop_after_accept_next": 1})
    with pytest.raises((HTTPClientError, EndpointConnectionError)):
        create(api, jobName="dropped", clientRequestToken="lost-1")
    found = api.client().list_model_invocation_jobs(nameContains="dropped")["invocationJobSummaries"]
    assert [s["clientRequestToken"] for s in found] == ["lost-1"]
    assert create(api, jobName="dropped", clientRequestToken="lost-1") == found[0]["jobArn"]


def test_boto3_itself_recovers_a_lost_answer_with_its_token(api: Bench) -> None:
    for faults in ({"drop_after_accept_next": 1}, {"error_after_accept_next": 2}):
        api.faults(api=faults)
        before = len(api.get("jobs")["jobs"])
        client = api.client(attempts=3)
        client.create_model_invocation_job(**job_request(SOURCE))
        assert len(api.get("jobs")["jobs"]) == before + 1


def test_throttling_and_server_errors_come_as_counted(api: Bench) -> None:
    api.faults(
        api={
            "throttle_next": {"GetModelInvocationJob": 1},
            "internal_error_next": {"ListModelInvocationJobs": 1},
        }
    )
    client = api.client()
    arn = create(api)
    assert error_of(lambda: client.get_model_invocation_job(jobIdentifier=arn))[:2] == (
        "ThrottlingException",
        429,
    )
    assert client.get_model_invocation_job(jobIdentifier=arn)
    assert error_of(client.list_model_invocation_jobs)[:2] == ("InternalServerException", 500)
    api.faults(api={"throttle_every": {"GetModelInvocationJob": 3}})
    outcomes = []
    for _ in range(6):
        try:
            client.get_model_invocation_job(jobIdentifier=arn)
            outcomes.append("ok")
        except ClientError:
            outcomes.append("429")
    assert outcomes == ["ok", "ok", "429"] * 2


def test_the_caller_identity_is_that_of_the_account(api: Bench) -> None:
    identity = api.client("sts").get_caller_identity()
    assert (identity["Account"], identity["Arn"]) == (
        "123456789012",
        "arn:aws:iam::123456789012:user/emulator",
    )
    api.faults(api={"deny": ["GetCallerIdentity"]})
    assert error_of(api.client("sts").get_caller_identity)[:2] == ("AccessDenied", 403)
    other = error_of(lambda: api.client("sts").assume_role(RoleArn=ROLE, RoleSessionName="session"))
    assert other[:2] == ("InvalidAction", 400)


def test_admin_bodies_are_typed(api: Bench) -> None:
    for path, body in (
        ("faults", {"nope": 1}),
        ("rules", {"limits": {"nope": 1}}),
        ("faults", {"records": [{"rate": 2}]}),
    ):
        assert httpx.put(f"{api.url}/_emulator/{path}", json=body).status_code == 422
    api.faults(jobs={"fail_message": "no"})
    assert httpx.delete(f"{api.url}/_emulator/faults").json()["jobs"]["fail_message"] is None
    create(api)
    httpx.post(f"{api.url}/_emulator/reset").raise_for_status()
    assert api.get("jobs") == {"jobs": []}
    assert api.get("health")["status"] == "ok"


def test_events_can_come_twice_in_another_order_or_not_at_all(api: Bench) -> None:
    for _ in range(20):
        create(api)
    api.rules(limits={"max_open_jobs_per_model": 30})
    plain = [e["id"] for e in api.get("events")["events"]]
    api.faults(events={"duplicate": True})
    assert len(api.get("events")["events"]) == 2 * len(plain)
    api.faults(events={"reorder": True})
    moved = [e["id"] for e in api.get("events")["events"]]
    assert moved != plain and sorted(moved) == sorted(plain)
    api.faults(events={"loss_rate": 0.5})
    assert 0 < len(api.get("events")["events"]) < len(plain)
