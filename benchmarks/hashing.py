"""Hashing and sniffing against the floor of reading the same bytes.

    python benchmarks/hashing.py --files 2000 --workers 2

Prints CPU seconds of this process and its children, the children's peak memory and the ratio of
`fingerprint_files` to reading every file once, both measured in this run on files made on the fly.
"""

import argparse
import hashlib
import resource
import tempfile
import time
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path

from reportlab.pdfgen.canvas import Canvas

from batch_pipeline.documents.hashing import fingerprint_files


def make_files(folder: Path, count: int, kilobytes: int) -> list[str]:
    """PDF files of one page, each padded to about the size of a real CV, no two alike."""
    paths: list[str] = []
    for number in range(count):
        path = folder / f"{number}.pdf"
        canvas = Canvas(str(path), invariant=1)
        canvas.drawString(72, 700, f"Candidate {number}")
        canvas.save()
        with path.open("ab") as stream:
            stream.write(number.to_bytes(4, "little") * (kilobytes << 8))
        paths.append(str(path))
    return paths


def digest_alone(paths: list[str]) -> None:
    """What no program that needs both digests can be faster than."""
    for path in paths:
        data = Path(path).read_bytes()
        hashlib.md5(data).hexdigest()
        hashlib.sha256(data).hexdigest()


def hash_all(paths: list[str], workers: int) -> None:
    """Ends the fork server, so that what its children used is counted as this process's children's."""
    for _ in fingerprint_files(paths, workers):
        pass
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


def cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    work()
    return cpu_seconds() - cpu, time.perf_counter() - wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--kilobytes", type=int, default=115)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = make_files(Path(folder), given.files, given.kilobytes)
        megabytes = sum(Path(path).stat().st_size for path in paths) / 1e6
        floor, _ = measured(lambda: [len(Path(path).read_bytes()) for path in paths])
        digests, _ = measured(lambda: digest_alone(paths))
        alone, alone_wall = measured(lambda: hash_all(paths, 1))
        pooled, pooled_wall = measured(lambda: hash_all(paths, given.workers))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    child_peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{given.files} files, {megabytes:.0f} MB")
    print(f"floor, read the bytes      {floor:6.2f} CPU-s")
    print(f"MD5 and SHA-256 of them     {digests:6.2f} CPU-s                ratio {digests / floor:5.2f}")
    print(f"one process                {alone:6.2f} CPU-s  {alone_wall:6.2f} s  ratio {alone / floor:5.2f}")
    print(
        f"{given.workers} processes              {pooled:6.2f} CPU-s  {pooled_wall:6.2f} s  ratio {pooled / floor:5.2f}"
    )
    print(f"peak memory                {peak:6.0f} MB, largest child {child_peak:.0f} MB")


if __name__ == "__main__":
    main()
