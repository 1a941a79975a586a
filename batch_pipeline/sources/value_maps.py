"""Values of an export as the closed sets of the canonical tables.

Keys are compared in lower case without spaces and punctuation. A value no map knows becomes null,
except visibility, which becomes the most restrictive common one (trap 41).
"""

import re
from collections.abc import Mapping
from typing import Final

import polars as pl

_JOB_STATUS = {
    "open": "open published active live internal offen",
    "closed": "closed filled onhold cancelled canceled inactive geschlossen",
    "draft": "draft pending entwurf",
    "archived": "archived archive",
}
_APPLICATION_STATUS = {
    "active": "active inprocess open new pending lead live interviewing onhold inreview aktiv",
    "rejected": "rejected declined disqualified archived reproved abgelehnt notselected closed",
    "hired": "hired accepted eingestellt placed",
    "withdrawn": "withdrawn withdrew giveup candidatewithdrew",
    "converted": "converted",
}
_KIND = {
    "applied": "applied applicant inbound application",
    "sourced": "sourced outbound agency headhunted",
    "referred": "referred referral employeereferral",
    "prospect": "prospect lead",
}
_OFFER_STATUS = {
    "draft": "draft pending approvalsent approved entwurf",
    "open": "open created unresolved sent sentmanually opened extended offen",
    "accepted": "accepted signed hired angenommen",
    "rejected": "rejected declined denied refused abgelehnt",
    "deprecated": "deprecated withdrawn revoked rescinded superseded expired cancelled canceled",
}
_ANSWER_KIND = {
    "screening": "screening question application applicationform applicationquestion screeningquestion",
    "custom_field": "customfield custom field",
    "referral": "referral referralform",
}
_VISIBILITY = {
    "public": "public everyone all team publiclyvisible",
    "private": "private restricted secret hiringteam privatelyvisible",
    "admin_only": "adminonly admin admins confidential adminonlyvisible",
}
_DECLARED_TYPE = {
    "resume": "resume cv curriculum curriculumvitae lebenslauf curriculo true yes 1 originalresume",
    "cover_letter": "coverletter letter anschreiben motivationletter lettredemotivation",
    "offer_letter": "offerletter signedofferletter offerpacket offer contract",
    "take_home_test": "takehometest test assignment",
    "photo": "photo avatar picture image",
    "other": "other false no 0 misc document certificate attachment",
}
_OVERALL = {
    "1": "definitelynot strongno 1 stronglyno verypoor",
    "2": "no 2 poor",
    "3": "mixed neutral 3 maybe fair",
    "4": "yes 4 good",
    "5": "strongyes 5 stronglyyes excellent",
}

DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {
    name: {word: canonical for canonical, words in table.items() for word in words.split()}
    for name, table in {
        "job.status": _JOB_STATUS,
        "application.status": _APPLICATION_STATUS,
        "application.kind": _KIND,
        "offer.status": _OFFER_STATUS,
        "question_answer.kind": _ANSWER_KIND,
        "note.visibility": _VISIBILITY,
        "attachment.declared_type": _DECLARED_TYPE,
        "evaluation.overall": _OVERALL,
    }.items()
}

CANONICAL: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(table.values()) for name, table in DEFAULTS.items()
}
"""The values a person may map to, per `entity.field`."""

TRUE: Final = ("true", "yes", "y", "1", "ja", "oui", "si", "sim", "x", "evet")
FALSE: Final = ("false", "no", "n", "0", "nein", "non", "nao", "")


def key(column: pl.Expr) -> pl.Expr:
    """A value as the maps know it."""
    return column.str.to_lowercase().str.replace_all(r"[\s_\-/.]+", "")


def mapped(column: pl.Expr, name: str, stated: Mapping[str, str]) -> pl.Expr:
    """The canonical value, null where no map knows it. `name` is `entity.field`."""
    table = dict(DEFAULTS[name])
    table |= {folded(raw): canonical for raw, canonical in stated.items()}
    return key(column).replace_strict(list(table), list(table.values()), default=None, return_dtype=pl.String)


def known(name: str, raw: object) -> str | None:
    """The canonical value of one raw value, None where no map knows it. `name` is `entity.field`."""
    return DEFAULTS[name].get(folded(str(raw))) if raw is not None else None


def truth(column: pl.Expr) -> pl.Expr:
    """A yes or no as a boolean; null for anything else."""
    folded = key(column)
    return pl.when(folded.is_in(TRUE)).then(True).when(folded.is_in(FALSE)).then(False)


def folded(raw: str) -> str:
    """One value as the maps know it."""
    return re.sub(r"[\s_\-/.]+", "", raw.lower())
