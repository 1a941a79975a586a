"""Zip bundles of candidates and the attachments table."""

import hashlib
from pathlib import Path

import polars as pl
import pytest

from batch_pipeline.documents.attachments import FOUND, fetch_attachments
from batch_pipeline.documents.bundles import BundleLimits
from batch_pipeline.sources.canonical import SCHEMAS
from batch_pipeline_tests.documents import made_files as made


def listed(*rows: dict[str, object]) -> pl.DataFrame:
    defaults = {"person_id": "1", "application_id": "10", "declared_type": "other", "state": "pending"}
    return pl.DataFrame(
        [{"source_id": str(number), **defaults, **row} for number, row in enumerate(rows, start=1)],
        schema=SCHEMAS["attachment"],
    )


def fetch(tmp_path: Path, data: bytes, **limits: int) -> pl.DataFrame:
    path = made.put(tmp_path, "bundle.zip", data)
    return fetch_attachments(listed({"local_path": str(path)}), tmp_path / "spool", 1, BundleLimits(**limits))


def test_members_become_attachments_stored_under_their_digest(tmp_path: Path) -> None:
    cv, letter = made.pdf(), made.pdf(made.LETTER_LINES)
    data = made.zipped(
        {
            "../../../evil.pdf": cv,
            "Anschreiben.pdf": letter,
            "leer.txt": b"",
            "__MACOSX/._Anschreiben.pdf": b"junk",
            ".DS_Store": b"junk",
        }
    )
    rows = fetch(tmp_path, data)
    assert rows.columns == [*SCHEMAS["attachment"].names(), *FOUND.names()]
    assert rows["source_id"].to_list() == ["1", "1/1", "1/2", "1/3"]
    assert rows["parent_attachment_id"].to_list() == [None, "1", "1", "1"]
    assert rows["reason"].to_list() == ["archive", None, None, "empty"]
    assert rows["file_name"].to_list()[1:] == ["evil.pdf", "Anschreiben.pdf", "leer.txt"]
    assert rows["document_md5"][1] == hashlib.md5(cv).hexdigest()
    stored = sorted(path.name for path in (tmp_path / "spool").rglob("*") if path.is_file())
    assert stored == sorted(hashlib.md5(data).hexdigest() for data in (cv, letter, b""))


@pytest.mark.parametrize(
    ("data", "limits", "reason"),
    [
        (made.zipped({"bomb.txt": b"0" * (30 << 20)}), {}, "archive_too_large"),
        (made.zipped({str(number): b"x" for number in range(300)}), {}, "archive_too_large"),
        (made.zipped({"a": b"x" * 2000}), {"unpacked_bytes": 1000}, "archive_too_large"),
        (b"PK\x03\x04 and then nothing", {}, "unreadable_archive"),
    ],
)
def test_a_bundle_beyond_limits_is_refused_whole(
    tmp_path: Path, data: bytes, limits: dict[str, int], reason: str
) -> None:
    rows = fetch(tmp_path, data, **limits)
    assert rows.select("source_id", "state", "reason").rows() == [("1", "fetched", reason)]


def test_a_bundle_in_a_bundle_is_not_opened(tmp_path: Path) -> None:
    rows = fetch(tmp_path, made.zipped({"inner.zip": made.zipped({"cv.pdf": made.pdf()})}))
    assert rows["reason"].to_list() == ["archive", "too_deep"]


def test_a_member_larger_than_it_says_is_refused(tmp_path: Path) -> None:
    honest = made.zipped({"a.txt": b"0" * 5000})
    lying = honest.replace((5000).to_bytes(4, "little"), (50).to_bytes(4, "little"))
    assert fetch(tmp_path, lying)["reason"].to_list()[0] in ("archive_too_large", "unreadable_archive")


def test_every_reference_gets_a_state(tmp_path: Path) -> None:
    cv = made.put(tmp_path, "cv.pdf", made.pdf())
    page = made.put(tmp_path, "page.pdf", b"<Error><Code>AccessDenied</Code></Error>")
    secret = made.put(tmp_path, "erased.pdf", made.pdf())
    secret.chmod(0)
    rows = fetch_attachments(
        listed(
            {"local_path": str(cv)},
            {"local_path": str(cv), "application_id": "11"},
            {"local_path": str(page)},
            {"local_path": str(tmp_path / "gone.pdf")},
            {"local_path": None},
            {"local_path": None, "state": "missing"},
            {"local_path": None, "state": "erased"},
            {"local_path": str(made.put(tmp_path, "empty.pdf", b""))},
        ),
        tmp_path / "spool",
        1,
    )
    assert rows["state"].to_list() == [
        *("fetched", "fetched", "download_failed", "missing", "missing", "missing", "erased", "fetched")
    ]
    assert rows["reason"].to_list() == [None, None, "error_page", None, None, None, None, "empty"]
    assert rows["document_md5"].null_count() == 5
    assert rows["document_md5"][0] == rows["document_md5"][1]
