"""Small exports written on the fly."""

from pathlib import Path

import polars as pl

from batch_pipeline.sources.base import Notice, NoticeKind, SourceReport
from batch_pipeline.sources.canonical import Entity
from batch_pipeline.sources.csv_folder import open_source

SAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "ats_samples" / "csv_zip"

PEOPLE = "Candidate ID,First Name,Last Name,Email,Created At,Anonymized At\n1,Ada,Example,ada@example.com,2026-01-02 08:00,\n"
APPLICATIONS = "Application ID,Candidate ID,Job ID,Applied On,Status\n10,1,100,2026-01-02,active\n"


def write(folder: Path, **tables: str | bytes) -> Path:
    """An export of `candidates`, `applications` and the given tables, by file stem."""
    folder.mkdir(parents=True, exist_ok=True)
    for stem, text in ({"candidates": PEOPLE, "applications": APPLICATIONS} | tables).items():
        data = text if isinstance(text, bytes) else text.encode()
        (folder / f"{stem}.csv").write_bytes(data)
    return folder


def read(export: Path, into: Path, **settings: object) -> SourceReport:
    given = {"kind": "csv_folder", "path": str(export), "system": "acme", "timezone": "Europe/Berlin"}
    return open_source(given | settings).read(into)


def table(into: Path, entity: Entity) -> pl.DataFrame:
    return pl.read_parquet(into / f"{entity}.parquet")


def notices(report: SourceReport, kind: NoticeKind) -> list[Notice]:
    return [notice for notice in report.notices if notice.kind == kind]
