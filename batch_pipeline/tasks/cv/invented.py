"""Answers that are no reading of a document: placeholder people, our prompt or a schema handed back."""

from collections.abc import Iterator
from typing import Any, Final

from batch_pipeline.tasks.cv.prompt import PROMPT

_PLACEHOLDER_NAMES: Final = frozenset(
    {
        "john doe",
        "jane doe",
        "john smith",
        "jane smith",
        "max mustermann",
        "erika mustermann",
        "fulano de tal",
        "your name",
        "full name",
        "name",
        "string",
        "candidate name",
        "first last",
        "unknown",
        "n/a",
    }
)
_PLACEHOLDER_VALUES: Final = frozenset(
    {
        "string",
        "yyyy",
        "yyyy-mm",
        "yyyy-mm-dd",
        "yyyy[-mm[-dd]]",
        "<kind>",
        "...",
        "…",
        "n/a",
        "name",
        "email",
    }
)
_PLACEHOLDERS: Final = _PLACEHOLDER_NAMES | _PLACEHOLDER_VALUES
_EXAMPLE_HOSTS: Final = ("example.com", "example.org", "example.net", "email.com", "domain.com")
# Two lines of the prompt that no document holds.
_MARKS: Final = (PROMPT[:60], "Invent nothing, complete nothing, translate nothing")
_SCHEMA_KEYS: Final = frozenset({"properties", "definitions", "additionalProperties", "$ref", "$defs"})


def echo(text: str, data: dict[str, Any]) -> str | None:
    """What of ours the answer hands back, or None."""
    if any(mark in text for mark in _MARKS):
        return "the prompt"
    if _SCHEMA_KEYS & data.keys() or "json-schema.org" in str(data.get("$schema", "")):
        return "a schema"
    return None


def placeholder(data: dict[str, Any]) -> str | None:
    """Why the resume describes nobody, or None.

    A known placeholder name counts only with an example address or alone: people called so exist,
    and their CVs hold positions and schools.
    """
    basics = data.get("basics")
    given = basics.get("name") if isinstance(basics, dict) else None
    name = given.strip().casefold() if isinstance(given, str) else ""
    if name and name not in _PLACEHOLDERS:
        return None
    if all(leaf.strip().casefold() in _PLACEHOLDER_VALUES for leaf in _leaves(data)):
        return "placeholder values only"
    if not isinstance(basics, dict) or any(
        value for key, value in data.items() if key not in ("basics", "meta", "$schema")
    ):
        return None
    host = str(basics.get("email", "")).rpartition("@")[2].casefold()
    rest = basics.keys() - {"name", "email", "phone", "url", "label"}
    if name in _PLACEHOLDER_NAMES and not rest and (not host or host.endswith(_EXAMPLE_HOSTS)):
        return "a placeholder person and nothing else"
    return None


def _leaves(data: dict[str, Any]) -> Iterator[str]:
    waiting: list[Any] = [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, str):
            yield item
