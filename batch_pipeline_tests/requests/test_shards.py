"""Shard plans: legal for every quota, even, deterministic, and honest about what is left."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_pipeline.errors import TerminalError
from batch_pipeline.requests.quotas import GB, BatchLimits, limits_of
from batch_pipeline.requests.shards import ShardPlan, plan

KB = 1_000


def sizes(found: ShardPlan) -> list[int]:
    return [len(shard) for shard in found.shards]


def assert_legal(found: ShardPlan, lengths: list[int], limits: BatchLimits) -> None:
    parts = sorted([*found.shards, *found.on_demand], key=lambda part: part.start)
    assert [index for part in parts for index in part] == list(range(len(lengths)))
    for shard in found.shards:
        assert limits.min_records <= len(shard) <= limits.max_records
        assert sum(lengths[shard.start : shard.stop]) <= limits.max_bytes


def test_fifty_thousand_and_fifty_documents_are_two_legal_jobs() -> None:
    found = plan([2 * KB] * 50_050, BatchLimits())
    assert sizes(found) == [25_025, 25_025]
    assert found.on_demand == ()


def test_ninety_nine_documents_all_go_on_demand() -> None:
    found = plan([2 * KB] * 99, BatchLimits())
    assert found == ShardPlan((), (range(99),))


def test_a_hundred_documents_are_one_job() -> None:
    assert sizes(plan([2 * KB] * 100, BatchLimits())) == [100]


def test_a_hundred_and_one_documents_are_never_a_hundred_and_one() -> None:
    """F17."""
    assert sizes(plan([2 * KB] * 101, BatchLimits())) == [101]
    found = plan([2 * KB] * 101, BatchLimits(max_records_per_file=100))
    assert sizes(found) == [100]
    assert found.on_demand_records == 1


def test_a_hundred_and_ninety_nine_at_most_a_hundred_is_one_job_and_the_rest_on_demand() -> None:
    limits = BatchLimits(max_records_per_file=100)
    found = plan([2 * KB] * 199, limits)
    assert found == ShardPlan((range(100),), (range(100, 199),))


def test_two_hundred_at_most_a_hundred_are_two_jobs() -> None:
    assert sizes(plan([KB] * 200, BatchLimits(max_records_per_file=100))) == [100, 100]


def test_forty_records_to_retry_are_never_a_job() -> None:
    """F18."""
    assert plan([KB] * 40, BatchLimits()).shards == ()


def test_nothing_gives_an_empty_plan() -> None:
    assert plan([], BatchLimits()) == ShardPlan((), ())


def test_a_file_never_passes_one_gigabyte() -> None:
    lengths = [21 * 1024] * 50_000
    found = plan(lengths, BatchLimits())
    assert sizes(found) == [25_000, 25_000]
    assert_legal(found, lengths, BatchLimits())


def test_a_job_of_one_file_never_passes_the_jobs_own_size() -> None:
    limits = BatchLimits(max_file_bytes=10 * GB)
    lengths = [60_000_000] * 200
    found = plan(lengths, limits)
    assert sizes(found) == []
    assert found.on_demand_records == 200
    limits = BatchLimits(max_file_bytes=10 * GB, min_records=50)
    assert_legal(plan(lengths, limits), lengths, limits)
    assert sizes(plan(lengths, limits)) == [66, 67, 67]


def test_a_line_larger_than_a_file_is_refused_with_its_index() -> None:
    with pytest.raises(TerminalError, match="line 7 has 1000000001 bytes"):
        plan([KB] * 7 + [GB + 1] + [KB] * 200, BatchLimits())


def test_huge_lines_go_on_demand_where_they_would_make_an_illegal_job() -> None:
    limits = BatchLimits(min_records=100, max_file_bytes=GB)
    lengths = [KB] * 300 + [900_000_000] * 3 + [KB] * 300
    found = plan(lengths, limits)
    assert_legal(found, lengths, limits)
    # The first and the last huge line fit beside the small ones; the middle one has no room.
    assert found.on_demand_records == 1


def test_uneven_lines_are_cut_by_bytes_not_by_count() -> None:
    limits = BatchLimits(min_records=10, max_file_bytes=100 * KB, max_job_bytes=100 * KB)
    lengths = [9 * KB] * 20 + [1 * KB] * 100
    found = plan(lengths, limits)
    assert_legal(found, lengths, limits)
    assert found.on_demand == ()
    assert len(found.shards) == 3


def test_limits_that_allow_no_job_are_refused() -> None:
    with pytest.raises(ValueError, match="no job would be legal"):
        BatchLimits(min_records=200, max_records_per_file=100)


def test_a_migration_overrides_the_table() -> None:
    limits = limits_of("us.amazon.nova-lite-v1:0", max_records_per_file=1_000)
    assert (limits.max_records, limits.max_job_bytes) == (1_000, 100 * GB)
    with pytest.raises(ValueError, match="max_record"):
        limits_of("us.amazon.nova-lite-v1:0", max_record=1)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], BatchLimits]:
    least = draw(st.integers(1, 12))
    limits = BatchLimits(
        min_records=least,
        max_records_per_file=draw(st.integers(least, 30)),
        max_records_per_job=draw(st.integers(least, 30)),
        max_file_bytes=draw(st.integers(20, 400)),
        max_job_bytes=draw(st.integers(20, 400)),
    )
    lengths = draw(st.lists(st.integers(1, min(20, limits.max_bytes)), max_size=120))
    return lengths, limits


def most_batched(lengths: list[int], limits: BatchLimits) -> int:
    """The plain answer by trying every shard, for small inputs."""
    best = [0] * (len(lengths) + 1)
    for start in range(len(lengths) - 1, -1, -1):
        best[start] = best[start + 1]
        for end in range(start + limits.min_records, min(start + limits.max_records, len(lengths)) + 1):
            if sum(lengths[start:end]) <= limits.max_bytes:
                best[start] = max(best[start], end - start + best[end])
    return best[0]


@given(cases())
@settings(max_examples=300)
def test_every_plan_is_legal_complete_and_batches_as_much_as_can_be(
    case: tuple[list[int], BatchLimits],
) -> None:
    lengths, limits = case
    found = plan(lengths, limits)
    assert_legal(found, lengths, limits)
    assert sum(sizes(found)) == most_batched(lengths, limits)
    assert plan(list(lengths), limits) == found


@given(st.integers(100, 3_000), st.integers(100, 400))
@settings(max_examples=100)
def test_similar_lines_are_spread_evenly(count: int, most: int) -> None:
    found = plan([KB] * count, BatchLimits(max_records_per_file=most))
    if not found.on_demand:
        assert max(sizes(found)) - min(sizes(found)) <= 1
