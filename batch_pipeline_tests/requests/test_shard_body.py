"""The upload body of a shard reads like a file of its own."""

import hashlib
import io
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_pipeline.errors import TerminalError
from batch_pipeline.requests.shard_body import ShardBody


@given(st.data())
@settings(max_examples=80)
def test_any_seek_and_read_equals_the_same_on_a_copy(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = data.draw(st.binary(min_size=1, max_size=300))
    path = tmp_path_factory.mktemp("body") / "requests.jsonl"
    path.write_bytes(content)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(content)), min_size=2, max_size=12)))
    ranges = [(a, b - a) for a, b in pairwise(cuts)]
    chosen = data.draw(st.lists(st.sampled_from(ranges), min_size=1, unique=True))
    copy = io.BytesIO(b"".join(content[a : a + n] for a, n in chosen))
    with ShardBody(path, [a for a, _ in chosen], [n for _, n in chosen]) as body:
        assert body.size == len(copy.getvalue())
        assert body.digest() == hashlib.sha256(copy.getvalue()).hexdigest()
        for _ in range(6):
            to = data.draw(st.integers(0, body.size + 5))
            size = data.draw(st.integers(-1, body.size + 5))
            assert body.seek(to) == copy.seek(to)
            assert body.read(size) == copy.read(size)
            assert body.tell() == copy.tell()
        assert body.seek(0, io.SEEK_END) == body.size


def test_a_contiguous_shard_is_one_range_and_its_digest_leaves_the_position(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(b"one\ntwo\nthree\n")
    with ShardBody(path, [4, 8], [4, 6]) as body:
        assert body.read(3) == b"two"
        assert body.digest() == hashlib.sha256(b"two\nthree\n").hexdigest()
        assert body.read() == b"\nthree\n"


def test_a_range_beyond_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(b"one\n")
    with pytest.raises(TerminalError, match="has 4 bytes"):
        ShardBody(path, [0], [5])


def test_a_file_cut_while_it_is_read_is_an_error_not_a_short_upload(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(b"one\ntwo\n")
    with ShardBody(path, [0], [8]) as body:
        path.write_bytes(b"one\n")
        with pytest.raises(TerminalError, match="ended at byte 4"):
            body.readall()
