"""Which header of an export means which field: the built-in synonym table and its matching.

Headers are compared without case, accents, spaces and punctuation. Earlier synonyms win, so that a
specific `Candidate ID` is taken before a plain `ID`. A `TableConfig` overrides any of it.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.canonical import Entity

_CREATED = "created at|created on|created|date created|creation date|date added|added on|added at"
_UPDATED = "updated at|updated on|last updated|modified at|last modified|modified on"
_PERSON_ID = "candidate id|person id|applicant id|contact id|candidate external id|profile id|kandidaten id"
_APPLICATION_ID = "application id|candidacy id|submission id|opportunity id|bewerbungs id|job submission id"
_JOB_ID = "job id|posting id|position id|requisition id|vacancy id|job order id|offer id|req id"
_AUTHOR = "author|created by|added by|user|user name|recruiter|by|written by"

_FIELDS: Final[Mapping[Entity, Mapping[str, str]]] = {
    "person": {
        "source_id": f"{_PERSON_ID}|id|external id",
        "source_created_at": _CREATED,
        "source_updated_at": _UPDATED,
        "full_name": "full name|name|candidate name|candidate|display name",
        "given_name": "first name|given name|forename|vorname|prenom|nombre|nome|voornaam",
        "family_name": "last name|family name|surname|nachname|nom|apellido|apellidos|sobrenome|achternaam",
        "emails": "emails|email addresses|email|email address|e mail|primary email|correo electronico",
        "phones": "phones|phone numbers|phone|phone number|telephone|mobile|mobile phone|telefon|telefono",
        "links": "links|websites|website|linkedin|linkedin url|profile url|social links",
        "location": "location|address|city|ort|ville|ciudad|cidade",
        "erased_at": "anonymized at|anonymised at|erased at|deleted at|gdpr deleted at|anonymized|anonymised",
        "consent_until": "consent until|consent expires at|consent expires|retention until",
        "do_not_contact": "do not contact|unsubscribed|opted out|opt out|do not email",
        "is_private": "private|is private|confidential",
    },
    "job": {
        "source_id": f"{_JOB_ID}|id|external id",
        "source_created_at": _CREATED,
        "source_updated_at": _UPDATED,
        "title": "title|job title|job name|name|position|posting title",
        "code": "code|job code|requisition number|reference|ref",
        "status": "status|state|job status",
        "department": "department|team|division|abteilung|departamento",
        "location": "location|office|city",
        "opened_at": "opened at|opened on|opened|open date|date opened",
        "closed_at": "closed at|closed on|closed|close date|date closed",
        "confidential": "confidential|is confidential|private",
    },
    "stage": {
        "source_id": "stage id|id|external id",
        "job_id": _JOB_ID,
        "source_created_at": _CREATED,
        "source_updated_at": _UPDATED,
        "name": "name|stage name|stage|title|step",
        "position": "position|order|sort order|priority|sequence|index",
        "kind": "kind|stage kind|stage type|type|category",
    },
    "application": {
        "source_id": f"{_APPLICATION_ID}|id|external id",
        "person_id": _PERSON_ID,
        "job_id": _JOB_ID,
        "source_created_at": _CREATED,
        "source_updated_at": f"{_UPDATED}|last activity|last activity at",
        "kind": "kind|application type|type",
        "status": "status|application status|state",
        "applied_at": "applied on|applied at|applied|date applied|application date|submitted at|submitted on",
        "rejected_at": "rejected on|rejected at|rejected|date rejected|disqualified at|archived at",
        "reject_reason": "rejection reason|reject reason|disqualification reason|archive reason",
        "hired_at": "hired on|hired at|hired|date hired|hire date",
        "current_stage": "stage|current stage|stage name|step|pipeline stage",
        "origin": "source|origin|source name|application source",
    },
    "tag": {
        "source_id": "candidate tag id|external id",
        "person_id": _PERSON_ID,
        "application_id": _APPLICATION_ID,
        "source_created_at": _CREATED,
        "source_updated_at": _UPDATED,
        "name": "tag|tag name|label|name",
    },
    "offer": {
        "source_id": "offer id|id|external id",
        "application_id": _APPLICATION_ID,
        "source_created_at": _CREATED,
        "source_updated_at": _UPDATED,
        "status": "status|offer status|state",
        "sent_at": "sent at|sent on|sent|date sent|offer sent at|offer date",
        "resolved_at": "resolved at|resolved on|resolved|responded at|accepted at|decided at|closed at",
        "starts_on": "starts on|start date|starts at|start on|starting date|begin date",
    },
    "question_answer": {
        "source_id": "answer id|question answer id|id|external id",
        "application_id": _APPLICATION_ID,
        "source_created_at": f"{_CREATED}|answered at|answered on",
        "source_updated_at": _UPDATED,
        "question": "question|question text|question title|prompt",
        "answer": "answer|answer text|response|value",
        "kind": "kind|question kind",
    },
    "stage_move": {
        "source_id": "stage move id|history id|stage history id|id",
        "application_id": _APPLICATION_ID,
        "source_created_at": _CREATED,
        "source_updated_at": _UPDATED,
        "from_stage": "from stage|from|previous stage|old stage",
        "to_stage": "to stage|to|stage|new stage|stage name",
        "moved_at": "entered at|entered on|moved at|moved on|changed at|changed on|date|entered",
        "actor": f"actor|moved by|changed by|{_AUTHOR}",
    },
    "note": {
        "source_id": "note id|comment id|id",
        "person_id": _PERSON_ID,
        "application_id": _APPLICATION_ID,
        "source_updated_at": _UPDATED,
        "author": _AUTHOR,
        "body_raw": "body|note|text|comment|content|message|notes|comments",
        "visibility": "visibility|visible to|privacy",
        "noted_at": f"noted at|{_CREATED}|date",
    },
    "evaluation": {
        "source_id": "evaluation id|scorecard id|feedback id|review id|id",
        "application_id": _APPLICATION_ID,
        "source_created_at": _CREATED,
        "source_updated_at": _UPDATED,
        "author": f"interviewer|reviewer|submitted by|{_AUTHOR}",
        "submitted_at": "submitted at|submitted on|submitted|completed at|date",
        "overall_raw": "overall|overall recommendation|recommendation|rating|score|overall rating",
        "question": "question|criterion|attribute|competency",
        "answer": "answer|response|attribute note",
        "item_rating": "question rating|attribute rating|criterion rating",
    },
    "attachment": {
        "source_id": "attachment id|file id|document id|resume id|id|external id",
        "person_id": _PERSON_ID,
        "application_id": _APPLICATION_ID,
        "source_created_at": f"{_CREATED}|uploaded at|uploaded on",
        "source_updated_at": _UPDATED,
        "file_name": "file name|filename|name|resume filename|cv file name|attachment name",
        "declared_type": "type|attachment type|document type|category|file type|is resume",
        "declared_mime": "mime type|mime|content type|media type",
        "person_email": "email|candidate email|applicant email|email address|e mail",
        "source_handle": "path|file path|relative file path|file|location|relative path",
    },
}

REQUIRED: Final[Mapping[Entity, tuple[str, ...]]] = MappingProxyType(
    {
        "person": ("source_id",),
        "job": ("source_id", "title"),
        "stage": ("name",),
        "application": ("source_id", "person_id"),
        "tag": ("name",),
        "offer": ("application_id",),
        "question_answer": ("application_id", "question", "answer"),
        "stage_move": ("application_id", "to_stage"),
        "note": ("body_raw",),
        "evaluation": ("application_id", "overall_raw"),
        "attachment": ("file_name",),
    }
)
"""Fields without which a file cannot be that entity."""

_STEMS: Final[Mapping[Entity, str]] = {
    "person": "candidates|candidate|people|persons|person|applicants|contacts|profiles|kandidaten|candidatos",
    "job": "jobs|job|postings|positions|vacancies|requisitions|job orders|openings|stellen|vagas",
    "stage": "stages|stage|job stages|pipeline stages|hiring stages|interview stages",
    "application": "applications|application|candidacies|submissions|opportunities|bewerbungen",
    "tag": "tags|tag|candidate tags|application tags|labels",
    "offer": "offers|offer|offer details|job offers",
    "question_answer": (
        "questions|answers|question answers|application answers|application questions|screening answers|"
        "screening questions|custom answers|candidate answers"
    ),
    "stage_move": "stage history|stage changes|stage moves|pipeline history|status history",
    "note": "notes|note|comments|notizen",
    "evaluation": "evaluations|scorecards|feedback|reviews|ratings|interview feedback",
    "attachment": "attachments|attachment|documents|files|manifest|resumes|candidate attachments",
}

_SENSITIVE_WORDS = (
    "gender sex race ethnicity hispanic disability disabled veteran religion sexualorientation union "
    "tradeunion health pregnancy maritalstatus eeoc eeo geschlecht religionszugehorigkeit "
    "schwerbehinderung genero raza raca deficiencia"
)
SENSITIVE: Final = frozenset(_SENSITIVE_WORDS.split())
"""Headers kept out of `raw` unless a person allows them (trap 49: excluded by default, allow-list)."""

_OTHER_DATES: Final = frozenset({"consent_until", "starts_on"})
DATES: Final[Mapping[Entity, frozenset[str]]] = MappingProxyType(
    {
        entity: frozenset(field for field in fields if field.endswith("_at") or field in _OTHER_DATES)
        for entity, fields in _FIELDS.items()
    }
)


def normalised(header: str) -> str:
    """A header without case, accents, spaces and punctuation."""
    decomposed = unicodedata.normalize("NFKD", header).casefold()
    return "".join(character for character in decomposed if character.isalnum())


def fields(entity: Entity) -> tuple[str, ...]:
    """What a file of this entity can say."""
    return tuple(_FIELDS[entity])


def stems(entity: Entity) -> tuple[str, ...]:
    """How files of this entity are called, without ending, normalised, best first."""
    return tuple(normalised(stem) for stem in _STEMS[entity].split("|"))


def is_sensitive(header: str) -> bool:
    """Whether a column holds data of a special category."""
    words = {normalised(word) for word in header.replace("_", " ").replace("-", " ").split()}
    return normalised(header) in SENSITIVE or bool(words & SENSITIVE)


def match(
    entity: Entity, headers: Sequence[str], stated: Mapping[str, str | list[str]]
) -> dict[str, list[str]]:
    """Field -> headers of the file. Raises ConfigurationError for a stated header that is not there."""
    known = {normalised(header): header for header in headers}
    chosen: dict[str, list[str]] = {}
    for field, value in stated.items():
        place = f"source.tables.{entity}.columns.{field}"
        if field not in _FIELDS[entity]:
            raise ConfigurationError(place, value, f"the fields are {', '.join(_FIELDS[entity])}")
        wanted = [value] if isinstance(value, str) else value
        unknown = [header for header in wanted if normalised(header) not in known]
        if unknown or not wanted:
            raise ConfigurationError(place, value, f"the file's headers are {', '.join(headers)}")
        chosen[field] = [known[normalised(header)] for header in wanted]
    taken = {header for used in chosen.values() for header in used}
    for field, synonyms in _FIELDS[entity].items():
        if field in chosen:
            continue
        for synonym in synonyms.split("|"):
            header = known.get(normalised(synonym))
            if header is not None and header not in taken:
                chosen[field] = [header]
                taken.add(header)
                break
    return chosen


def missing_fields(entity: Entity, columns: Mapping[str, object]) -> list[str]:
    """Required fields that no header gives; a path gives a file's name too."""
    known = {*columns, *(("file_name",) if "source_handle" in columns else ())}
    return [field for field in REQUIRED[entity] if field not in known]
