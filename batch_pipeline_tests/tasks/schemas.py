"""Both published JSON Resume schemas, formats included, as the judges of every parsed CV."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, Draft7Validator, FormatChecker

from batch_pipeline.tasks.cv.resume import EMAIL_PATTERN, URL_PATTERN

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "cvs"

# Only what the library checks without a further package; our own patterns for the rest.
_FORMATS = FormatChecker(formats=["date"])


@_FORMATS.checks("email")
def _email(value: object) -> bool:
    return not isinstance(value, str) or re.search(EMAIL_PATTERN, value) is not None


@_FORMATS.checks("uri")
def _uri(value: object) -> bool:
    return not isinstance(value, str) or re.search(URL_PATTERN, value) is not None


def validators() -> list[Any]:
    folder = SHARED / "jsonresume"
    if not folder.is_dir():
        pytest.skip("the published schemas lie beside the checkout, in ../shared, and are not here")
    loose = json.loads((folder / "schema.json").read_text())
    strict = json.loads((folder / "schema_1.0.1_draft04.json").read_text())
    return [
        Draft7Validator(loose, format_checker=_FORMATS),
        Draft4Validator(strict, format_checker=_FORMATS),
    ]


def complaints(document: str, judges: list[Any]) -> list[str]:
    data = json.loads(document)
    return [error.message for judge in judges for error in judge.iter_errors(data)]


def expected_cvs() -> Iterator[Path]:
    yield from sorted((SHARED / "jsonresume").glob("*esume.json"))
    yield from sorted((SHARED / "synthetic" / "expected").glob("*.json"))
