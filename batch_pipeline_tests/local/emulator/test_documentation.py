"""docs/emulator.md names every fault, switch, limit, route and option there is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from batch_pipeline.local.emulator.__main__ import parser
from batch_pipeline.local.emulator.faults import (
    AnswerFault,
    ApiFaults,
    EventFaults,
    JobFaults,
    OutputFaults,
    RecordFault,
)
from batch_pipeline.local.emulator.rules import Limits, Models, Unknowns

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "emulator.md"
MODELS: tuple[type[BaseModel], ...] = (
    ApiFaults, JobFaults, RecordFault, AnswerFault, OutputFaults, EventFaults, Limits, Models, Unknowns,
)  # fmt: skip


def fields() -> Iterator[str]:
    for model in MODELS:
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name} has no description"
            yield name


@pytest.mark.parametrize("name", sorted(set(fields())))
def test_every_switch_is_documented(name: str) -> None:
    assert f"`{name}`" in DOCUMENT.read_text()


def test_every_route_and_option_is_documented() -> None:
    text = DOCUMENT.read_text()
    for route in ("health", "meter", "jobs", "events", "clock/advance", "faults", "rules", "reset"):
        assert f"/_emulator/{route}" in text
    for action in parser()._actions:
        assert any(f"`{option}" in text for option in action.option_strings if option.startswith("--")) or (
            "--help" in action.option_strings
        ), action.option_strings
