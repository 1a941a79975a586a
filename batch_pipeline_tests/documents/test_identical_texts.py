"""Equal texts in other bytes are asked about once and stay documents of their own."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batch_pipeline.documents.dedup import DOCUMENTS, count_near_duplicates
from batch_pipeline.documents.identical_texts import REUSED, asked_about, reused_answers, with_reused
from batch_pipeline.documents.text import extract_text

CVS = Path(__file__).resolve().parents[3] / "shared" / "data" / "cvs" / "synthetic"

ROW = st.tuples(
    st.sampled_from([None, "t1", "t2", "t3"]),
    st.sampled_from(["cv", "not_a_cv", "quarantined"]),
    st.booleans(),
)


def documents(*rows: tuple[str | None, str, bool]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "md5": f"{number:02x}",
                "text_sha": text,
                "verdict": verdict,
                "needs_vision": vision and verdict == "cv",
                "record_id": f"cv-{number:02x}" if verdict == "cv" else None,
            }
            for number, (text, verdict, vision) in enumerate(rows)
        ],
        schema=DOCUMENTS,
    )


def answers(*rows: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"record_id": f"cv-{md5}", "md5": md5, "status": status, "input_tokens": 900}
            for md5, status in rows
        ],
        schema={"record_id": pl.String, "md5": pl.String, "status": pl.String, "input_tokens": pl.Int64},
    )


@given(st.lists(ROW, max_size=12), st.randoms())
def test_every_text_is_asked_about_exactly_once(
    rows: list[tuple[str | None, str, bool]], chance: object
) -> None:
    made = documents(*rows)
    reused = reused_answers(made)
    assert reused.schema == REUSED
    asked = asked_about(made)
    assert asked.height + reused.height == made.height
    read = asked.filter((pl.col("verdict") == "cv") & ~pl.col("needs_vision"))["text_sha"].drop_nulls()
    assert read.n_unique() == read.len()
    assert set(reused["answer_md5"]) <= set(asked["md5"])
    getattr(chance, "shuffle")(order := list(range(made.height)))  # noqa: B009 - hypothesis does not type its Random
    assert reused_answers(made[order]).equals(reused)


def test_as_many_are_saved_as_the_report_of_near_duplicates_says() -> None:
    made = documents(("t1", "cv", False), ("t1", "cv", False), ("t2", "cv", False), ("t1", "not_a_cv", False))
    assert reused_answers(made).height == count_near_duplicates(made) == 1


def test_a_copy_has_its_own_names_and_cost_nothing() -> None:
    made = documents(("t1", "cv", False), ("t1", "cv", False), ("t2", "cv", False), ("t2", "cv", False))
    found = with_reused(answers(("00", "parsed"), ("02", "failed")), made)
    assert found.select("record_id", "md5", "status", "input_tokens").rows() == [
        ("cv-00", "00", "parsed", 900),
        ("cv-02", "02", "failed", 900),
        ("cv-01", "01", "parsed", None),
        ("cv-03", "03", "failed", None),
    ]


def test_a_document_waits_where_the_first_has_no_answer_yet() -> None:
    made = documents(("t1", "cv", False), ("t1", "cv", False))
    assert with_reused(answers(), made).is_empty()


@pytest.mark.skipif(not CVS.exists(), reason="the shared CV files are not beside the checkout")
@pytest.mark.parametrize(
    ("one", "other"),
    [("en-imogen_1col.pdf", "en-imogen_1col_reexport.pdf"), ("en-imogen_2col.pdf", "trailing_bytes.pdf")],
)
def test_a_second_export_of_a_cv_has_the_same_text(one: str, other: str) -> None:
    found = [extract_text(CVS / name, "application/pdf").text_sha for name in (one, other)]
    assert found[0] == found[1] is not None
