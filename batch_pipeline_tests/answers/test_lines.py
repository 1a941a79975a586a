"""Lines of an output file."""

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from batch_pipeline.answers import lines as module
from batch_pipeline.answers.lines import Line, iter_lines
from batch_pipeline.surrogates import without_lone_surrogates


class Trickle(io.BytesIO):
    """A body that gives fewer bytes than asked for, as a network does."""

    def __init__(self, content: bytes, step: int) -> None:
        super().__init__(content)
        self._step = step

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._step if size is None or size < 0 else min(size, self._step))


@given(st.lists(st.binary(min_size=1, max_size=40)), st.integers(1, 50), st.booleans())
def test_only_a_line_feed_splits_whatever_the_chunks(parts: list[bytes], step: int, ended: bool) -> None:
    parts = [b"x" + part.replace(b"\n", b"\x85").rstrip(b"\r") + b"x" for part in parts]
    content = b"\n".join(parts) + (b"\n" if ended and parts else b"")
    found = list(iter_lines(Trickle(content, step)))
    assert [line.data for line in found] == parts
    assert all(line.ended for line in found[:-1])
    assert not found or found[-1].ended == ended


def test_unicode_separators_stay_inside_their_line() -> None:
    """F7."""
    text = '{"a":"\u0085\u2028\u2029\x0b\x0c\x1c"}'.encode()
    assert [line.data for line in iter_lines(io.BytesIO(text + b"\n" + text))] == [text, text]


def test_a_mark_and_carriage_returns_are_dropped_and_blank_lines_passed_over() -> None:
    content = b"\xef\xbb\xbf{}\r\n\r\n  \n{}\r\n"
    assert list(iter_lines(io.BytesIO(content))) == [Line(b"{}"), Line(b"{}")]


def test_a_last_line_without_a_line_feed_is_marked() -> None:
    assert list(iter_lines(io.BytesIO(b"{}\n{"))) == [Line(b"{}"), Line(b"{", ended=False)]


@given(st.integers(1, 7))
def test_a_line_over_the_cap_is_cut_and_the_next_one_is_whole(step: int) -> None:
    found = list(iter_lines(Trickle(b"a" * 100 + b"\nbbb\n", step), max_bytes=10))
    assert found == [Line(b"a" * 10, cut=True), Line(b"bbb")]


def test_the_memory_of_an_endless_line_is_bounded() -> None:
    assert module.MAX_LINE_BYTES >= 20 * 3_750_000 * 4 // 3 // 2
    found = list(iter_lines(io.BytesIO(b"a" * 5_000_000), max_bytes=1_000))
    assert [(len(line.data), line.cut) for line in found] == [(1_000, True)]


@given(st.text())
def test_whole_pairs_and_plain_text_stay_as_they_are(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    for ascii_only in (True, False):
        raw = json.dumps(text, ensure_ascii=ascii_only).encode()
        assert without_lone_surrogates(raw) == raw
