"""Columns of the frames as the UI shows them, each personal one with the tag `pii`.

Names and types come from the schemas the stages write by; only meanings are added here.
"""

from collections.abc import Mapping
from typing import Final

import dagster as dg
import polars as pl

from batch_pipeline.answers.table import parsed_schema
from batch_pipeline.documents.attachments import FOUND
from batch_pipeline.documents.dedup import DOCUMENTS
from batch_pipeline.sources.canonical import SCHEMAS
from batch_pipeline.stages.shards import SCHEMA as SHARDS
from batch_pipeline.tasks.cv.parser import CvTask

# Columns that are, or may quote, something about a person. Ids and hashes are pseudonyms: not tagged,
# but they too stay in the migration's own folder and are erased with it.
PERSONAL: Final = frozenset({"raw", "file_name", "source_handle", "local_path", "json_resume", "extra"})

_MEANINGS: Final[Mapping[str, str]] = {
    "source_id": "id in the system left behind; a zip member's is <parent>/<n>",
    "raw": "the export's own row",
    "application_id": "empty: the file hangs on the person",
    "declared_type": "what the export says the file is",
    "state": "fetched, missing, download_failed or erased",
    "reason": "from a closed list, where the state or verdict needs one",
    "sniffed_mime": "type by content, never by name",
    "document_md5": "which document this reference shows",
    "parent_attachment_id": "the zip bundle this file came in",
    "references": "attachments with exactly these bytes",
    "text_chars": "0 where there is no text",
    "text_sha": "equal for documents with the same text in other bytes",
    "verdict": "cv, not_a_cv or quarantined",
    "needs_vision": "a CV without usable text: a scan",
    "record_id": "the id sent to the provider",
    "route": "batch, on_demand or none",
    "shard_digest": "hash of what the job asks",
    "status": "parsed or failed",
    "detail": "more about the reason; quotes no CV",
    "json_resume": "the CV in the JSON Resume format",
    "extra": "what JSON Resume has no place for",
    "input_tokens": "as the answer itself reports",
    "output_tokens": "as the answer itself reports",
}


def column_schema(schema: Mapping[str, object], key: str) -> dict[str, dg.TableSchema]:
    """Metadata of an asset whose partition is a frame of this schema, one row per `key`."""
    columns = [
        dg.TableColumn(
            name,
            str(kind).lower(),
            description=_MEANINGS.get(name),
            constraints=dg.TableColumnConstraints(nullable=name != key, unique=name == key),
            tags={"pii": ""} if name in PERSONAL else None,
        )
        for name, kind in schema.items()
    ]
    return {"dagster/column_schema": dg.TableSchema(columns=columns)}


_ATTACHMENTS: Final = pl.Schema({**SCHEMAS["attachment"], **FOUND})

RAW_CVS: Final = column_schema(_ATTACHMENTS, "source_id")
DEDUPED_CVS: Final = column_schema(DOCUMENTS, "md5")
JSONL_SHARDS: Final = column_schema(SHARDS, "shard_digest")
PARSED_CVS: Final = column_schema(parsed_schema(CvTask()), "record_id")
