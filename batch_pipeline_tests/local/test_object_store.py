"""The embedded S3 server is a real one: on disk, signed, versioned, and gone when we are."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from batch_pipeline.local.object_store import EmbeddedObjectStore
from batch_pipeline.local.processes import command_of

pytestmark = pytest.mark.servers


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bp-") as name:
        yield Path(name) / "objects"


def test_the_environment_alone_points_any_client_at_it(bucket: str, aws_environment: dict[str, str]) -> None:
    client = boto3.client("s3")
    client.put_object(Bucket=bucket, Key="a/b", Body=b"content")
    assert client.get_object(Bucket=bucket, Key="a/b")["Body"].read() == b"content"
    assert client.meta.endpoint_url == aws_environment["AWS_ENDPOINT_URL_S3"]


def test_versions_are_kept(bucket: str, object_store: EmbeddedObjectStore) -> None:
    client = object_store.client()
    for body in (b"1", b"2"):
        client.put_object(Bucket=bucket, Key="key", Body=body)
    client.delete_object(Bucket=bucket, Key="key")
    listed = client.list_object_versions(Bucket=bucket)
    assert (len(listed["Versions"]), len(listed["DeleteMarkers"])) == (2, 1)


def test_one_conditional_write_wins(bucket: str, object_store: EmbeddedObjectStore) -> None:
    client = object_store.client()

    def write(number: int) -> bool:
        try:
            client.put_object(Bucket=bucket, Key="once", Body=str(number).encode(), IfNoneMatch="*")
        except ClientError as error:
            assert error.response["Error"]["Code"] == "PreconditionFailed"
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(8))) == 1


def test_a_wrong_secret_is_refused(bucket: str, object_store: EmbeddedObjectStore) -> None:
    environment = object_store.environment()
    client = boto3.client(
        "s3",
        endpoint_url=object_store.endpoint,
        region_name="us-east-1",
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key="wrong",
    )
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        client.list_objects_v2(Bucket=bucket)


def test_encryption_at_rest_is_on_when_asked_for(bucket: str, object_store: EmbeddedObjectStore) -> None:
    client = object_store.client()
    client.put_object(Bucket=bucket, Key="key", Body=b"content", ServerSideEncryption="AES256")
    head = client.head_object(Bucket=bucket, Key="key")
    assert head["ServerSideEncryption"] == "AES256"


def test_a_full_bucket_is_not_deleted(object_store: EmbeddedObjectStore) -> None:
    object_store.create_bucket("full-bucket", versioned=False)
    client = object_store.client()
    client.put_object(Bucket="full-bucket", Key="key", Body=b"content")
    with pytest.raises(ClientError, match="BucketNotEmpty"):
        client.delete_bucket(Bucket="full-bucket")
    client.delete_object(Bucket="full-bucket", Key="key")
    client.delete_bucket(Bucket="full-bucket")


def test_a_bucket_nobody_made_takes_nothing(object_store: EmbeddedObjectStore) -> None:
    with pytest.raises(ClientError, match="NoSuchBucket"):
        object_store.client().put_object(Bucket="nobody-made-this", Key="key", Body=b"x")


def test_its_inner_ports_give_nothing_away(bucket: str, object_store: EmbeddedObjectStore) -> None:
    object_store.client().put_object(Bucket=bucket, Key="cv.txt", Body=b"personal")
    filer = next(
        word.removeprefix("-filer.port=")
        for word in _server_command(object_store).split()
        if word.startswith("-filer.port=")
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{filer}/buckets/{bucket}/cv.txt", timeout=10)
    assert refused.value.code == 401


def test_objects_outlive_a_kill_of_the_server(folder: Path) -> None:
    with EmbeddedObjectStore(folder) as store:
        store.create_bucket("kept-bucket")
        client = store.client()
        for number in range(50):
            client.put_object(Bucket="kept-bucket", Key=f"key-{number}", Body=os.urandom(20_000))
        before = {
            item["Key"]: item["ETag"] for item in client.list_objects_v2(Bucket="kept-bucket")["Contents"]
        }
        os.kill(int((folder / "server.pid").read_text()), signal.SIGKILL)
    with EmbeddedObjectStore(folder) as store:
        client = store.client()
        after = {
            item["Key"]: item["ETag"] for item in client.list_objects_v2(Bucket="kept-bucket")["Contents"]
        }
        assert after == before
        assert len(client.get_object(Bucket="kept-bucket", Key="key-49")["Body"].read()) == 20_000
        assert client.get_bucket_versioning(Bucket="kept-bucket")["Status"] == "Enabled"


OWNER = """
import sys, time
from pathlib import Path
from batch_pipeline.local.object_store import EmbeddedObjectStore
with EmbeddedObjectStore(Path(sys.argv[1])) as store:
    store.create_bucket("kept-bucket")
    print(store.endpoint, flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no parent-death signal")
def test_a_killed_owner_takes_its_server_along_and_the_folder_starts_again(folder: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    endpoint = owner.stdout.readline().strip()
    pid = int((folder / "server.pid").read_text())
    owner.kill()
    owner.wait()
    wait_until_gone(pid)
    owner.stdout.close()
    with EmbeddedObjectStore(folder) as store:
        assert [bucket["Name"] for bucket in store.client().list_buckets()["Buckets"]] == ["kept-bucket"]
        assert store.endpoint == endpoint


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while command_of(pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _server_command(store: EmbeddedObjectStore) -> str:
    port = store.endpoint.rsplit(":", 1)[1]
    listed = subprocess.run(
        ["ps", "-axww", "-o", "command="], capture_output=True, text=True, check=True
    ).stdout
    return next(line for line in listed.splitlines() if f"-s3.port={port}" in line)
