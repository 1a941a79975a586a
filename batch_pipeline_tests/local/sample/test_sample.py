"""The sample customer is what its expectation says, the same every time, and nobody real."""

import csv
import hashlib
import json
import re
import zipfile
from collections import Counter
from pathlib import Path

import pypdfium2
import pytest

from batch_pipeline.local.sample import SampleExpectation, make_sample

APPLICATIONS, DOCUMENTS = 240, 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("export") / "acme"


@pytest.fixture(scope="module")
def expectation(folder: Path) -> SampleExpectation:
    return make_sample(folder, APPLICATIONS, DOCUMENTS)


def rows(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def text_of(path: Path) -> str:
    if path.suffix == ".docx":
        with zipfile.ZipFile(path) as archive:
            return re.sub("<[^>]+>", "\n", archive.read("word/document.xml").decode())
    document = pypdfium2.PdfDocument(path)
    try:
        return "\n".join(page.get_textpage().get_text_range() for page in document)
    finally:
        document.close()


def test_the_tables_hold_what_is_expected(folder: Path, expectation: SampleExpectation) -> None:
    counted = {
        table: len(rows(folder, table))
        for table in (
            "candidates",
            "jobs",
            "applications",
            "stage_history",
            "notes",
            "scorecards",
            "attachments",
        )
    }
    assert counted == {
        "candidates": expectation.people,
        "jobs": expectation.jobs,
        "applications": APPLICATIONS,
        "stage_history": expectation.stage_moves,
        "notes": expectation.notes,
        "scorecards": expectation.evaluations,
        "attachments": expectation.attachments,
    }
    assert sum(row["Visibility"] == "private" for row in rows(folder, "notes")) == expectation.private_notes
    assert sum(bool(row["Anonymized At"]) for row in rows(folder, "candidates")) == expectation.erased_people


def test_the_sums_of_a_migration_close(expectation: SampleExpectation) -> None:
    assert sum(expectation.states.values()) == expectation.attachments
    assert sum(expectation.attachment_verdicts.values()) == expectation.states["fetched"]
    assert expectation.verdicts["cv"] == DOCUMENTS == len(expectation.cv_documents)
    assert expectation.links == sum(map(len, expectation.cv_documents.values()))
    assert all(1 <= len(applications) <= 5 for applications in expectation.cv_documents.values())
    assert len(expectation.markers) == DOCUMENTS - expectation.scans
    assert expectation.scans >= 1


def test_every_marker_is_read_from_the_files_of_its_applications(
    folder: Path, expectation: SampleExpectation
) -> None:
    found: dict[str, set[str]] = {}
    for row in rows(folder, "attachments"):
        path = folder / row["Path"]
        content = path.read_bytes() if path.exists() else b""
        if hashlib.md5(content).hexdigest() in expectation.cv_documents:
            for marker in re.findall(r"MARKER-[0-9A-F]{8}", text_of(path)):
                found.setdefault(marker, set()).add(row["Application ID"])
    assert {marker: sorted(ids) for marker, ids in found.items()} == expectation.markers


def test_every_script_survives_its_file(folder: Path, expectation: SampleExpectation) -> None:
    people = {row["Candidate ID"]: row for row in rows(folder, "candidates")}
    scripts = Counter[str]()
    for row in rows(folder, "attachments"):
        path = folder / row["Path"]
        if not path.exists() or row["Type"] != "resume":
            continue
        md5 = hashlib.md5(path.read_bytes()).hexdigest()
        if md5 in expectation.cv_documents and md5 not in expectation.scan_documents:
            family = people[row["Candidate ID"]]["Last Name"]
            assert family in text_of(path)
            scripts[f"{path.suffix} {'latin' if max(family) < 'ɏ' else 'other'}"] += 1
    assert set(scripts) == {".pdf latin", ".docx latin", ".pdf other", ".docx other"}


def test_a_scan_has_no_text(folder: Path, expectation: SampleExpectation) -> None:
    scans = [
        path
        for path in folder.rglob("*.pdf")
        if hashlib.md5(path.read_bytes()).hexdigest() in expectation.scan_documents
    ]
    assert len(scans) >= expectation.scans
    assert all(not text_of(path).strip() for path in scans)


def test_broken_files_are_broken(folder: Path, expectation: SampleExpectation) -> None:
    assert {"truncated", "empty", "password_protected", "error_page"} <= set(expectation.reasons)
    sizes = [path.stat().st_size for path in folder.rglob("*.pdf")]
    assert sizes.count(0) == expectation.reasons["empty"]
    heads = [path.read_bytes()[:5] for path in folder.rglob("*.pdf")]
    assert heads.count(b"<?xml") == expectation.reasons["error_page"]
    named = {row["Path"] for row in rows(folder, "attachments")}
    files = {
        path.relative_to(folder).as_posix() for path in (folder / "attachments").rglob("*") if path.is_file()
    }
    assert len(named - files) == expectation.states["missing"]
    assert len(files - named) == expectation.orphan_files


def test_the_same_seed_gives_the_same_bytes(
    folder: Path, expectation: SampleExpectation, tmp_path: Path
) -> None:
    again = make_sample(tmp_path / "again", APPLICATIONS, DOCUMENTS)
    assert again == expectation
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files == {
        path.relative_to(tmp_path / "again"): path.read_bytes()
        for path in (tmp_path / "again").rglob("*")
        if path.is_file()
    }
    other = make_sample(tmp_path / "other", APPLICATIONS, DOCUMENTS, seed=8)
    assert not set(other.cv_documents) & set(expectation.cv_documents)


def test_nobody_real_can_be_reached(folder: Path) -> None:
    emails = [row["Email"] for row in rows(folder, "candidates") if row["Email"]]
    assert all(re.fullmatch(r"[a-z0-9.]+@example\.(com|org)", email) for email in emails)


def test_the_expectation_travels_as_json(expectation: SampleExpectation) -> None:
    assert SampleExpectation(**json.loads(json.dumps(expectation.as_dict()))) == expectation


def test_markers_can_be_left_out(tmp_path: Path) -> None:
    assert make_sample(tmp_path / "plain", 12, 8, markers=False).markers == {}


@pytest.mark.parametrize("seed", range(6))
def test_small_customers_keep_their_sums(tmp_path: Path, seed: int) -> None:
    made = make_sample(tmp_path / "small", 3 + seed, 1 + seed, seed=seed)
    assert made.applications == 3 + seed
    assert sum(made.states.values()) == made.attachments
    assert made.verdicts["cv"] == 1 + seed


def test_too_few_applications_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="need at least 12 applications"):
        make_sample(tmp_path / "x", 11, 10)
