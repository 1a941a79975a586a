"""Text extraction against the floor of bare pypdfium2 in one process.

    python benchmarks/extraction.py --files 2000 --workers 2

Prints CPU seconds with all children, peak memory and the ratio of `extract` (killable processes,
hidden text, cleaning, classification, Parquet) to pypdfium2's own text of the same PDF files, both
measured in this run on CVs made on the fly.
"""

import argparse
import hashlib
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from batch_pipeline.documents import mime
from batch_pipeline.documents.extraction import extract

WORDS = (
    "pipeline",
    "latency",
    "warehouse",
    "contract",
    "schedule",
    "budget",
    "quality",
    "supplier",
    "design",
)
BARE = (
    "import sys, pypdfium2 as p\n"
    "for path in sys.stdin.read().split('\\n'):\n"
    "    document = p.PdfDocument(path)\n"
    "    for page in document:\n"
    "        text = page.get_textpage()\n"
    "        text.get_text_range(); text.close(); page.close()\n"
    "    document.close()\n"
)


def make_cv(path: Path, number: int) -> None:
    """Two pages of about 3,500 characters, no two alike."""
    chance = random.Random(number)
    canvas = Canvas(str(path), pagesize=A4, invariant=1)
    for page in range(2):
        canvas.setFont("Helvetica-Bold", 14)
        canvas.drawString(72, 800, f"Candidate {number}" if page == 0 else "Work experience")
        canvas.setFont("Helvetica", 9)
        for line in range(25):
            year = 1990 + chance.randrange(30)
            words = " ".join(chance.choice(WORDS) for _ in range(7))
            canvas.drawString(72, 770 - line * 15, f"{year}-03 - {year + 2}-09 {words}")
        canvas.showPage()
    canvas.save()


def cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files: list[tuple[str, str, str]] = []
        for number in range(given.files):
            path = folder / f"{number}.pdf"
            make_cv(path, number)
            files.append((hashlib.md5(path.read_bytes()).hexdigest(), str(path), mime.PDF))
        cpu, wall = cpu_seconds(), time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", BARE], input="\n".join(row[1] for row in files), text=True, check=True
        )
        floor, floor_wall = cpu_seconds() - cpu, time.perf_counter() - wall
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cpu, wall = cpu_seconds(), time.perf_counter()
        report = extract(files, folder / "texts", given.workers)
        ours, ours_wall = cpu_seconds() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    child_peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{report.extracted} documents of 2 pages, {report.restarts} restarts")
    print(f"floor, bare pypdfium2      {floor:6.2f} CPU-s  {floor_wall:6.2f} s")
    print(
        f"extract, {given.workers} processes     {ours:6.2f} CPU-s  {ours_wall:6.2f} s  ratio {ours / floor:5.2f}"
    )
    print(
        f"peak memory                {peak:6.0f} MB ({before:.0f} MB before), largest child {child_peak:.0f} MB"
    )


if __name__ == "__main__":
    main()
