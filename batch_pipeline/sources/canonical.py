"""The canonical tables every source writes and the records room imports.

One Parquet file per entity, in exactly these columns. `source_id` is a string in every system, even
where the export shows digits. Nested values (e-mails, answers) are JSON text. Times are UTC; a time
whose zone the export does not state was read in the migration's zone and says so in `tz_assumed`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, get_args

import polars as pl

Entity = Literal[
    "person",
    "job",
    "stage",
    "application",
    "tag",
    "offer",
    "question_answer",
    "stage_move",
    "note",
    "evaluation",
    "attachment",
]
ENTITIES: Final[tuple[Entity, ...]] = get_args(Entity)
"""Parents before the rows that name them."""

UTC: Final = pl.Datetime("us", "UTC")
JSON: Final = pl.String

_ROW: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "source_id": pl.String,
    "source_created_at": UTC,
    "source_updated_at": UTC,
    "tz_assumed": pl.Boolean,
    "raw": JSON,  # the export's own row, as an object of strings
}

SCHEMAS: Final[Mapping[Entity, pl.Schema]] = MappingProxyType(
    {
        "person": pl.Schema(
            _ROW
            | {
                "full_name": pl.String,
                "given_name": pl.String,
                "family_name": pl.String,
                "emails": JSON,  # [{"raw": str, "norm": str}], source order
                "phones": JSON,  # [{"raw": str}]
                "links": JSON,  # [str]
                "location": pl.String,
                "erased_at": UTC,  # set: personal columns are null, no file is ever read
                "consent_until": UTC,
                "do_not_contact": pl.Boolean,
                "is_private": pl.Boolean,
            }
        ),
        "job": pl.Schema(
            _ROW
            | {
                "title": pl.String,
                "code": pl.String,
                "status": pl.String,  # open, closed, draft, archived
                "department": pl.String,
                "location": pl.String,
                "opened_at": UTC,
                "closed_at": UTC,
                "confidential": pl.Boolean,
            }
        ),
        "stage": pl.Schema(
            _ROW
            | {
                "job_id": pl.String,  # null: the same stages for every job
                "name": pl.String,  # as `application.current_stage` and `stage_move` write it
                "position": pl.Int32,  # the smallest comes first
                "kind": pl.String,  # in the export's words
            }
        ),
        "application": pl.Schema(
            _ROW
            | {
                "person_id": pl.String,
                "job_id": pl.String,  # null: a prospect
                "kind": pl.String,  # applied, sourced, referred, prospect
                "status": pl.String,  # active, rejected, hired, withdrawn, converted
                "applied_at": UTC,
                "rejected_at": UTC,
                "reject_reason": pl.String,
                "hired_at": UTC,
                "current_stage": pl.String,
                "origin": pl.String,  # where the candidate came from, as the export says
                "sequence_no": pl.Int32,  # 1, 2, ... by time within (person, job)
            }
        ),
        "tag": pl.Schema(
            _ROW
            | {
                "person_id": pl.String,
                "application_id": pl.String,  # null: the tag hangs on the person
                "name": pl.String,
            }
        ),
        "offer": pl.Schema(
            _ROW
            | {
                "application_id": pl.String,
                "status": pl.String,  # draft, open, accepted, rejected, deprecated
                "sent_at": UTC,
                "resolved_at": UTC,
                "starts_on": pl.Date,
                "details": JSON,  # what else the export says of it: salary, fields of the account's own
            }
        ),
        "question_answer": pl.Schema(
            _ROW
            | {
                "application_id": pl.String,
                "question": pl.String,
                "answer": pl.String,  # text as it is, any other value as JSON
                "kind": pl.String,  # screening, custom_field, referral
            }
        ),
        "stage_move": pl.Schema(
            _ROW
            | {
                "application_id": pl.String,
                "from_stage": pl.String,
                "to_stage": pl.String,
                "moved_at": UTC,
                "actor": pl.String,
                "origin": pl.String,  # structured, parsed_from_text, derived
            }
        ),
        "note": pl.Schema(
            _ROW
            | {
                "person_id": pl.String,
                "application_id": pl.String,
                "author": pl.String,
                "body_raw": pl.String,
                "body_text": pl.String,
                "visibility": pl.String,  # public, private, admin_only; unknown -> private
                "noted_at": UTC,
            }
        ),
        "evaluation": pl.Schema(
            _ROW
            | {
                "application_id": pl.String,
                "author": pl.String,
                "submitted_at": UTC,
                "overall": pl.Int32,  # 1..5, null where the raw value says nothing
                "overall_raw": pl.String,
                "items": JSON,  # [{"question", "answer", "rating"}]
            }
        ),
        "attachment": pl.Schema(
            _ROW
            | {
                "person_id": pl.String,
                "application_id": pl.String,  # null: the file hangs on the person
                "file_name": pl.String,  # as shown to people; never used as a path
                "declared_type": pl.String,  # resume, cover_letter, other, ... as the export says
                "source_handle": pl.String,  # how the source finds the bytes again
                "local_path": pl.String,  # where the bytes lie now; null: the source has none
                "state": pl.String,  # pending, missing, download_failed, erased (what the source knows)
                "state_reason": pl.String,  # why a download failed: a value of `documents/reasons.py`
                "declared_mime": pl.String,  # as the export says: the bytes are sniffed all the same
                "fetched_at": UTC,  # from a live system; null where the files were handed over
                "http_status": pl.Int32,
            }
        ),
    }
)


# What is emptied in the row of an erased person.
PERSONAL_COLUMNS: Final = (
    "full_name",
    "given_name",
    "family_name",
    "emails",
    "phones",
    "links",
    "location",
    "raw",
)


def empty(entity: Entity) -> pl.DataFrame:
    """The table of a source that has no such rows."""
    return SCHEMAS[entity].to_frame()
