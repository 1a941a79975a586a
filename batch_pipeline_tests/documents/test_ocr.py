"""Scans read on this machine: only where asked for, only what reads well, and never a run that hangs."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from batch_pipeline.documents import mime
from batch_pipeline.documents.extraction import extract, ocr_outcomes, read_outcomes
from batch_pipeline.documents.forgetting import forget_texts
from batch_pipeline.documents.hashing import hash_file
from batch_pipeline.documents.ocr import read_scans
from batch_pipeline.documents.tesseract import Tesseract
from batch_pipeline.errors import ConfigurationError
from batch_pipeline_tests.documents.tesseract_stand_in import GOOD, program, says

CVS = Path(__file__).resolve().parents[3] / "shared" / "data" / "cvs" / "synthetic"
HEADER = "level page_num block_num par_num line_num word_num left top width height conf text".replace(
    " ", "\t"
)


@pytest.fixture
def scan(tmp_path: Path) -> tuple[str, str, str]:
    """(md5, path, mime) of a page without a text layer."""
    path = tmp_path / "scan.pdf"
    Image.new("L", (600, 850), 250).save(path, "PDF")
    return hash_file(path).md5, str(path), mime.PDF


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder at the front of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    yield folder


@pytest.mark.parametrize(
    ("words", "confidence", "read"),
    [
        (GOOD, 93, True),
        (GOOD, 40, False),  # the engine is not sure of it
        ("stamp", 95, False),  # too little to be a CV
        ("~| x _ = " * 60, 90, False),  # reads like no text
        ("", 0, False),
    ],
)
def test_only_a_text_that_reads_like_one_is_taken(
    scan: tuple[str, str, str], on_path: Path, tmp_path: Path, words: str, confidence: int, *, read: bool
) -> None:
    says(on_path, words, confidence)
    out = tmp_path / "texts"
    extract([scan], out, workers=1)
    assert read_scans([scan], out, Tesseract.found(["eng"]), workers=2) == int(read)
    plain = read_outcomes(out).collect()
    assert plain["needs_vision"].to_list() == [True]  # where no migration asks for it, nothing changed
    found = read_outcomes(out, with_ocr=True).collect()
    assert found["needs_vision"].to_list() == [not read]
    assert (found["text_chars"][0] > 0) == read
    texts = pl.read_parquet(out / "part-*.parquet")
    assert texts["md5"].to_list() == ([scan[0]] if read else [])


@pytest.mark.parametrize("does", ["exit 3", "kill -9 $$", "exec sleep 60"])
def test_a_program_that_dies_or_hangs_costs_one_document_its_text(
    scan: tuple[str, str, str], on_path: Path, tmp_path: Path, does: str
) -> None:
    program(on_path, does)
    since = time.monotonic()
    assert read_scans([scan], tmp_path / "texts", Tesseract("tesseract", ("eng",), seconds=1), workers=1) == 0
    assert time.monotonic() - since < 20
    assert ocr_outcomes(tmp_path / "texts").collect()["needs_vision"].to_list() == [True]


def test_what_was_tried_is_not_tried_again_and_goes_with_its_person(
    scan: tuple[str, str, str], on_path: Path, tmp_path: Path
) -> None:
    says(on_path, GOOD, 93)
    out = tmp_path / "texts"
    extract([scan], out, workers=1)
    assert read_scans([scan], out, Tesseract.found(["eng"]), workers=1) == 1
    program(on_path, "exit 1")
    assert read_scans([scan], out, Tesseract.found(["eng"]), workers=1) == 0
    assert ocr_outcomes(out).collect()["text_chars"][0] > 0
    forget_texts(out, set())
    assert read_outcomes(out, with_ocr=True).collect().is_empty()
    assert pl.read_parquet(out / "part-*.parquet").is_empty()


def test_a_program_or_a_language_that_is_not_there_is_named(
    on_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(on_path, "exit 1")
    with pytest.raises(ConfigurationError, match="tesseract-ocr-por"):
        Tesseract.found(["eng", "por"])
    monkeypatch.setenv("PATH", str(on_path.parent))
    with pytest.raises(ConfigurationError, match=r"ocr\.engine"):
        Tesseract.found(["eng"])


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
@pytest.mark.skipif(not CVS.exists(), reason="the shared CV files are not beside the checkout")
def test_the_shared_scans_are_read_and_the_one_upside_down_is_left_to_a_model(tmp_path: Path) -> None:
    names = ("en-imogen_scan", "en-imogen_scan_upside_down")
    scans = [(hash_file(CVS / f"{n}.pdf").md5, str(CVS / f"{n}.pdf"), mime.PDF) for n in names]
    assert read_scans(scans, tmp_path, Tesseract.found(["eng"]), workers=2) == 1
    texts = dict(pl.read_parquet(tmp_path / "part-*.parquet").iter_rows())
    assert "Senior Data Engineer, Pennine Parcel Group" in texts[scans[0][0]]
    kinds = dict(ocr_outcomes(tmp_path).select("md5", "kind").collect().iter_rows())
    assert kinds == {scans[0][0]: "cv", scans[1][0]: None}
