"""Every file of the shared CV index ends in the state its row asks for, through the whole room."""

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from batch_pipeline.documents import mime, sums
from batch_pipeline.documents.attachments import fetch_attachments
from batch_pipeline.documents.dedup import build_documents, distinct_files
from batch_pipeline.documents.extraction import extract, read_outcomes
from batch_pipeline.documents.reasons import Reason, State, Verdict
from batch_pipeline.sources.canonical import SCHEMAS

CVS = Path(__file__).resolve().parents[3] / "shared" / "data" / "cvs"
pytestmark = pytest.mark.skipif(not CVS.exists(), reason="the shared CV files are not beside the checkout")

Row = dict[str, str]
Ending = tuple[str, str | None, str | None, bool]  # state, verdict, reason, needs_vision

ROWS: list[Row] = (
    list(csv.DictReader((CVS / "index.csv").read_text(encoding="utf-8").splitlines())) if CVS.exists() else []
)
MIMES = {
    **{"pdf": mime.PDF, "docx": mime.DOCX, "odt": mime.ODT, "rtf": mime.RTF, "ole2": mime.DOC},
    **{"html": mime.HTML, "text": mime.TEXT, "xml": mime.XML, "json": mime.JSON, "jpeg": mime.JPEG},
    **{"zip": mime.ZIP, "empty": mime.EMPTY},
}
OTHERS = {
    "cover_letter": Reason.COVER_LETTER,
    "other": Reason.PAYSLIP,
    "photo": Reason.PHOTO,
    "archive": Reason.ARCHIVE,
    "not_a_cv": Reason.JOB_DESCRIPTION,
}
NO_CANDIDATES_FILES = {"ground_truth", "schema"}
"""Kinds the index asks no state for: what a test expects, not what a candidate sent.

They go through the room as well and end in one of its states: JSON that is no Europass CV is
quarantined as unsupported, and YAML is text like any other.
"""


def asked_for(row: Row) -> Ending:
    """The ending as kind, encrypted, magic and layout of the row say."""
    fetched = State.FETCHED.value
    if row["kind"] == "broken":
        reason = Reason.EMPTY if row["magic"] == "empty" else Reason.TRUNCATED
        return fetched, Verdict.QUARANTINED, reason, False
    if row["kind"] == "not_a_cv" and row["format"].endswith("saved as pdf"):
        return State.DOWNLOAD_FAILED, None, Reason.ERROR_PAGE, False
    if row["kind"] in OTHERS:
        return fetched, Verdict.NOT_A_CV, OTHERS[row["kind"]], False
    if row["encrypted"] == "needs password":
        return fetched, Verdict.QUARANTINED, Reason.PASSWORD_PROTECTED, False
    return fetched, Verdict.CV, None, row["layout"].startswith("scanned")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Attachments and documents of the whole index, every file declared as a resume."""
    out = tmp_path_factory.mktemp("index")
    listed = pl.DataFrame(
        [
            {
                "source_id": row["path"],
                "person_id": row["path"],
                "declared_type": "resume",
                "local_path": str(CVS / row["path"]),
                "state": "pending",
            }
            for row in ROWS
        ],
        schema=SCHEMAS["attachment"],
    )
    attachments = fetch_attachments(listed, out / "spool", 2)
    extract(distinct_files(attachments), out / "texts", 2)
    return attachments, build_documents(attachments, read_outcomes(out / "texts"))


def ending(room: tuple[pl.DataFrame, pl.DataFrame], source_id: str) -> tuple[dict[str, Any], Ending]:
    attachments, documents = room
    attachment = attachments.row(by_predicate=pl.col("source_id") == source_id, named=True)
    if attachment["document_md5"] is None:
        return attachment, (attachment["state"], None, attachment["reason"], False)
    document = documents.row(by_predicate=pl.col("md5") == attachment["document_md5"], named=True)
    found = (attachment["state"], document["verdict"], document["reason"], document["needs_vision"])
    return attachment | document, found


@pytest.mark.parametrize("row", ROWS, ids=[row["path"] for row in ROWS])
def test_every_file_ends_as_its_row_asks(room: tuple[pl.DataFrame, pl.DataFrame], row: Row) -> None:
    file, found = ending(room, row["path"])
    assert file["sniffed_mime"] == MIMES[row["magic"]]
    if file["document_md5"] is not None:
        assert file["document_md5"] == row["md5"]
    if row["kind"] in NO_CANDIDATES_FILES:
        assert found[1] in set(Verdict)
        return
    assert found == asked_for(row)
    if file.get("route") is not None:
        routed = {(Verdict.CV, False): "batch", (Verdict.CV, True): "on_demand"}
        assert file["route"] == routed.get((found[1], found[3]), "none")
    if found[1] == Verdict.CV and row["pages"]:
        assert file["pages"] == int(row["pages"])


def test_what_the_room_asks_no_state_for_is_named(room: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    kinds = {row["kind"] for row in ROWS}
    assert kinds - NO_CANDIDATES_FILES == {"cv", "broken", *OTHERS}


def test_members_of_the_bundle_are_a_cv_and_a_letter(room: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    bundle = "synthetic/application_bundle.zip"
    children = room[0].filter(parent_attachment_id=bundle)["source_id"].to_list()
    found = sorted((ending(room, child)[1][1:3] for child in children), key=str)
    assert found == [(Verdict.CV, None), (Verdict.NOT_A_CV, Reason.COVER_LETTER)]


def test_the_sums_of_the_index_close(room: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    attachments, documents = room
    for total in (sums.states(attachments), sums.verdicts(attachments, documents), sums.routes(documents)):
        assert total.closes, str(total)
