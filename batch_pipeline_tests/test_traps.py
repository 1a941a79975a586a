"""docs/traps.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_trap_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "traps.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 30
    for row in rows:
        named = re.findall(r"`(\w+/\w+\.py)::(\w+)`", row)
        assert named, row
        for path, test in named:
            text = (ROOT / "batch_pipeline_tests" / path).read_text(encoding="utf-8")
            assert f"def {test}(" in text, f"{path} has no {test}"
