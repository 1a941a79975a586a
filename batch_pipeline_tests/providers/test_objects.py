"""Uploads hold exactly the plan; outputs are found by listing; a cut body is an error."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from urllib3 import HTTPResponse

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.providers.aws import clients, s3_client
from batch_pipeline.providers.contract import OutputFile
from batch_pipeline_tests.providers.conftest import LONG_AGO, MODEL, PLANNED, Place

pytestmark = pytest.mark.servers
NAME = "bp-acme-1-a1"


def test_an_upload_is_the_only_object_of_its_job(place: Place) -> None:
    uri = place.upload(NAME)
    assert uri == place.bedrock.input_uri(NAME)
    assert place.upload(NAME) == uri
    assert set(place.keys(place.bedrock.prefix)) == {f"batch-pipeline/acme/input/{NAME}/records.jsonl"}


def test_a_stale_shard_beside_the_upload_stops_it(place: Place) -> None:
    """F34: every JSONL object below a folder is run and billed."""
    place.put([f"batch-pipeline/acme/input/{NAME}/left-over.jsonl"])
    with pytest.raises(TerminalError, match="holds 2 of"):
        place.upload(NAME)
    assert place.jobs() == []


def test_a_job_whose_name_begins_alike_is_not_in_the_way(place: Place) -> None:
    place.upload("bp-acme-1-a11")
    place.upload(NAME)


def test_a_large_upload_arrives_whole(place: Place) -> None:
    body = bytes(range(256)) * 80_000
    place.bedrock.upload(NAME, BytesIO(body), len(body))
    stored = place.bedrock.aws.s3.get_object(
        Bucket=place.bedrock.bucket, Key=f"batch-pipeline/acme/input/{NAME}/records.jsonl"
    )["Body"].read()
    assert hashlib.sha256(stored).digest() == hashlib.sha256(body).digest()


def test_a_discarded_upload_leaves_no_version(place: Place) -> None:
    place.upload(NAME)
    place.upload(NAME)
    place.bedrock.discard(NAME)
    assert place.keys() == []
    place.bedrock.discard(NAME)


def test_outputs_are_found_by_listing_whatever_they_are_called(place: Place) -> None:
    """F8, F30: nested or flat, more than a page of them, the manifest and other jobs left out."""
    folder = f"batch-pipeline/acme/output/{NAME}/abc123abc123/"
    wanted = [f"{folder}{number:04}.jsonl.out" for number in range(1001)] + [f"{folder}deep/er/x.jsonl.out"]
    place.put(wanted)
    place.put([f"{folder}manifest.json.out", f"batch-pipeline/acme/output/{NAME}/other0000000/y.jsonl.out"])
    found = place.bedrock.outputs(
        NAME, "arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/abc123abc123"
    )
    assert sorted(file.key for file in found) == sorted(wanted)
    assert len(place.bedrock.outputs(NAME, "abc123abc123")) == 1002


@pytest.mark.parametrize("layout", ["flat", "nested"])
def test_the_output_of_a_job_is_found_in_either_layout(place: Place, layout: str) -> None:
    place.rules(unknowns={"output_layout": layout})
    arn = place.bedrock.create(place.uploaded(NAME))
    place.advance(1000)
    files = place.bedrock.outputs(NAME, arn)
    assert len(files) == 1
    with place.bedrock.open(files[0]) as stream:
        data = b"".join(iter(lambda: stream.read(1000), b""))
    assert len(data) == files[0].size
    assert data.count(b"\n") == 100


def test_output_that_is_gone_is_told(place: Place) -> None:
    with pytest.raises(TerminalError, match="NoSuchKey"):
        place.bedrock.open(OutputFile("batch-pipeline/acme/output/none", 1))


class _Cut(BaseHTTPRequestHandler):
    """Promises a thousand bytes and gives ten."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b"0123456789")

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@contextmanager
def http(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_body_that_breaks_off_is_an_error_and_no_end_of_file(place: Place) -> None:
    """Taken for the end, the rest of the answers would be missing, and be paid again."""
    with http(_Cut) as url:
        broken = replace(place.bedrock, aws=clients().with_s3(s3_client(endpoint=url)))
        with broken.open(OutputFile("k", 1000)) as stream, pytest.raises(TransientError, match="output file"):
            while stream.read(4096):
                pass


def test_a_bucket_of_another_region_fails_the_preflight(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3's own address, answered before anything leaves: only AWS has Regions that can differ."""
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")

    def answer(request: Any, **_: Any) -> AWSResponse:
        status = 200 if request.method == "HEAD" else 403
        headers: Any = {"x-amz-bucket-region": "eu-central-1"}
        return AWSResponse(request.url, status, headers, HTTPResponse(BytesIO()))

    s3: Any = s3_client()
    s3.meta.events.register("before-send.s3", answer)
    abroad = replace(place.bedrock, aws=replace(place.bedrock.aws, s3=s3))
    check = next(check for check in abroad.preflight(MODEL, PLANNED) if check.subject.startswith("bucket"))
    assert not check.passed
    assert "lies in eu-central-1" in check.detail


def test_a_preflight_that_passes_leaves_nothing_behind(place: Place) -> None:
    assert all(check.passed for check in place.bedrock.preflight(MODEL, PLANNED))
    assert place.keys() == []
    assert place.jobs() == []


def test_a_preflight_says_what_is_missing(place: Place) -> None:
    place.faults(api={"deny": ["ListModelInvocationJobs"]})
    failed = [
        check
        for check in replace(place.bedrock, bucket="no-such-bucket").preflight(MODEL, PLANNED)
        if not check.passed
    ]
    assert [check.subject.split()[0] for check in failed] == ["bucket", "objects", "Bedrock"]
    assert "Create it" in failed[0].detail


def test_an_arn_goes_round_through_url_list_and_id(place: Place) -> None:
    """F22: a doubly encoded slash would end in 404."""
    arn = place.bedrock.create(place.uploaded(NAME))
    assert place.bedrock.report(arn).provider_id == arn
    assert [report.provider_id for report in place.bedrock.reports(LONG_AGO)] == [arn]
    place.bedrock.stop(arn)
    assert place.bedrock.report(arn).status == "Stopping"


@pytest.mark.parametrize("answer", ["conflict", "validation", "ok"])
def test_a_stop_that_comes_too_late_is_no_error(place: Place, answer: str) -> None:
    place.rules(unknowns={"stop_of_ended_job": answer})
    arn = place.bedrock.create(place.uploaded(NAME))
    place.advance(1000)
    place.bedrock.stop(arn)
    assert place.bedrock.report(arn).status == "Completed"


def test_a_stop_of_an_unknown_job_is_told(place: Place) -> None:
    with pytest.raises(TerminalError, match="ResourceNotFound"):
        place.bedrock.stop("abcabcabcabc")


def test_every_job_of_every_page_is_reported(place: Place) -> None:
    place.rules(limits={"default_page_size": 2, "max_open_jobs_per_model": 100})
    uri = place.upload(NAME)
    arns = {place.bedrock.create(place.request(f"bp-acme-{n}-a1", input_uri=uri)) for n in range(7)}
    assert {report.provider_id for report in place.bedrock.reports(LONG_AGO)} == arns


@pytest.mark.parametrize(("counters", "total"), [("right", 100), ("zero", 0), ("missing", None)])
def test_counters_are_read_as_they_come(place: Place, counters: str, total: int | None) -> None:
    place.faults(jobs={"counters": counters})
    arn = place.bedrock.create(place.uploaded(NAME))
    place.advance(1000)
    report = place.bedrock.report(arn)
    assert (report.phase, report.counts.total) == ("ended", total)


def test_a_throttled_read_is_repeated_by_the_sdk(place: Place) -> None:
    arn = place.bedrock.create(place.uploaded(NAME))
    place.faults(api={"throttle_next": {"GetModelInvocationJob": 2}})
    assert place.bedrock.report(arn).provider_id == arn


def test_a_validation_failure_keeps_the_providers_words(place: Place) -> None:
    """F20."""
    place.faults(jobs={"fail_message": "The role cannot read the input prefix."})
    arn = place.bedrock.create(place.uploaded(NAME))
    place.advance(1000)
    report = place.bedrock.report(arn)
    assert (report.status, report.message) == ("Failed", "The role cannot read the input prefix.")


def test_the_owner_is_named_to_s3(place: Place) -> None:
    named: list[dict[str, Any]] = []
    owned = replace(place.bedrock, bucket_owner="123456789012")
    events = owned.aws.s3.meta.events
    events.register("before-parameter-build.s3.*", lambda params, **_: named.append(dict(params)))
    body = b'{"a": 1}\n'
    try:
        owned.upload(NAME, BytesIO(body), len(body))
        owned.discard(NAME)
        owned.preflight(MODEL, PLANNED)
    except (TerminalError, ClientError):
        pass  # another server than S3 may know no owners; what was asked is what counts
    assert named
    assert all(params["ExpectedBucketOwner"] == "123456789012" for params in named)
