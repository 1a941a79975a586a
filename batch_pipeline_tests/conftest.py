"""Real servers for the tests: one PostgreSQL and one S3 server a session, a fresh room in each a test."""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql

from batch_pipeline.local.object_store import EmbeddedObjectStore
from batch_pipeline.local.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from distributed import LocalCluster

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Begun first, the longest first of all: no worker is left alone with one of them at the end.
_LONGEST = (
    "test_kills.py",
    "test_guarantees.py",
    "test_demo.py",
    "test_cascade_kills.py",
    "test_stack_daemon.py",
    "test_stack_browser.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """Outside pytest's own folders: those are closed to the account PostgreSQL runs under as root."""
    folder = Path(tempfile.mkdtemp(prefix="bp-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_server(server_folder: Path) -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(server_folder / "postgres") as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """A fresh, empty database."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield postgres_server.url_of(name)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def object_store(server_folder: Path) -> Iterator[EmbeddedObjectStore]:
    with EmbeddedObjectStore(server_folder / "objects") as store:
        yield store


@pytest.fixture
def aws_environment(object_store: EmbeddedObjectStore, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The standard AWS variables of the S3 server, set for this test; no other AWS setting leaks in."""
    services = ("STS", "IAM", "SERVICE_QUOTAS")
    for name in (
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_ENDPOINT_URL",
        *(f"AWS_ENDPOINT_URL_{service}" for service in services),
    ):
        monkeypatch.delenv(name, raising=False)
    environment = object_store.environment()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return environment


@pytest.fixture
def bucket(object_store: EmbeddedObjectStore) -> Iterator[str]:
    """A fresh bucket with versions on; removed with everything in it."""
    name = f"test-{uuid.uuid4().hex}"
    object_store.create_bucket(name)
    yield name
    client = object_store.client()
    for page in client.get_paginator("list_object_versions").paginate(Bucket=name):
        for entry in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]:
            client.delete_object(Bucket=name, Key=entry["Key"], VersionId=entry["VersionId"])
    for upload in client.list_multipart_uploads(Bucket=name).get("Uploads", []):
        client.abort_multipart_upload(Bucket=name, Key=upload["Key"], UploadId=upload["UploadId"])
    client.delete_bucket(Bucket=name)


@pytest.fixture(scope="module")
def dask_cluster() -> "Iterator[LocalCluster]":
    """Two workers in processes of their own, each under a nanny that starts it again; gone with the tests that
    need them, for they are busy while they wait."""
    import dask  # noqa: PLC0415 - slow to load, and few tests need it
    from distributed import LocalCluster  # noqa: PLC0415

    # it would close a nanny whose worker, killed before, happens to be down again that much later
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster
