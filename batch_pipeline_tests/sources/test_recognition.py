"""A new migration's file names the right kind of source, from a look at the export's file names."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.migration import Migration
from batch_pipeline.sources.base import MODULES, open_source
from batch_pipeline.stages.new_migration import write_new
from batch_pipeline_tests.sources.exports import write
from batch_pipeline_tests.sources.payload_exports import SAMPLES, write_lists

EXPORTS: dict[str, dict[str, Any]] = {
    "greenhouse": {"candidates": [], "applications": [], "jobs": [], "activity_feed__1": {}},
    "lever": {"opportunities": [], "postings": [], "applications": []},
    "workable": {"candidates": [], "jobs": [], "activities": {}},
}


def new(folder: Path, export: Path, system: str = "acme") -> dict[str, object]:
    path = write_new(folder, "acme-2026", export, "acme", system, "some.model", "Europe/Berlin")
    found: dict[str, object] = yaml.safe_load(path.read_text())["source"]
    assert Migration.load(path).source == found
    open_source(found)
    return found


@pytest.mark.parametrize("kind", sorted(EXPORTS))
def test_saved_payloads_are_recognised_by_their_names(tmp_path: Path, kind: str) -> None:
    export = write_lists(tmp_path / "export", **EXPORTS[kind])
    found = new(tmp_path / "migrations", export)
    assert found == {"kind": kind, "system": "acme", "path": str(export)}


@pytest.mark.skipif(not SAMPLES.exists(), reason="the shared sample exports are not beside the checkout")
@pytest.mark.parametrize("kind", sorted(EXPORTS))
def test_the_samples_are_recognised(tmp_path: Path, kind: str) -> None:
    assert new(tmp_path, SAMPLES / kind)["kind"] == kind


def test_a_folder_of_files_beside_the_payloads_is_named(tmp_path: Path) -> None:
    export = write_lists(tmp_path / "export", **EXPORTS["lever"])
    (export / "files" / "f1").mkdir(parents=True)
    (export / "files" / "f1" / "CV.pdf").write_bytes(b"%PDF-")
    assert new(tmp_path / "migrations", export)["attachments"] == "files"


def test_names_that_fit_two_systems_are_asked_about_and_nothing_is_written(tmp_path: Path) -> None:
    export = write_lists(tmp_path / "export", candidates=[], jobs=[])
    with pytest.raises(ConfigurationError, match=r"greenhouse or workable"):
        new(tmp_path / "migrations", export)
    assert not list(tmp_path.rglob("*.yaml"))


def test_csv_files_are_still_a_folder_of_csv_files(tmp_path: Path) -> None:
    assert new(tmp_path / "migrations", write(tmp_path / "export"))["kind"] == "csv_folder"


def test_a_file_without_a_kind_is_told_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "acme-2026.yaml"
    path.write_text("tenant: acme\nsource: {path: x}\nprovider: {kind: bedrock, model: m}\n")
    with pytest.raises(ConfigurationError) as told:
        Migration.load(path)
    assert all(kind in str(told.value) for kind in MODULES)
