"""Which columns of which Parquet file land in which table: the one description all of `records/` reads.

Every row carries `tenant`, `migration` (the migration that first brought it) and `first_imported_at`;
rows of the source also `source_system`. What the source said and what was read out of a CV are never in
one table, and nothing says which route an answer took.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from batch_pipeline.sources.canonical import ENTITIES, PERSONAL_COLUMNS, SCHEMAS, Entity

Scope = Literal["source", "tenant", "child"]

_ATTACHMENT_LATER: Final = (
    "reason",
    "sniffed_mime",
    "bytes",
    "document_md5",
    "sha256",
    "parent_attachment_id",
)
# Where a file lay on the machine that ran the migration means nothing once the files are erased.
# Why a download failed is in `reason`, with what the files themselves gave.
_LEFT_OUT: Final = frozenset({"local_path", "state_reason"})

JSON_COLUMNS: Final = frozenset(
    {
        "raw",
        "emails",
        "phones",
        "links",
        "details",
        "items",
        "json_resume",
        "extra",
        "highlights",
        "courses",
        "keywords",
    }
)

# What is emptied in the rows of an erased person, whatever the export still holds.
PERSONAL: Final = MappingProxyType(
    {
        "person": PERSONAL_COLUMNS,
        "application": ("reject_reason", "raw"),
        "tag": ("name", "raw"),
        "offer": ("details", "raw"),
        "question_answer": ("answer", "raw"),
        "stage_move": ("raw",),
        "note": ("body_raw", "body_text", "raw"),
        "evaluation": ("overall_raw", "items", "raw"),
        "attachment": ("file_name", "source_handle", "raw"),
    }
)


@dataclass(frozen=True)
class Reference:
    """A foreign key: these columns of a row name the key of a row in `table`, under the same scope.

    An optional one that names nothing (exports name jobs and people that were deleted) is emptied and
    counted: the row's `raw` still says what stood there. Without a required one a row cannot be.
    """

    columns: tuple[str, ...]
    table: str
    optional: bool = False


@dataclass(frozen=True)
class Table:
    """A table and the columns staged for it; `key` is unique within the scope's columns."""

    name: str
    scope: Scope
    key: tuple[str, ...]
    columns: tuple[str, ...]
    references: tuple[Reference, ...] = ()

    @property
    def scope_columns(self) -> tuple[str, ...]:
        return ("tenant", "source_system") if self.scope == "source" else ("tenant",)

    @property
    def has_migration(self) -> bool:
        """A child row belongs to its parent's migration."""
        return self.scope != "child"

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that may change under one key."""
        return tuple(column for column in self.columns if column not in self.key)


_REFERENCES: Final[dict[Entity, tuple[Reference, ...]]] = {
    "application": (Reference(("person_id",), "person"), Reference(("job_id",), "job", optional=True)),
    "stage": (Reference(("job_id",), "job", optional=True),),
    "tag": (
        Reference(("person_id",), "person", optional=True),
        Reference(("application_id",), "application", optional=True),
    ),
    "offer": (Reference(("application_id",), "application"),),
    "question_answer": (Reference(("application_id",), "application"),),
    "stage_move": (Reference(("application_id",), "application"),),
    "note": (
        Reference(("person_id",), "person", optional=True),
        Reference(("application_id",), "application", optional=True),
    ),
    "evaluation": (Reference(("application_id",), "application"),),
    "attachment": (
        Reference(("person_id",), "person", optional=True),
        Reference(("application_id",), "application", optional=True),
        Reference(("document_md5",), "document"),
        Reference(("parent_attachment_id",), "attachment"),
    ),
}


def _source_table(entity: Entity) -> Table:
    columns = tuple(name for name in SCHEMAS[entity] if name not in _LEFT_OUT)
    if entity == "attachment":
        columns += _ATTACHMENT_LATER
    return Table(entity, "source", ("source_id",), columns, _REFERENCES.get(entity, ()))


DOCUMENT: Final = Table(
    "document",
    "tenant",
    ("md5",),
    (
        *("md5", "sha256", "bytes", "sniffed_mime", "pages", "text_chars", "text_sha"),
        *("verdict", "reason", "needs_vision", "record_id"),
        *("parse_status", "parse_reason", "parse_detail"),
    ),
)
CV_LINK: Final = Table(
    "cv_link",
    "source",
    ("attachment_id", "application_id"),
    ("attachment_id", "application_id", "person_id", "document_md5", "is_latest"),
    (
        Reference(("attachment_id",), "attachment"),
        Reference(("application_id",), "application"),
        Reference(("person_id",), "person"),
        Reference(("document_md5",), "document"),
    ),
)
PARSED_CV: Final = Table(
    "parsed_cv",
    "tenant",
    ("md5",),
    (
        *("md5", "json_resume", "extra", "schema_version", "parser_version", "model"),
        *("input_tokens", "output_tokens"),
    ),
    (Reference(("md5",), "document"),),
)


@dataclass(frozen=True)
class Section:
    """A list inside a JSON Resume that becomes rows: column -> field of the list's objects."""

    table: Table
    field: str
    fields: MappingProxyType[str, str]


def _section(name: str, field: str, fields: dict[str, str]) -> Section:
    key = ("md5", "position")
    table = Table(f"parsed_cv_{name}", "child", key, (*key, *fields), (Reference(("md5",), "parsed_cv"),))
    return Section(table, field, MappingProxyType(fields))


SECTIONS: Final = (
    _section(
        "work",
        "work",
        {
            "company": "name",
            "job_title": "position",
            "location": "location",
            "url": "url",
            "start_date": "startDate",
            "end_date": "endDate",
            "summary": "summary",
            "highlights": "highlights",
        },
    ),
    _section(
        "education",
        "education",
        {
            "institution": "institution",
            "area": "area",
            "study_type": "studyType",
            "url": "url",
            "start_date": "startDate",
            "end_date": "endDate",
            "score": "score",
            "courses": "courses",
        },
    ),
    _section("skill", "skills", {"name": "name", "level": "level", "keywords": "keywords"}),
    _section("language", "languages", {"language": "language", "fluency": "fluency"}),
)

_BEFORE_FILES: Final[tuple[Entity, ...]] = tuple(entity for entity in ENTITIES if entity != "attachment")

# Parents first: the order of merging; rows are removed in the opposite order.
TABLES: Final[tuple[Table, ...]] = (
    *(_source_table(entity) for entity in _BEFORE_FILES),
    DOCUMENT,
    _source_table("attachment"),
    CV_LINK,
    PARSED_CV,
    *(section.table for section in SECTIONS),
)
BY_NAME: Final = MappingProxyType({table.name: table for table in TABLES})
