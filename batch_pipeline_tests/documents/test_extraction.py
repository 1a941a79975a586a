"""Reading many documents in processes that may die."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from reportlab.lib.pdfencrypt import StandardEncryption

from batch_pipeline.documents import mime
from batch_pipeline.documents.extraction import extract, read_outcomes
from batch_pipeline.documents.extraction_run import ExtractionLimits
from batch_pipeline.errors import TerminalError
from batch_pipeline_tests.documents import made_files as made

File = tuple[str, str, str]


def file(folder: Path, data: bytes, kind: str = mime.PDF) -> File:
    md5 = hashlib.md5(data).hexdigest()
    return md5, str(made.put(folder, md5, data)), kind


def good(folder: Path, count: int) -> list[File]:
    return [file(folder, made.pdf(note=str(number))) for number in range(count)]


def outcome(out: Path, md5: str) -> dict[str, object]:
    return read_outcomes(out).filter(md5=md5).collect().row(0, named=True)


def texts(out: Path) -> pl.DataFrame:
    return pl.read_parquet(sorted(out.glob("part-*.parquet")))


def test_every_document_has_one_outcome_and_only_texts_are_texts(tmp_path: Path) -> None:
    scan = file(tmp_path / "in", made.raw_pdf(b"0 0 m 500 500 l S"))
    files = [*good(tmp_path / "in", 30), scan]
    seen: list[int] = []
    report = extract(files, tmp_path / "texts", 2, on_progress=seen.append)
    outcomes = read_outcomes(tmp_path / "texts").collect()
    assert report.extracted == 31 == outcomes.height == outcomes["md5"].n_unique()
    assert seen == list(range(1, 32))
    assert outcome(tmp_path / "texts", scan[0])["needs_vision"] is True
    found = texts(tmp_path / "texts")
    assert found.height == 30
    assert (found["text"].str.len_chars() > 0).all()
    assert outcome(tmp_path / "texts", files[0][0])["kind"] == "cv"


def test_a_hostile_file_loses_only_itself(tmp_path: Path) -> None:
    hang = file(tmp_path / "in", made.pdf_that_takes_for_ever())
    hunger = file(tmp_path / "in", made.pdf_that_eats_memory())
    neighbours = good(tmp_path / "in", 20)
    files = [*neighbours[:7], hang, *neighbours[7:14], hunger, *neighbours[14:]]
    limits = ExtractionLimits(cpu_seconds=1, memory_bytes=700 << 20)
    report = extract(files, tmp_path / "texts", 2, limits)
    assert report.extracted == 22
    assert report.restarts == 2
    assert outcome(tmp_path / "texts", hang[0])["reason"] == "parse_timeout"
    assert outcome(tmp_path / "texts", hunger[0])["reason"] in ("parse_memory", "parse_crashed")
    for md5, _, _ in neighbours:
        assert outcome(tmp_path / "texts", md5)["reason"] is None


def test_a_file_that_waits_instead_of_working_is_stopped_by_the_clock(tmp_path: Path) -> None:
    hang = file(tmp_path / "in", made.pdf_that_takes_for_ever())
    limits = ExtractionLimits(cpu_seconds=60, wall_seconds=1.0)
    started = time.monotonic()
    extract([hang, *good(tmp_path / "in", 2)], tmp_path / "texts", 1, limits)
    assert outcome(tmp_path / "texts", hang[0])["reason"] == "parse_timeout"
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (b"", mime.EMPTY, "empty"),
        (made.pdf()[:700], mime.PDF, "truncated"),
        (b"%PDF-1.4\nnothing of a PDF\n%%EOF", mime.PDF, "damaged"),
        (made.pdf(encrypt=StandardEncryption("secret", "owner")), mime.PDF, "password_protected"),
        (made.raw_pdf(b""), mime.PDF, "blank"),
        (made.docx(made.paragraph("cut"))[:200], mime.DOCX, "truncated"),
        (made.docx("<w:p><w:r>"), mime.DOCX, "damaged"),
        (made.docx_bomb(80), mime.DOCX, "too_large"),
        (b"{\\rtf1\\ansi cut here", mime.RTF, "truncated"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, mime.DOC, "damaged"),
        (b"PK\x03\x04", mime.OTHER_OFFICE, "unsupported_type"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, data: bytes, kind: str, reason: str) -> None:
    files = [file(tmp_path / "in", data, kind)]
    report = extract(files, tmp_path / "texts", 1)
    assert report.reasons == {reason: 1}
    assert report.restarts == 0


def test_an_owner_password_alone_does_not_hide_a_cv(tmp_path: Path) -> None:
    locked = made.pdf(encrypt=StandardEncryption("", "owner", canCopy=0))
    files = [file(tmp_path / "in", locked)]
    assert extract(files, tmp_path / "texts", 1).reasons == {}
    assert "Ada Example" in texts(tmp_path / "texts")["text"][0]


def test_entities_that_multiply_are_refused(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    document = (
        f'<!DOCTYPE w [<!ENTITY e0 "laugh">{entities}]><w:document {made.W}><w:body>'
        "<w:p><w:r><w:t>before &e9; after</w:t></w:r></w:p></w:body></w:document>"
    )
    data = made.zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": document.encode()})
    files = [file(tmp_path / "in", data, mime.DOCX)]
    report = extract(files, tmp_path / "texts", 1, ExtractionLimits(cpu_seconds=5))
    outcome_row = outcome(tmp_path / "texts", files[0][0])
    assert report.restarts == 0
    assert int(str(outcome_row["text_chars"])) < 1000


def test_xml_nested_without_end_is_refused(tmp_path: Path) -> None:
    deep = file(tmp_path / "in", made.docx("<w:p>" * 100_000 + "</w:p>" * 100_000), mime.DOCX)
    report = extract([deep], tmp_path / "texts", 1)
    assert report.reasons == {"damaged": 1}


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    files = good(tmp_path / "in", 12)
    first = extract(files[:5], tmp_path / "texts", 1)
    second = extract(files, tmp_path / "texts", 2)
    third = extract([*files, *files], tmp_path / "texts", 2)
    assert (first.extracted, second.extracted, second.skipped, third.extracted) == (5, 7, 5, 0)
    assert read_outcomes(tmp_path / "texts").collect()["md5"].is_duplicated().sum() == 0


def test_a_killed_run_goes_on_where_its_last_part_ended(tmp_path: Path) -> None:
    files = good(tmp_path / "in", 60)
    listing = tmp_path / "files.txt"
    listing.write_text("\n".join("\t".join(row) for row in files))
    code = (
        "import sys, os, signal; from pathlib import Path\n"
        "from batch_pipeline.documents.extraction import extract\n"
        "from batch_pipeline.documents.extraction_run import ExtractionLimits\n"
        "files = [tuple(l.split('\\t')) for l in Path(sys.argv[1]).read_text().splitlines()]\n"
        "def die(done):\n"
        "    if done == 35: os.kill(os.getpid(), signal.SIGKILL)\n"
        "extract(files, Path(sys.argv[2]), 2, ExtractionLimits(part_documents=10), die)\n"
    )
    out = tmp_path / "texts"
    killed = subprocess.run([sys.executable, "-c", code, str(listing), str(out)], timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    # as if it had died between the two files of a part
    pl.DataFrame({"md5": ["00"], "text": ["half"]}).write_parquet(out / "part-000004.parquet")
    report = extract(files, out, 2)
    assert (report.skipped, report.extracted) == (30, 30)
    assert sorted(texts(out)["md5"]) == sorted(md5 for md5, _, _ in files)


def test_no_child_outlives_the_run_that_was_broken_off(tmp_path: Path) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(good(tmp_path / "in", 10), tmp_path / "texts", 2, on_progress=stop)
    assert not children()


def children() -> list[int]:
    listing = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not listing.exists():
        pytest.skip("children are listed by Linux only")
    pids = map(int, listing.read_text().split())
    return [pid for pid in pids if b"extraction_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_file_that_is_gone_stops_the_run_and_keeps_what_was_read(tmp_path: Path) -> None:
    files = good(tmp_path / "in", 3)
    Path(files[2][1]).unlink()
    with pytest.raises(TerminalError, match=files[2][0]):
        extract(files, tmp_path / "texts", 1)
    assert read_outcomes(tmp_path / "texts").collect().height == 2


def test_processes_are_renewed_without_losing_a_document(tmp_path: Path) -> None:
    limits = ExtractionLimits(files_per_process=3)
    report = extract(good(tmp_path / "in", 20), tmp_path / "texts", 2, limits)
    assert (report.extracted, report.restarts) == (20, 0)
