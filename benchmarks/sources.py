"""Reading an export of N applications against copying its CSV files to Parquet, in the same run.

    python -m benchmarks.sources [applications]

The same customer twice: as CSV files with a manifest, and as pages of Greenhouse payloads. The floor is
polars' own `scan_csv` to `sink_parquet` of the same CSV files: no dates, no ids, no references.
"""

import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl

from batch_pipeline.sources.base import open_source
from benchmarks.measure import measure, show

_PAGE: Final = 500
_SAID: Final = "Some sentences which nobody wrote, of the length that notes have. "


def main(applications: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bp-bench-") as name:
        root = Path(name)
        measure("make CSV", partial(make_csv, root / "csv", applications))
        measure("make payloads", partial(make_payloads, root / "payloads", applications))
        floor = measure("scan_csv to Parquet (floor)", partial(run_floor, root / "csv", root / "floor"))
        csv = measure("csv_folder", partial(run_source, "csv_folder", root / "csv", root / "a"))
        api = measure("greenhouse payloads", partial(run_source, "greenhouse", root / "payloads", root / "b"))
        print(show(f"{applications:,} applications", floor, [csv, api]))


def run_source(kind: str, export: Path, into: Path) -> None:
    zone = {"timezone": "Europe/Berlin"} if kind == "csv_folder" else {}
    report = open_source({"kind": kind, "path": str(export), "system": "bench", **zone}).read(into)
    print(dict(report.counts), flush=True)


def run_floor(export: Path, into: Path) -> None:
    into.mkdir()
    for path in export.glob("*.csv"):
        pl.scan_csv(path, infer_schema=False).sink_parquet(into / f"{path.stem}.parquet")


def make_csv(folder: Path, applications: int) -> None:
    folder.mkdir()
    n = pl.int_range(applications, dtype=pl.Int64)
    each = pl.select(n.alias("n"))
    people = max(1, applications // 3)
    owner = pl.format("p{}", pl.col("n") % people)
    mine = pl.format("a{}", "n")
    at = pl.lit("2026-01-12 08:05")
    tables = {
        "candidates": each.head(people).select(
            pl.format("p{}", "n").alias("Candidate ID"),
            pl.format("Given {}", "n").alias("First Name"),
            pl.format("Family {}", "n").alias("Last Name"),
            pl.format("p{}@example.com", "n").alias("Email"),
            pl.format("+44 20 {}", 10_000_000 + pl.col("n")).alias("Phone"),
            at.alias("Created At"),
        ),
        "jobs": each.head(max(1, applications // 100)).select(
            pl.format("j{}", "n").alias("Job ID"), pl.format("Job {}", "n").alias("Title")
        ),
        "applications": each.select(
            mine.alias("Application ID"),
            owner.alias("Candidate ID"),
            pl.format("j{}", pl.col("n") // 100).alias("Job ID"),
            pl.lit("01/25/2026").alias("Applied On"),
            pl.lit("active").alias("Status"),
            pl.lit("Onsite").alias("Stage"),
        ),
        "stage_history": pl.concat([each.with_columns(s=pl.lit(s)) for s in ("Applied", "Onsite")]).select(
            mine.alias("Application ID"), pl.col("s").alias("Stage"), at.alias("Entered At")
        ),
        "notes": each.gather_every(5).select(
            pl.format("n{}", "n").alias("Note ID"),
            owner.alias("Candidate ID"),
            mine.alias("Application ID"),
            pl.lit(f"<p>{_SAID}<br>{_SAID}</p>").alias("Body"),
            at.alias("Created At"),
        ),
        "attachments": each.select(
            pl.format("t{}", "n").alias("Attachment ID"),
            owner.alias("Candidate ID"),
            mine.alias("Application ID"),
            pl.lit("CV.pdf").alias("File Name"),
            pl.lit("resume").alias("Type"),
            pl.format("attachments/{}/CV.pdf", mine).alias("Path"),
        ),
    }
    for name, rows in tables.items():
        rows.write_csv(folder / f"{name}.csv")


def make_payloads(folder: Path, applications: int) -> None:
    people = max(1, applications // 3)
    _write(folder / "candidates", ({"id": n, **_person(n)} for n in range(people)))
    _write(folder / "jobs", ({"id": n, "name": f"Job {n}"} for n in range(max(1, applications // 100))))
    _write(folder / "applications", (_application(n, people) for n in range(applications)))
    _write(folder / "scorecards", (_scorecard(n) for n in range(0, applications, 5)))


def _person(n: int) -> dict[str, Any]:
    return {
        "first_name": f"Given {n}",
        "last_name": f"Family {n}",
        "email_addresses": [{"value": f"p{n}@example.com", "type": "personal"}],
        "phone_numbers": [{"value": f"+44 20 {10_000_000 + n}", "type": "mobile"}],
        "created_at": "2026-01-12T08:05:00Z",
        "tags": ["referred"],
    }


def _application(n: int, people: int) -> dict[str, Any]:
    return {
        "id": n,
        "candidate_id": n % people,
        "prospect": False,
        "applied_at": "2026-01-12T08:05:00Z",
        "status": "active",
        "jobs": [{"id": n // 100, "name": f"Job {n // 100}"}],
        "current_stage": {"id": 52, "name": "Phone screen"},
        "attachments": [
            {
                "filename": "CV.pdf",
                "url": f"https://storage.example.com/{n}?Expires=1767866400",
                "type": "resume",
                "created_at": "2026-01-12T08:05:00Z",
            }
        ],
    }


def _scorecard(n: int) -> dict[str, Any]:
    return {
        "id": n,
        "application_id": n,
        "overall_recommendation": "yes",
        "attributes": [{"name": "SQL", "rating": "yes", "note": _SAID}],
    }


def _write(folder: Path, rows: Iterator[dict[str, Any]]) -> None:
    folder.mkdir(parents=True)
    page: list[dict[str, Any]] = []
    number = 0
    for row in rows:
        page.append(row)
        if len(page) == _PAGE:
            (folder / f"{number:06}.json").write_bytes(msgspec.json.encode(page))
            number, page = number + 1, []
    (folder / f"{number:06}.json").write_bytes(msgspec.json.encode(page))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
