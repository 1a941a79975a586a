"""Lines in the order they are read, whatever the order they were drawn in."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from batch_pipeline.documents import mime
from batch_pipeline.documents.cleaning import clean
from batch_pipeline.documents.right_to_left import Glyph, has_right_to_left, read_line
from batch_pipeline.documents.text import extract_text

LEFT = (
    *("Work experience", "2019 - 2024 Engineer, Example Mills", "Cut the nightly load of the warehouse"),
    *("from six hours to fifty minutes by", "splitting it into small pieces that", "run beside each other"),
    *("Wrote the contract tests of all the", "feeds that arrive from suppliers"),
)
RIGHT = (
    *("Profile", "Engineer with eleven years in retail", "and in logistics, at home where data"),
    *("arrives late, twice or not at all", "Education", "University of Nowhere, Mathematics"),
    *("2011 - 2014, with a thesis about", "queues that never become empty"),
)


def drawn(*words: str, width: float = 5.0) -> list[Glyph]:
    """The words of a line as they stand on paper, the first at the right end."""
    signs: list[str] = []
    for word in reversed(words):
        signs += [*(reversed(word) if has_right_to_left(word) else word), " "]
    return [Glyph(sign, width * place, width * (place + 1)) for place, sign in enumerate(signs[:-1])]


ARABIC = st.text("ابتثجحخدرسشصطعفقكلمنهوي", min_size=1, max_size=8)
OTHER = st.from_regex(r"[A-Za-z]{1,6}(@[a-z]{1,4}\.com)?|[0-9]{1,4}|[0-9]{4}-[0-9]{2}", fullmatch=True)


@given(st.lists(st.tuples(ARABIC, OTHER), min_size=1, max_size=4), st.randoms())
def test_words_of_both_directions_come_back_whole_and_in_order(
    pairs: list[tuple[str, str]], chance: object
) -> None:
    words = [word for pair in pairs for word in pair]
    glyphs = drawn(*words)
    getattr(chance, "shuffle")(glyphs)  # noqa: B009 - hypothesis does not type its Random
    assert read_line(glyphs, from_right=True) == " ".join(words)


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (("دبي", "|", "+971 4 555 0187"), "دبي | +971 4 555 0187"),
        (("جامعة", "2012", "–", "2016"), "جامعة 2012 – 2016"),
        (("جامعة", "2012 – 2016"), "جامعة 2012 – 2016"),
        (("شركة", "(", "وهمية", ")"), "شركة ( وهمية )"),
        (("شركة", ")", "وهمية", "("), "شركة ( وهمية )"),
        (("מהנדסת", "C1", "50%"), "מהנדסת 50% C1"),
    ],
)
def test_numbers_spans_and_brackets_are_read_as_they_are_meant(words: tuple[str, ...], read: str) -> None:
    assert read_line(drawn(*words), from_right=True) == read


def test_vowel_signs_follow_their_letter_and_are_said_once() -> None:
    letters = [Glyph("اً", 0, 4), Glyph("ًا", 1, 3), Glyph("ق", 5, 9), Glyph("\u064f", 6, 7)]
    assert read_line(letters, from_right=True) == "قُاً"


def test_words_far_apart_are_cells_and_words_near_each_other_are_words() -> None:
    glyphs = [Glyph("א", 50, 55), Glyph("ב", 45, 50), Glyph("ג", 38, 43), Glyph("7", 0, 5)]
    assert read_line(glyphs, from_right=True) == "אב ג\t7"


def test_an_arabic_word_in_an_english_line_stays_in_its_place() -> None:
    line = [Glyph(sign, place, place + 1) for place, sign in enumerate("Arabic (ةيبرعلا) - native")]
    assert read_line(line, from_right=False) == "Arabic (العربية) - native"


def test_ligatures_and_shapes_of_a_font_are_spelled() -> None:
    assert clean("o\ufb03ce \ufefb \u2f00\u2f08") == "office لا 一人"


def page(path: Path, rows: list[tuple[tuple[float, str], ...]]) -> str:
    canvas = Canvas(str(path), pagesize=A4)
    canvas.setFont("Helvetica", 10)
    for number, row in enumerate(rows):
        for x, words in row:
            canvas.drawString(x, 780 - number * 15, words)
    canvas.save()
    found = extract_text(path, mime.PDF).text
    assert found is not None
    return found


def test_columns_drawn_line_by_line_across_are_read_one_after_the_other(tmp_path: Path) -> None:
    name = "Ada Example, ada@example.com, and much more of a line that goes right across the whole page"
    rows = [((60.0, left), (320.0, right)) for left, right in zip(LEFT, RIGHT, strict=True)]
    found = page(tmp_path / "columns.pdf", [((60.0, name),), *rows])
    assert found.split("\n") == [name, *LEFT, *RIGHT]


def test_dates_beside_their_entries_stay_beside_them(tmp_path: Path) -> None:
    rows = [((60.0, f"{1990 + n}-01 - {1991 + n}-12"), (180.0, f"{LEFT[n]} and on")) for n in range(8)]
    found = page(tmp_path / "dates.pdf", rows)
    assert found.split("\n") == [f"{row[0][1]} {row[1][1]}" for row in rows]
