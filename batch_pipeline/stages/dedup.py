"""`deduped_cvs`: one row per distinct document, its text or the reason there is none, and the fan-out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import polars as pl

from batch_pipeline.documents.dedup import (
    build_documents,
    build_links,
    count_near_duplicates,
    distinct_files,
)
from batch_pipeline.documents.extraction import extract, read_outcomes
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
    near_duplicates: int


def dedup(context: Context) -> DedupedCvs:
    """Extract every distinct file once and decide what becomes of it."""
    workspace = context.workspace
    attachments = pl.read_parquet(workspace.attachments)
    extract(
        distinct_files(attachments),
        workspace.texts,
        context.settings.workers,
        on_progress=lambda done: context.progress("texts extracted", done, None),
    )
    documents = build_documents(attachments, read_outcomes(workspace.texts))
    links = build_links(attachments, documents, pl.read_parquet(workspace.table("application")))
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
        near_duplicates=count_near_duplicates(documents),
    )
    migrations.keep_report(context.ledger, context.key, {"deduped_cvs": asdict(result)})
    return result
