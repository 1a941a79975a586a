"""A fresh place a test; and one stack with daemon and UI for the tests that need Dagster's own processes."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from batch_pipeline.local.emulator.settings import EmulatorSettings
from batch_pipeline.local.stack import Stack, running_stack
from batch_pipeline_tests.orchestration.place import Place, opened_place


@pytest.fixture
def place(
    tmp_path: Path,
    postgres_url: str,
    bucket: str,
    aws_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Place]:
    with opened_place(tmp_path, postgres_url, bucket, EmulatorSettings(port=0), monkeypatch) as place:
        yield place


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    """Everything `batch-pipeline up` starts, for the files of this folder that come last.

    Its daemon takes a part of a core, so it does not outlive them. Below /tmp: the path of
    PostgreSQL's socket must be short.
    """
    folder = Path(tempfile.mkdtemp(prefix="bp-"))
    with running_stack(folder, daemon=True, ui_port=0, poll_seconds=1.0) as stack:
        yield stack
    shutil.rmtree(folder)
