"""`deduped_cvs`: one row per distinct document, its text or the reason there is none, and the fan-out."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import polars as pl

from batch_pipeline.documents.dedup import (
    build_documents,
    build_links,
    count_near_duplicates,
    distinct_files,
)
from batch_pipeline.documents.extraction import extract, ocr_outcomes, read_outcomes
from batch_pipeline.documents.ocr import read_scans
from batch_pipeline.documents.tesseract import Tesseract
from batch_pipeline.ledger import migrations
from batch_pipeline.stages.context import Context
from batch_pipeline.workspace import write_parquet


@dataclass(frozen=True)
class DedupedCvs:
    """What the references come to once equal files are one document."""

    references: int
    cv_references: int
    documents: int
    verdicts: Mapping[str, int]
    reasons: Mapping[str, int]
    routes: Mapping[str, int]
    links: int
    person_files: str  # the rule for files that hang on a person
    near_duplicates: int
    read_by_ocr: int


def dedup(context: Context) -> DedupedCvs:
    """Extract every distinct file once and decide what becomes of it."""
    workspace = context.workspace
    attachments = pl.read_parquet(workspace.attachments)
    extract(
        distinct_files(attachments),
        workspace.texts,
        context.settings.workers,
        on_progress=lambda done: context.progress("texts extracted", done, None),
        scheduler=context.settings.dask_scheduler,
    )
    ocr = context.migration.ocr
    if ocr is not None:
        read_scans(
            _scans(context, attachments),
            workspace.texts,
            Tesseract.found(ocr.languages),
            context.settings.workers,
            on_progress=lambda done: context.progress("scans read", done, None),
        )
    outcomes = read_outcomes(workspace.texts, with_ocr=ocr is not None)
    documents = build_documents(attachments, outcomes)
    applications = pl.read_parquet(workspace.table("application"))
    links = build_links(attachments, documents, applications, context.migration.person_files)
    write_parquet(links, workspace.links)
    write_parquet(documents, workspace.documents)
    result = DedupedCvs(
        references=int((attachments["state"] == "fetched").sum()),
        cv_references=int(documents.filter(pl.col("verdict") == "cv")["references"].sum()),
        documents=documents.height,
        verdicts=dict(Counter(documents["verdict"].to_list())),
        reasons=dict(Counter(documents["reason"].drop_nulls().to_list())),
        routes=dict(Counter(documents["route"].to_list())),
        links=links.height,
        person_files=context.migration.person_files,
        near_duplicates=count_near_duplicates(documents),
        read_by_ocr=0 if ocr is None else _with_text(ocr_outcomes(workspace.texts), documents),
    )
    migrations.keep_report(context.ledger, context.key, {"deduped_cvs": asdict(result)})
    return result


def _scans(context: Context, attachments: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    outcomes = read_outcomes(context.workspace.texts).filter("needs_vision").select("md5").collect()
    wanted = set(outcomes["md5"])
    return (file for file in distinct_files(attachments) if file[0] in wanted)


def _with_text(outcomes: pl.LazyFrame, documents: pl.DataFrame) -> int:
    read = outcomes.filter(pl.col("text_chars") > 0).select("md5").collect()
    return documents.join(read, on="md5", how="semi").height
