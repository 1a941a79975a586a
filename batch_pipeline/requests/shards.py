"""Line lengths and limits -> which lines go into which paid job, and which go on-demand.

Shards are contiguous and even: a last shard under the provider's minimum would be refused, so the
rest is spread over all shards. Where bytes force a cut and no legal shard is left, those lines go
on-demand; no plan ever holds an illegal job.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from batch_pipeline.errors import TerminalError
from batch_pipeline.requests.quotas import BatchLimits


@dataclass(frozen=True)
class ShardPlan:
    """Ranges of line indexes: every line is in exactly one of them."""

    shards: tuple[range, ...]
    on_demand: tuple[range, ...]

    @property
    def on_demand_records(self) -> int:
        return sum(len(part) for part in self.on_demand)


def plan(lengths: Sequence[int], limits: BatchLimits) -> ShardPlan:
    """Split lines of the given lengths (bytes, line feed included) into legal jobs.

    As many lines as can be are batched, in as few jobs as can be. The same lengths and limits
    always give the same plan. Raises TerminalError for a line no file can hold.
    """
    total = len(lengths)
    for index, length in enumerate(lengths):
        if length > limits.max_bytes:
            raise TerminalError(
                f"line {index} has {length} bytes; a file of this provider holds {limits.max_bytes}"
            )
    if total < limits.min_records:
        return ShardPlan((), (range(total),) if total else ())
    ends = list(accumulate(lengths, initial=0))
    fewest = len(_filled(ends, limits.max_records, limits.max_bytes))
    if fewest * limits.min_records <= total:
        cuts = _even(ends, fewest, limits) or _balanced(ends, fewest, limits)
        if cuts is not None:
            return ShardPlan(tuple(range(a, b) for a, b in pairwise(cuts)), ())
    return _best(ends, limits)


def _legal(ends: Sequence[int], cuts: Sequence[int], limits: BatchLimits) -> bool:
    return all(
        limits.min_records <= b - a <= limits.max_records and ends[b] - ends[a] <= limits.max_bytes
        for a, b in pairwise(cuts)
    )


def _filled(ends: Sequence[int], records: int, size: int) -> list[int]:
    """The ends of shards filled one after the other up to `records` and `size` (no line is longer)."""
    cuts: list[int] = []
    start = 0
    total = len(ends) - 1
    while start < total:
        start = min(start + records, bisect_right(ends, ends[start] + size) - 1)
        cuts.append(start)
    return cuts


def _even(ends: Sequence[int], shards: int, limits: BatchLimits) -> list[int] | None:
    """Equal counts, which is what similar lines need."""
    total = len(ends) - 1
    cuts = [total * number // shards for number in range(shards + 1)]
    return cuts if _legal(ends, cuts, limits) else None


def _balanced(ends: Sequence[int], shards: int, limits: BatchLimits) -> list[int] | None:
    """Equal bytes as far as lines allow: the smallest size that still needs no further shard."""
    low, high = max(b - a for a, b in pairwise(ends)), limits.max_bytes
    while low < high:
        middle = (low + high) // 2
        if len(_filled(ends, limits.max_records, middle)) <= shards:
            high = middle
        else:
            low = middle + 1
    cuts = [0, *_filled(ends, limits.max_records, low)]
    return cuts if _legal(ends, cuts, limits) else None


def _best(ends: Sequence[int], limits: BatchLimits) -> ShardPlan:
    """The plan that batches the most lines, then the one with the fewest jobs.

    From the last line to the first, `best[i]` is (lines batched, -jobs) of lines i onwards: line i
    either goes on-demand or opens a shard that ends in a window, and both ends of that window only
    move left, so one queue of candidates holds it: O(n) in all.
    """
    total = len(ends) - 1
    best: list[tuple[int, int]] = [(0, 0)] * (total + 1)
    chosen = [0] * (total + 1)  # where the shard that starts here ends; 0: on-demand
    window: deque[int] = deque()
    for start in range(total, -1, -1):
        opened = start + limits.min_records
        if opened <= total:
            while window and _worth(best, window[-1]) <= _worth(best, opened):
                window.pop()
            window.append(opened)
        if start == total:
            continue
        last = min(start + limits.max_records, bisect_right(ends, ends[start] + limits.max_bytes) - 1)
        while window and window[0] > last:
            window.popleft()
        best[start] = best[start + 1]
        if window:
            end = window[0]
            lines, jobs = best[end]
            candidate = (lines + end - start, jobs - 1)
            if candidate >= best[start]:
                best[start], chosen[start] = candidate, end
    return _read(chosen, total)


def _worth(best: Sequence[tuple[int, int]], end: int) -> tuple[int, int]:
    lines, jobs = best[end]
    return lines + end, jobs


def _read(chosen: Sequence[int], total: int) -> ShardPlan:
    shards: list[range] = []
    rest: list[range] = []
    start = 0
    while start < total:
        if chosen[start]:
            shards.append(range(start, chosen[start]))
            start = chosen[start]
            continue
        if rest and rest[-1].stop == start:
            rest[-1] = range(rest[-1].start, start + 1)
        else:
            rest.append(range(start, start + 1))
        start += 1
    return ShardPlan(tuple(shards), tuple(rest))
