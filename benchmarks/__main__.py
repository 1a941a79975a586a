"""`python -m benchmarks`: every stage's benchmark in turn, each against a floor of the same run."""

import subprocess
import sys

BENCHMARKS = ("sources", "hashing", "extraction", "shards", "answers", "records", "end_to_end")


def main() -> int:
    failed = 0
    for name in BENCHMARKS:
        print(f"== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
