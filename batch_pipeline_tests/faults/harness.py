"""Kill a migration at a point, run it again to its end, and count what that cost."""

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from batch_pipeline.local.emulator.server import running_emulator
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases
from batch_pipeline.local.sample import SampleExpectation
from batch_pipeline.local.stack import running_stack
from batch_pipeline_tests.faults.points import Fault, Process
from batch_pipeline_tests.flows.bench import MODEL, Bench

CHECKOUT = Path(__file__).resolve().parents[2]
CVS = 24  # 22 with text, in two jobs of eleven; two scans go on-demand
CHEAP_MODEL = "us.amazon.nova-lite-v1:0"
SMALLEST_JOB = 10
LARGEST_JOB = 12
_PHASES = Phases(submitted=0.05, validating=0.05, scheduled=0.05, in_progress=0.1, stopping=0.05)
_MOST_RUNS = 8
_LONGEST_SECONDS = 90
_HUNG = -1000


@dataclass(frozen=True)
class Point:
    """The `number`th point one process of a migration passes; `kind` and `label` as at the first count."""

    process: Process
    number: int
    kind: str
    label: str

    @property
    def group(self) -> bool:
        """Every third kill takes the whole process group along."""
        return self.number % 3 == 0


@dataclass(frozen=True)
class Outcome:
    """What a kill came to once the migration was at its end."""

    point: Point
    killed: bool
    doubts: int
    billed_twice: int
    lost: int
    left_over: int
    said: str

    @property
    def right(self) -> bool:
        return not (self.billed_twice or self.lost or self.left_over or self.said)


class Harness:
    """A running stack with an emulator whose clock is fast, and one small customer.

    With a cascade the first model cuts off more than half of its answers, so that a job of them goes to the next.
    """

    def __init__(self, bench: Bench, folder: Path, *, cascade: bool = False) -> None:
        self.bench = bench
        self._folder = folder
        self._cascade = cascade
        self.export, self.expected = bench.sample(CVS)

    def count(self) -> list[Point]:
        """Every point a migration passes that nobody kills."""
        points: list[Point] = []
        log = self._log()
        finished = self._run(self._migration(), Fault(None, str(log)))
        assert finished == 0, f"the migration does not come to its end by itself: exit code {finished}"
        processes: tuple[Process, ...] = ("run", "courier")
        for process in processes:
            lines = log.with_name(f"{log.name}-{process}").read_text().splitlines()
            for number, line in enumerate(lines, 1):
                kind, _, label = line.partition("\t")
                points.append(Point(process, number, kind, label))
        return points

    def kill(self, point: Point) -> Outcome:
        """One migration, killed there and taken up again."""
        log = self._log()
        key = self._migration()
        first = self._run(key, Fault(point.process, str(log), point.number, point.group))
        passed = log.with_name(f"{log.name}-{point.process}")
        killed = passed.exists() and bool(passed.read_text())
        doubts, said = 0, ""
        if first == _HUNG:
            said = f"a process hung for {_LONGEST_SECONDS} s"
        elif point.process == "run" and killed and first != -signal.SIGKILL:
            said = f"the killed process ended with {first}"
        for _ in range(_MOST_RUNS):
            finished = self.bench.run(key)
            if finished.code == 0:
                break
            if finished.code == 3 and "their end was never seen" in " ".join(finished.said.split()):
                doubts += self._open_calls(key)
                self.bench.command("resolve", key, "--send-again")
        else:
            said = f"never came to its end: {finished.said[-300:]}"
        return Outcome(
            point,
            killed,
            doubts if point.process == "courier" else 0,
            self._billed_twice(doubts if point.process == "courier" else 0),
            self._lost(key) + (doubts if point.process == "run" else 0),
            self._left_over(key),
            said,
        )

    def _migration(self) -> str:
        self.bench.reset()
        self.bench.rules(limits={"min_records_per_job": SMALLEST_JOB})
        quotas = {"min_records": SMALLEST_JOB, "max_records_per_job": LARGEST_JOB}
        if not self._cascade:
            return self.bench.migration(self.export, provider={"quotas": quotas})
        self.bench.faults(answers=[{"style": "truncated", "rate": 0.6, "models": ["amazon.nova-lite"]}])
        return self.bench.migration(
            self.export,
            provider={"model": CHEAP_MODEL, "quotas": quotas},
            cascade=[{"model": MODEL, "quotas": quotas}],
        )

    def _log(self) -> Path:
        return self._folder / f"points-{uuid.uuid4().hex}"

    def _run(self, key: str, fault: Fault) -> int:
        """The exit code of `run KEY` with one of its processes armed."""
        site = CHECKOUT / "batch_pipeline_tests" / "faults" / "site"
        environment = self.bench.environment | {
            "PYTHONPATH": os.pathsep.join([str(site), str(CHECKOUT)]),
            "BATCH_PIPELINE_FAULT": fault.as_text(),
        }
        command = [sys.executable, "-m", "batch_pipeline_tests.flows.command", "run", key]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(
            command, env=environment, stdout=quiet, stderr=quiet, start_new_session=True
        ) as run:
            try:
                return run.wait(_LONGEST_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                return _HUNG

    def _open_calls(self, key: str) -> int:
        statement = (
            "select count(*) as n from batch_ledger.on_demand_call where migration = %s and state = 'intent'"
        )
        return int(self.bench.query(statement, key)[0]["n"])

    def _billed_twice(self, allowed: int) -> int:
        """Requests paid more than once, less those a person was asked about first."""
        return max(0, self.bench.paid_twice() - allowed)

    def _lost(self, key: str) -> int:
        """CVs without their answer, answers away from their applications, rows that are not there."""
        expected: SampleExpectation = self.expected
        if self.bench.state(key) != "erased":
            return expected.documents
        found = self.bench.markers(key)
        astray = sum(found.get(marker) != places for marker, places in expected.markers.items())
        unanswered = self.bench.documents(key)
        rows = self.bench.query(
            "select (select count(*) from recruiting.application where tenant = %s) as applications, "
            "(select count(*) from recruiting.cv_link where tenant = %s) as links",
            key,
            key,
        )[0]
        return int(
            astray
            + sum(count for state, count in unanswered.items() if state != "answered")
            + abs(rows["applications"] - expected.applications)
            + abs(rows["links"] - expected.links)
        )

    def _left_over(self, key: str) -> int:
        """Object versions, intermediate files and kept answers that should be erased."""
        kept = self.bench.query(
            "select count(*) as n from batch_ledger.on_demand_call where migration = %s and line is not null",
            key,
        )
        files = Path(self.bench.environment["BATCH_PIPELINE_HOME"]) / key
        return (
            len(self.bench.left(key))
            + sum(1 for path in files.rglob("*") if path.is_file())
            + int(kept[0]["n"])
        )


@contextmanager
def harness(
    set_variable: Callable[[str, str], None] = os.environ.__setitem__, *, cascade: bool = False
) -> Iterator[Harness]:
    """Everything a kill needs, below a folder of its own; all of it is gone afterwards.

    The emulator runs in this process and reads the S3 server's address from its environment.
    """
    with tempfile.TemporaryDirectory(prefix="bp-faults-") as name:
        folder = Path(name)
        with running_stack(folder / "stack", poll_seconds=0.2) as stack:
            for variable, value in stack.environment.items():
                set_variable(variable, value)
            with running_emulator(EmulatorSettings(port=0, phases=_PHASES)) as emulator:
                bench = Bench(stack, folder / "customers", address=emulator.url)
                yield Harness(bench, folder, cascade=cascade)


def spread(points: Sequence[Point]) -> list[Point]:
    """The points in turn by process and kind, so that a short sample has seen every kind."""
    kinds: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        kinds.setdefault((point.process, point.kind), []).append(point)
    rounds = zip_longest(*(kinds[kind] for kind in sorted(kinds)))
    return [point for one in rounds for point in one if point is not None]
