"""A new migration's file names the right kind of source, from a look at the export's file names."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from batch_pipeline.errors import ConfigurationError, NeedsPerson, SourceError
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
    path = write_new(folder, "acme-2026", export, "acme", system, "some.model", "Europe/Berlin").path
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
@pytest.mark.parametrize("kind", [*sorted(EXPORTS), "greenhouse_v3"])
def test_the_samples_are_recognised(tmp_path: Path, kind: str) -> None:
    assert new(tmp_path, SAMPLES / kind)["kind"] == kind.removesuffix("_v3")


def test_a_list_that_only_one_system_has_is_recognised_alone(tmp_path: Path) -> None:
    export = write_lists(tmp_path / "export", attachments=[])
    assert new(tmp_path / "migrations", export)["kind"] == "greenhouse"
    (export / "attachments.json").rename(export / "applications.json")
    with pytest.raises(SourceError, match=r"state source\.kind"):
        new(tmp_path / "others", export)


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


def test_an_ambiguous_date_leaves_a_file_with_a_place_for_the_answer(tmp_path: Path) -> None:
    export = write(
        tmp_path / "export",
        candidates="Candidate ID,First Name\n1,Ada\n",
        applications="Application ID,Candidate ID,Job ID,Applied On\n10,1,100,03/04/2026\n",
    )
    with pytest.raises(NeedsPerson, match=r"application\.date_formats\.applied_at.*day_first or month_first"):
        new(tmp_path / "migrations", export)
    path = tmp_path / "migrations" / "acme-2026.yaml"
    source = Migration.load(path).source
    assert source["tables"]["application"]["date_formats"] == {"applied_at": "?"}
    with pytest.raises(ConfigurationError, match=r"date_formats\.applied_at"):
        open_source(source).read(tmp_path / "out")  # asked again while the answer is not there
    path.write_text(path.read_text().replace("applied_at: '?'", "applied_at: day_first"))
    open_source(Migration.load(path).source).read(tmp_path / "out")
    applied = pl.read_parquet(tmp_path / "out" / "application.parquet")["applied_at"][0]
    assert (applied.month, applied.tzinfo is not None) == (4, True)


@pytest.mark.parametrize("name", ["candidates", "candidates_2026"])
def test_a_renamed_id_column_is_asked_for_and_no_other_file_is_the_people(tmp_path: Path, name: str) -> None:
    export = write(tmp_path / "export", people_notes="Candidate ID,Note\n1,x\n")
    (export / "candidates.csv").unlink()
    (export / f"{name}.csv").write_text("Cand No,First Name\n1,Ada\n")
    with pytest.raises(NeedsPerson, match=r"tables\.person\.") as asked:
        new(tmp_path / "migrations", export)
    path = tmp_path / "migrations" / "acme-2026.yaml"
    if name == "candidates":
        assert "the headers are Cand No, First Name" in str(asked.value)
        path.write_text(path.read_text().replace("source_id: '?'", "source_id: Cand No"))
    else:
        assert "state one of candidates_2026.csv, people_notes.csv" in str(asked.value)
        answer = f"file: {name}.csv\n      columns: {{source_id: Cand No}}"
        path.write_text(path.read_text().replace("file: '?'", answer))
    report = open_source(Migration.load(path).source).read(tmp_path / "out")
    assert report.counts["person"] == 1
    assert pl.read_parquet(tmp_path / "out" / "person.parquet")["full_name"].to_list() == ["Ada"]


def test_a_file_that_becomes_no_table_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    export = write(tmp_path / "export", notes="Note ID,Candidate ID,Kommentar\n1,1,x\n")
    made = write_new(tmp_path / "m", "acme-2026", export, "acme", "acme", "some.model", "Europe/Berlin")
    assert made.unused == (
        "notes.csv: no header is known to be the note's body_raw: state source.tables.note",
    )


def test_csv_files_are_still_a_folder_of_csv_files(tmp_path: Path) -> None:
    assert new(tmp_path / "migrations", write(tmp_path / "export"))["kind"] == "csv_folder"


def test_a_file_without_a_kind_is_told_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "acme-2026.yaml"
    path.write_text("tenant: acme\nsource: {path: x}\nprovider: {kind: bedrock, model: m}\n")
    with pytest.raises(ConfigurationError) as told:
        Migration.load(path)
    assert all(kind in str(told.value) for kind in MODULES)
