"""An answer's text and stop reason -> a validated CV, or a reason of the closed list.

A truncated answer is never mended, whatever can be read of it: half a CV imported looks like a
whole one. The parser decides by text and stop alone, so an answer reads the same on every route.
"""

from dataclasses import dataclass
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from batch_pipeline.tasks.base import Failure, Parsed, Stop
from batch_pipeline.tasks.cv.invented import echo, placeholder
from batch_pipeline.tasks.cv.json_ladder import MAX_CHARACTERS, Refused, read_object
from batch_pipeline.tasks.cv.leniency import SET_ASIDE, mend
from batch_pipeline.tasks.cv.prompt import KINDS, PROMPT, REDACTED_PROMPT, VERSION
from batch_pipeline.tasks.cv.reasons import OF_THE_MODEL, Reason
from batch_pipeline.tasks.cv.resume import SCHEMA_VERSION, TOP_LEVEL, Resume

# Raise it whenever the same answer would be read differently.
PARSER_VERSION: Final = "1"

ParsedCv = Parsed

_STOPPED: Final[dict[Stop, Reason]] = {
    "truncated": "truncated",
    "refused": "refused",
    "filtered": "filtered",
    "malformed": "provider_error",
}
_CONTENT: Final = TOP_LEVEL - {"meta", "$schema"}


@dataclass(frozen=True, slots=True)
class CvTask:
    """The task of this product: one CV, read once."""

    prompt: str = PROMPT
    redacted_prompt: str = REDACTED_PROMPT
    version: str = VERSION
    document_column: str = "json_resume"
    schema_version: str = SCHEMA_VERSION
    parser_version: str = PARSER_VERSION

    def parse(self, text: str, stop: Stop) -> Parsed | Failure:
        return parse(text, stop)

    def unrestored(self, *, made_up: bool) -> Failure:
        if made_up:
            return Failure("invented", "a placeholder that its text does not hold")
        return Failure("cannot_be_restored")

    def is_of_the_model(self, reason: str) -> bool:
        return reason in OF_THE_MODEL


def parse(text: str, stop: Stop) -> Parsed | Failure:
    """Read one answer. Total: every text and stop gives a CV or a failure, never an exception."""
    reason = _STOPPED.get(stop)
    if reason is not None:
        return Failure(reason)
    if len(text) > MAX_CHARACTERS:
        return Failure("too_large", f"{len(text)} characters")
    try:
        data = read_object(text, may_repair=stop == "end")
    except Refused as refused:
        return refused.failure
    handed_back = echo(text, data)
    if handed_back:
        return Failure("invented", f"{handed_back} was handed back")
    verdict = _verdict(data)
    return verdict if verdict is not None else _resume(data)


def _verdict(data: dict[str, Any]) -> Failure | None:
    """What the model says where it found no CV, if it says so and nothing else."""
    kind, unreadable = data.get("not_a_cv"), data.get("unreadable")
    if not kind and not unreadable:
        return None
    if (kind and unreadable) or any(data.get(key) for key in _CONTENT | {"extra"}):
        return Failure("ambiguous_json", "a verdict and something else at once")
    if kind:
        return Failure("not_a_cv", kind if isinstance(kind, str) and kind in KINDS else "other")
    return Failure("unreadable") if unreadable is True else Failure("wrong_types", "unreadable: bool_type")


def _resume(data: dict[str, Any]) -> Parsed | Failure:
    extra = data.pop("extra", None)
    data.pop("not_a_cv", None)
    data.pop("unreadable", None)
    if extra is None or extra == "":
        extra = {}
    if not isinstance(extra, dict):
        return Failure("wrong_types", "extra: dict_type")
    document = _as_it_is(data) if SET_ASIDE not in extra else None
    if document is None:
        data, extra = mend(data, extra)
        try:
            document = _document(data)
        except ValidationError as error:
            return Failure("wrong_types", _where(error))
    if not any(key in _CONTENT and _says_something(value) for key, value in data.items()):
        return Failure("empty", "no section holds anything")
    nobody = placeholder(data)
    if nobody:
        return Failure("invented", nobody)
    return Parsed(document, msgspec.json.encode(extra).decode() if extra else None)


def _document(data: dict[str, Any]) -> str:
    return Resume.model_validate(data).model_dump_json(exclude_none=True, by_alias=True)


def _as_it_is(data: dict[str, Any]) -> str | None:
    """The document where there is nothing to mend, which most answers need; else None."""
    try:
        document = _document(data)
    except ValidationError:
        return None
    return None if '""' in document else document


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_says_something(inner) for inner in value.values())
    if isinstance(value, list):
        return any(_says_something(item) for item in value)
    return isinstance(value, str) and bool(value.strip())


def _where(error: ValidationError) -> str:
    """Field paths and kinds of error only: never a value, which would be a word of the CV."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [f"{'.'.join(str(part) for part in one['loc'])}: {one['type']}" for one in found[:5]]
    more = len(found) - len(shown)
    return "; ".join(shown) + (f"; {more} more" if more else "")
