"""100,000 requests of 2 KB written in record-id order, against writing the same bytes.

    python -m benchmarks.shards [--count 100000]

Goal: under 2.5 CPU-seconds and 300 MB.
"""

import argparse
import hashlib
import tempfile
from functools import partial
from pathlib import Path

import polars as pl

from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.requests.jsonl import write_requests
from benchmarks.measure import measure, show

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
PROMPT = "Answer with one JSON object that says what the document holds. " * 4
PART = 10_000
SENTENCE = 'Verantwortlich für „Planung" und Betrieb\nvon 12 Systemen;\tTeam 4–6 Personen. '


def make_texts(folder: Path, count: int) -> None:
    """Parts of texts as extraction leaves them: in no order of md5."""
    for part, start in enumerate(range(0, count, PART)):
        numbers = range(start, min(start + PART, count))
        frame = pl.DataFrame(
            {
                "md5": [hashlib.md5(b"%d" % number).hexdigest() for number in numbers],
                "text": [f"{number} " + SENTENCE * 18 for number in numbers],
            }
        )
        frame.write_parquet(folder / f"part-{part:05}.parquet")


def write(folder: Path) -> None:
    texts = sorted(folder.glob("part-*.parquet"))
    documents = pl.concat(pl.read_parquet(part, columns=["md5"]) for part in texts)
    builder = RequestBuilder.for_model(MODEL, PROMPT, 4_096)
    write_requests(texts, documents, builder, folder / "requests.jsonl", folder / "request_lines.parquet")


def write_bytes(folder: Path) -> None:
    chunk = (folder / "requests.jsonl").open("rb").read(1 << 20)
    left = (folder / "requests.jsonl").stat().st_size
    with (folder / "floor").open("wb", buffering=0) as target:
        while left > 0:
            left -= target.write(chunk[:left])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a child as well: a child's peak memory starts at what its parent holds.
        measure("make the texts", partial(make_texts, folder, count))
        requests = measure("write requests", partial(write, folder))
        floor = measure("write the same bytes", partial(write_bytes, folder))
        size = (folder / "requests.jsonl").stat().st_size
    print(show(f"{count} requests, {size / 1e6:.0f} MB, {size / count:.0f} bytes each", floor, [requests]))


if __name__ == "__main__":
    main()
