"""`python -m batch_pipeline_tests.faults.table --all | --sample SECONDS [--seed N]`

Kills a whole small migration at every point where it reaches a database, S3 or Bedrock (or at a random
sample of them), runs it again to its end, and prints what that came to. Exit code 0 when nothing was
billed twice, lost or left over.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterable, Sequence

from batch_pipeline_tests.faults.harness import Harness, Outcome, Point, harness, spread

_COLUMNS = ("point", "points", "kills", "asked a person", "billed twice", "lost", "left over", "other")

_SHOWN_EVERY = 25


def kill_all(harness_: Harness, points: Iterable[Point], seconds: float | None) -> list[Outcome]:
    """Kill at each of the points until the time is over."""
    started = time.monotonic()
    outcomes = []
    for point in points:
        if seconds is not None and time.monotonic() - started > seconds:
            break
        outcome = harness_.kill(point)
        outcomes.append(outcome)
        if not outcome.right:
            print(f"NOT RIGHT: {outcome}", flush=True)
        if len(outcomes) % _SHOWN_EVERY == 0:
            print(
                f"{len(outcomes)} points done in {time.monotonic() - started:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    return outcomes


def lines(points: Sequence[Point], outcomes: Sequence[Outcome]) -> list[str]:
    """The table, a row for each process and kind of point, and the line of totals."""
    kinds = sorted({(point.process, point.kind) for point in points})
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for process, kind in kinds:
        there = sum((point.process, point.kind) == (process, kind) for point in points)
        of_kind = [one for one in outcomes if (one.point.process, one.point.kind) == (process, kind)]
        rows.append((f"{process}: {kind}", str(there), *_figures(of_kind)))
    rows.append(("TOTAL", str(len(points)), *_figures(outcomes)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _figures(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    sums = (
        sum(one.killed for one in outcomes),
        sum(one.doubts > 0 for one in outcomes),
        sum(one.billed_twice for one in outcomes),
        sum(one.lost for one in outcomes),
        sum(one.left_over for one in outcomes),
        sum(bool(one.said) for one in outcomes),
    )
    return tuple(map(str, sums))


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="python -m batch_pipeline_tests.faults.table", description=__doc__)
    which = options.add_mutually_exclusive_group(required=True)
    which.add_argument("--all", action="store_true", help="every point, one after the other")
    which.add_argument("--sample", type=float, metavar="SECONDS", help="random points for this long")
    options.add_argument("--seed", type=int, default=None, help="of the sample (random)")
    given = options.parse_args(arguments)
    seed = given.seed if given.seed is not None else random.randrange(10**6)
    with harness() as prepared:
        points = prepared.count()
        chosen = list(points)
        if given.sample is not None:
            random.Random(seed).shuffle(chosen)
            chosen = spread(chosen)
            print(f"{len(points)} points; a sample of {given.sample:g} s with seed {seed}", flush=True)
        outcomes = kill_all(prepared, chosen, given.sample)
        print("\n".join(lines(points, outcomes)))
    return 0 if outcomes and all(outcome.right for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
