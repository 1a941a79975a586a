"""Distinct documents, the fan-out and the sums that must close."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_pipeline.documents import sums
from batch_pipeline.documents.attachments import FOUND, fetch_attachments
from batch_pipeline.documents.dedup import (
    DOCUMENTS,
    LINKS,
    build_documents,
    build_links,
    count_near_duplicates,
    distinct_files,
)
from batch_pipeline.documents.extraction import OUTCOMES, extract, read_outcomes
from batch_pipeline.errors import TerminalError
from batch_pipeline.sources.canonical import SCHEMAS
from batch_pipeline.sources.csv_folder import open_source

SAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "ats_samples"
ATTACHMENTS = pl.Schema({**SCHEMAS["attachment"], **FOUND})


def attachments(*rows: Mapping[str, object]) -> pl.DataFrame:
    defaults = {"person_id": "1", "declared_type": "resume", "state": "fetched", "bytes": 10, "sha256": "s"}
    filled = [{"source_id": f"a{number}", **defaults, **row} for number, row in enumerate(rows, start=1)]
    return pl.DataFrame(filled, schema=ATTACHMENTS)


def outcomes(*rows: Mapping[str, object]) -> pl.LazyFrame:
    defaults = {"text_chars": 100, "needs_vision": False, "kind": "cv"}
    return pl.DataFrame([{**defaults, **row} for row in rows], schema=OUTCOMES).lazy()


def applications(*pairs: tuple[str, str]) -> pl.DataFrame:
    rows = [{"source_id": application, "person_id": person} for application, person in pairs]
    return pl.DataFrame(rows, schema=SCHEMAS["application"])


def test_documents_are_judged_and_routed() -> None:
    references = attachments(
        {"document_md5": "aa"},
        {"document_md5": "aa", "declared_type": "other"},
        {"document_md5": "bb"},
        {"document_md5": "cc", "reason": "archive"},
        {"document_md5": "dd", "reason": "empty"},
        {"document_md5": "ee"},
        {"document_md5": "ff", "declared_type": "cover_letter"},
        {"document_md5": None, "state": "missing"},
    )
    found = build_documents(
        references,
        outcomes(
            {"md5": "aa"},
            {"md5": "bb", "needs_vision": True, "text_chars": 0, "kind": None},
            {"md5": "ee", "reason": "parse_timeout", "text_chars": 0, "kind": None},
            {"md5": "ff", "kind": "unclear"},
        ),
    )
    assert found.schema == DOCUMENTS
    assert found.select("md5", "verdict", "reason", "route", "record_id", "references").rows() == [
        ("aa", "cv", None, "batch", "cv-aa", 2),
        ("bb", "cv", None, "on_demand", "cv-bb", 1),
        ("cc", "not_a_cv", "archive", "none", None, 1),
        ("dd", "quarantined", "empty", "none", None, 1),
        ("ee", "quarantined", "parse_timeout", "none", None, 1),
        ("ff", "not_a_cv", "cover_letter", "none", None, 1),
    ]
    assert sums.states(references).closes
    assert sums.verdicts(references, found).closes
    assert sums.routes(found).closes


@pytest.mark.parametrize("difference", [{"bytes": 11}, {"sha256": "other"}])
def test_one_md5_over_two_contents_is_quarantined(difference: dict[str, object]) -> None:
    references = attachments({"document_md5": "aa"}, {"document_md5": "aa", **difference})
    found = build_documents(references, outcomes({"md5": "aa"}))
    assert found.select("verdict", "reason", "references").rows() == [("quarantined", "md5_collision", 2)]
    assert build_links(references, found, applications(("10", "1"))).is_empty()


def test_a_document_that_was_never_read_stops_the_build() -> None:
    with pytest.raises(TerminalError, match="1 documents have no extraction outcome"):
        build_documents(attachments({"document_md5": "aa"}), outcomes())


def test_a_persons_file_belongs_to_all_their_applications_and_the_newest_is_latest() -> None:
    def day(number: int) -> datetime:
        return datetime(2026, 1, number, tzinfo=UTC)

    references = attachments(
        {"document_md5": "aa", "application_id": "10", "source_created_at": day(1)},
        {"document_md5": "bb", "application_id": "10", "source_created_at": day(2)},
        {"document_md5": "cc", "application_id": None, "source_created_at": None},
        {"document_md5": "aa", "application_id": "99", "person_id": "1"},
    )
    documents = build_documents(references, outcomes({"md5": "aa"}, {"md5": "bb"}, {"md5": "cc"}))
    owners = applications(("10", "1"), ("11", "1"), ("20", "2"))
    links = build_links(references, documents, owners)
    assert links.schema == LINKS
    assert links.select("application_id", "attachment_id", "is_latest").rows() == [
        ("10", "a1", False),
        ("10", "a2", True),
        ("10", "a3", False),
        ("11", "a3", True),
    ]
    assert sums.links(references, documents, owners, links).closes
    assert sums.unlinked(references, documents, links)["source_id"].to_list() == ["a4"]
    lost = sums.links(references, documents, owners, links.filter(attachment_id="a3"))
    assert not lost.closes
    assert set(lost.open_rows["attachment_id"]) >= {"a1", "a2"}


def test_a_persons_file_may_belong_to_the_newest_application_alone() -> None:
    references = attachments(
        {"document_md5": "aa", "application_id": None},
        {"document_md5": "bb", "application_id": "10"},
        {"document_md5": "aa", "application_id": None, "person_id": "3"},
    )
    documents = build_documents(references, outcomes({"md5": "aa"}, {"md5": "bb"}))
    old, new = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    owners = pl.DataFrame(
        [
            {"source_id": "10", "person_id": "1", "applied_at": old, "source_created_at": new},
            {"source_id": "11", "person_id": "1", "source_created_at": new},
            {"source_id": "12", "person_id": "1"},
        ],
        schema=SCHEMAS["application"],
    )
    links = build_links(references, documents, owners, "latest_application")
    assert links.select("application_id", "attachment_id").rows() == [("10", "a2"), ("11", "a1")]
    assert sums.links(references, documents, owners, links, "latest_application").closes
    assert not sums.links(references, documents, owners, links).closes
    assert build_links(references, documents, owners).height == 4


REFERENCE = st.tuples(
    st.sampled_from(["aa", "bb", "cc", "dd"]),
    st.sampled_from(["1", "2", "3"]),
    st.sampled_from([None, "10", "11", "20"]),
    st.sampled_from(["resume", "other", "cover_letter", None]),
    st.sampled_from(["fetched", "missing", "erased", "download_failed"]),
)


@settings(max_examples=60)
@given(st.lists(REFERENCE, max_size=12))
def test_no_reference_is_lost_whatever_the_export_holds(
    rows: list[tuple[str, str, str | None, str | None, str]],
) -> None:
    references = attachments(
        *(
            {
                "document_md5": md5 if state == "fetched" else None,
                "person_id": person,
                "application_id": application,
                "declared_type": declared,
                "state": state,
            }
            for md5, person, application, declared, state in rows
        )
    )
    found = outcomes(
        {"md5": "aa"},
        {"md5": "bb", "needs_vision": True, "kind": None, "text_chars": 0},
        {"md5": "cc", "kind": "unclear"},
        {"md5": "dd", "reason": "damaged", "kind": None, "text_chars": 0},
    )
    owners = applications(("10", "1"), ("11", "1"), ("20", "2"))
    documents = build_documents(references, found)
    links = build_links(references, documents, owners)
    every = [
        sums.references(references, references),
        sums.states(references),
        sums.verdicts(references, documents),
        sums.routes(documents),
        sums.links(references, documents, owners, links),
    ]
    assert [str(total) for total in every if not total.closes] == []


def test_a_sum_that_does_not_close_names_its_rows() -> None:
    references = attachments({"document_md5": "aa"}, {"document_md5": None, "state": "pending"})
    open_states = sums.states(references)
    assert not open_states.closes
    assert open_states.open_rows["source_id"].to_list() == ["a2"]
    assert str(open_states).endswith("(open)")
    lost = sums.references(references, references.head(1))
    assert lost.open_rows["source_id"].to_list() == ["a2"]


@pytest.mark.skipif(not SAMPLE.exists(), reason="the shared sample exports are not beside the checkout")
def test_the_sample_customer_ends_in_six_cvs_and_seven_links(tmp_path: Path) -> None:
    settings_ = {"kind": "csv_folder", "path": str(SAMPLE / "csv_zip"), "system": "a", "timezone": "UTC"}
    open_source(settings_).read(tmp_path / "canonical")
    listed = pl.read_parquet(tmp_path / "canonical" / "attachment.parquet")
    owners = pl.read_parquet(tmp_path / "canonical" / "application.parquet")
    references = fetch_attachments(listed, tmp_path / "spool", 2)
    extract(distinct_files(references), tmp_path / "texts", 2)
    documents = build_documents(references, read_outcomes(tmp_path / "texts"))
    links = build_links(references, documents, owners)
    cvs = documents.filter(verdict="cv")
    assert cvs["md5"].to_list() == [
        "0a64b72933f74085a3fdde1bd56301a2",
        "34dae5ff61cf8a9dde8fe69d393d48ea",
        "4ea308e754209364f62949f2194877b1",
        "de62d7bef4cbc84ccb825211bf68a453",
        "f24b6ca28be257636e1f483e9079c4e6",
        "f2ea268f3a81707a97142cd930aabe19",
    ]
    assert cvs.height - count_near_duplicates(documents) == 5
    assert cvs.filter("needs_vision")["md5"].to_list() == ["f24b6ca28be257636e1f483e9079c4e6"]
    assert sorted(links["application_id"]) == [f"8800{number}" for number in (1, 2, 3, 4, 5, 6, 8)]
    by_id = {row["source_id"]: row for row in references.iter_rows(named=True)}
    assert by_id["6009"]["state"] == "download_failed"
    letter = documents.filter(md5=by_id["6003"]["document_md5"]).row(0, named=True)
    assert (letter["verdict"], letter["reason"]) == ("not_a_cv", "cover_letter")
    assert by_id["6007/1"]["document_md5"] == "4ea308e754209364f62949f2194877b1"
    for total in (
        sums.references(listed, references),
        sums.states(references),
        sums.verdicts(references, documents),
        sums.routes(documents),
        sums.links(references, documents, owners, links),
    ):
        assert total.closes, str(total)
