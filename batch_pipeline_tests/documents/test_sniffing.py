"""Types by bytes; answers saved in place of a file."""

import hashlib
from pathlib import Path

import pytest

from batch_pipeline.documents import mime
from batch_pipeline.documents.hashing import fingerprint, fingerprint_files, hash_file
from batch_pipeline.documents.sniffing import HEAD_BYTES, sniff
from batch_pipeline_tests.documents import made_files as made

CV_PAGE = (
    "<html><head><title>Ada Example</title></head><body><h1>Ada Example</h1><p>ada@example.com</p>"
    "<h2>Experience</h2><p>2019 - 2024 Engineer: wrote the sign in page and its access denied page</p>"
    "</body></html>"
)


@pytest.mark.parametrize(
    ("data", "kind", "error_page"),
    [
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", mime.XML, True),
        (b"<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>", mime.XML, True),
        (b'{"error": "rate_limited", "retry_after": 30}', mime.JSON, True),
        (b'{"message": "Too Many Requests"}', mime.JSON, True),
        (b'{"success": false, "results": []}', mime.JSON, True),
        (b'<form><p>Welcome back</p><input type="password"></form>', mime.HTML, True),
        (b"<html><title>403 Forbidden</title><h1>Forbidden</h1></html>", mime.HTML, True),
        (b"<!DOCTYPE html><html><title>Session expired</title></html>", mime.HTML, True),
        (b"HTTP/1.1 429 Too Many Requests", mime.TEXT, True),
        (b"404 page not found", mime.TEXT, True),
        (CV_PAGE.encode(), mime.HTML, False),
        (b"<?xml version='1.0'?>\n<html><body><p>Ada</p></body></html>", mime.HTML, False),
        (b"Ada Example\nExperience\n2019 - 2024", mime.TEXT, False),
        ("Jörg\nErfahrung".encode("utf-16"), mime.TEXT, False),
        (b'{"basics": {"name": "Ada"}, "work": []}', mime.JSON, False),
        (b"[draft] Ada Example, engineer", mime.TEXT, False),
        (b"\n\n%PDF-1.4", mime.PDF, False),
        (b"{\\rtf1 x}", mime.RTF, False),
        (b"\xff\xd8\xff\xe0", mime.JPEG, False),
        (b"Rar!\x1a\x07\x00", mime.OTHER_ARCHIVE, False),
        (bytes(range(256)) * 4, mime.UNKNOWN, False),
        (b"", mime.EMPTY, False),
    ],
)
def test_bytes_tell_the_type(data: bytes, kind: str, error_page: bool) -> None:
    found = sniff(data[:HEAD_BYTES], len(data))
    assert (found.mime, found.error_page) == (kind, error_page)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (made.docx(made.paragraph("x")), mime.DOCX),
        (made.docx(made.paragraph("x"))[:150], mime.DOCX),
        (made.zipped({"mimetype": mime.ODT.encode(), "content.xml": b"<x/>"}), mime.ODT),
        (made.zipped({"[Content_Types].xml": b"", "xl/workbook.xml": b""}), mime.OTHER_OFFICE),
        (made.zipped({"cv.pdf": b"%PDF-"}), mime.ZIP),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\xff" * 600, mime.DOC),
    ],
)
def test_containers_are_looked_into(tmp_path: Path, data: bytes, kind: str) -> None:
    assert fingerprint(str(made.put(tmp_path, "CV.pdf", data))).mime == kind


def test_a_hash_is_of_every_byte_and_its_head_is_the_first(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5_000
    found = hash_file(made.put(tmp_path, "x", data))
    assert (found.size, found.head) == (len(data), data[:HEAD_BYTES])
    assert (found.md5, found.sha256) == (hashlib.md5(data).hexdigest(), hashlib.sha256(data).hexdigest())


def test_many_files_are_hashed_in_order_whatever_the_workers(tmp_path: Path) -> None:
    paths = [str(made.put(tmp_path, str(number), b"%d" % number)) for number in range(450)]
    paths.insert(7, str(tmp_path / "gone"))
    alone, together = list(fingerprint_files(paths, 1)), list(fingerprint_files(paths, 2))
    assert alone == together
    assert [found.path for found in alone] == paths
    assert alone[7].missing
