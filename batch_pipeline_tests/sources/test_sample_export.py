"""The sample customer's CSV export, with no column map at all."""

import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.canonical import ENTITIES, SCHEMAS
from batch_pipeline.sources.csv_folder import open_source, propose
from batch_pipeline.sources.listing import ORPHANS
from batch_pipeline_tests.sources.exports import SAMPLE, notices, read, table

pytestmark = pytest.mark.skipif(
    not SAMPLE.exists(), reason="the shared sample exports are not beside the checkout"
)


def test_the_figures_of_the_sample_come_out(tmp_path: Path) -> None:
    expected = json.loads((SAMPLE.parent / "expected_canonical.json").read_text())
    report = read(SAMPLE, tmp_path)
    assert report.counts == {
        "person": expected["candidates"],
        "job": expected["jobs"],
        "application": expected["applications"],
        "stage_move": expected["stage_moves"],
        "note": expected["notes"],
        "evaluation": 0,
        **dict.fromkeys(("stage", "tag", "offer", "question_answer"), 0),
        "attachment": 10,
    }
    assert [notice.count for notice in notices(report, "erased_people")] == [expected["candidates_erased"]]
    missing = table(tmp_path, "attachment").filter(state="missing")
    assert missing["source_handle"].to_list() == [expected["csv_only"]["missing_file"]]
    assert pl.read_parquet(tmp_path / ORPHANS)["path"].to_list() == [expected["csv_only"]["orphan_file"]]
    for entity in ENTITIES:
        assert table(tmp_path, entity).schema == SCHEMAS[entity]


def test_month_and_day_are_told_apart_by_a_day_over_twelve(tmp_path: Path) -> None:
    report = read(SAMPLE, tmp_path, timezone="UTC")
    applied = table(tmp_path, "application").filter(source_id="88001")["applied_at"][0]
    assert applied.isoformat() == "2023-02-10T00:00:00+00:00"
    derived = [notice.detail for notice in notices(report, "date_format")]
    assert "applied_at from 'Applied On': month_first, derived from its values" in derived


def test_an_erased_person_keeps_a_row_and_nothing_personal(tmp_path: Path) -> None:
    read(SAMPLE, tmp_path)
    erased = table(tmp_path, "person").filter(source_id="7005").row(0, named=True)
    kept = {name for name, value in erased.items() if value is not None}
    assert kept == {"source_id", "source_created_at", "tz_assumed", "erased_at"}
    assert table(tmp_path, "application").filter(person_id="7005")["raw"].to_list() == [None]


def test_reading_again_gives_the_same_tables(tmp_path: Path) -> None:
    first, second = read(SAMPLE, tmp_path / "a"), read(SAMPLE, tmp_path / "b")
    assert first == second
    for entity in ENTITIES:
        assert table(tmp_path / "a", entity).equals(table(tmp_path / "b", entity))


def test_a_zip_of_the_folder_reads_like_the_folder(tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        for path in SAMPLE.rglob("*"):
            if path.is_file():
                bundle.write(path, f"Export 2026/{path.relative_to(SAMPLE)}")
        bundle.writestr("__MACOSX/._candidates.csv", b"junk")
    read(SAMPLE, tmp_path / "folder")
    report = read(archive, tmp_path / "zip")
    assert report == read(archive, tmp_path / "zip")
    for entity in ENTITIES:
        left, right = table(tmp_path / "folder", entity), table(tmp_path / "zip", entity)
        assert left.drop("local_path", strict=False).equals(right.drop("local_path", strict=False))
    for row in table(tmp_path / "zip", "attachment").filter(state="pending").iter_rows(named=True):
        assert Path(row["local_path"]).read_bytes() == (SAMPLE / row["source_handle"]).read_bytes()


def test_a_proposal_reads_the_export_it_was_made_from(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"source\.timezone"):
        propose(SAMPLE)
    proposed = propose(SAMPLE, system="acme", timezone="Europe/Berlin")
    config = proposed.config
    assert not proposed.questions
    assert config.tables["application"].date_formats["applied_at"] == "month_first"
    read(SAMPLE, tmp_path / "derived")
    open_source(config.model_dump()).read(tmp_path / "stated")
    for entity in ENTITIES:
        assert table(tmp_path / "derived", entity).equals(table(tmp_path / "stated", entity))


def test_another_encoding_and_delimiter_give_the_same_names(tmp_path: Path) -> None:
    stated = {"person": {"file": "candidates_semicolon_cp1252.csv"}}
    report = read(SAMPLE, tmp_path / "cp1252", tables=stated)
    read(SAMPLE, tmp_path / "utf8")
    names = table(tmp_path / "cp1252", "person").select("source_id", "full_name")
    utf8 = table(tmp_path / "utf8", "person").filter(pl.col("erased_at").is_null())
    shared = names.join(utf8, on=["source_id", "full_name"], how="semi")
    assert shared["source_id"].to_list() == ["7001", "7002", "7003", "7004", "7006"]
    assert "candidates_semicolon_cp1252.csv: cp1252, detected" in [
        n.detail for n in notices(report, "encoding")
    ]
