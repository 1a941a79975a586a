"""A whole migration by `batch-pipeline run` on the embedded stack: CPU and peak memory of every process.

`python -m benchmarks.end_to_end [--applications N] [--documents N]`, by default 20,000 applications over
4,000 CVs, then twice that. The floor of each run is one pass over the bytes of its export. A promise is
that no process takes a gigabyte, and that twice the customer takes no more than a fifth more.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from batch_pipeline.local.sample.customer import make_sample
from batch_pipeline.local.stack import running_stack

MODEL = "global.anthropic.claude-haiku-4-5-20251001-v1:0"


def children_of(pid: int) -> list[int]:
    """All processes below `pid`, by /proc."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            direct = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in direct:
            found += [child, *children_of(child)]
    return found


def peak_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next(
        (int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0
    )


def read_all(folder: Path) -> float:
    """CPU-seconds of reading every byte once: what no migration can do without."""
    before = time.process_time()
    for path in folder.rglob("*"):
        if path.is_file():
            path.read_bytes()
    return time.process_time() - before


def measure(applications: int, documents: int, room: Path) -> tuple[float, float]:
    """(CPU-seconds of the command and its children, largest peak of any of its processes in MB)."""
    export = room / "export"
    make_sample(export, applications=applications, documents=documents)
    with running_stack(room / "stack", poll_seconds=1) as stack:
        (stack.migrations / "bench.yaml").write_text(
            yaml.safe_dump(
                {
                    "tenant": "bench",
                    "source": {
                        "kind": "csv_folder",
                        "path": str(export),
                        "system": "sample",
                        "timezone": "UTC",
                    },
                    "provider": {"kind": "bedrock", "model": MODEL},
                    "on_demand": {"tokens_per_minute": 100_000_000, "concurrency": 8},
                }
            )
        )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [str(Path(sys.executable).parent / "batch-pipeline"), "run", "bench"]
        largest = 0.0
        with subprocess.Popen(
            command, env={**os.environ, **stack.environment}, stdout=subprocess.DEVNULL
        ) as run:
            while run.poll() is None:
                largest = max(largest, *(peak_mb(pid) for pid in (run.pid, *children_of(run.pid))))
                time.sleep(0.1)
        if run.returncode:
            raise RuntimeError(f"the run ended with code {run.returncode}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    floor = read_all(export)
    print(
        f"{applications:>9,} applications {documents:>7,} CVs: {cpu:7.1f} CPU-s, "
        f"{cpu / floor:6.1f} x reading the export ({floor:.2f} CPU-s), largest process {largest:5.0f} MB",
        flush=True,
    )
    return cpu, largest


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--applications", type=int, default=20_000)
    options.add_argument("--documents", type=int, default=4_000)
    given = options.parse_args()
    peaks = []
    for factor in (1, 2):
        with tempfile.TemporaryDirectory() as room:
            _, peak = measure(given.applications * factor, given.documents * factor, Path(room))
            peaks.append(peak)
    print(f"twice the customer: {peaks[1] / peaks[0]:.2f} times the peak memory")


if __name__ == "__main__":
    main()
