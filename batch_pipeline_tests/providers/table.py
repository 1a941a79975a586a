"""`python -m batch_pipeline_tests.providers.table`: runs the contract suite on every provider and prints a
table, provider by guarantee. Exit code 0 when every cell is kept."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from batch_pipeline_tests.providers.fakes.table import SKINS

_SUITE = Path(__file__).parent / "test_guarantees.py"


class _Cells:
    """A pytest plugin that keeps what became of each guarantee at each provider."""

    def __init__(self) -> None:
        self.cells: dict[str, dict[str, list[bool]]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.skipped or (report.when != "call" and not report.failed):
            return  # a case that does not apply to a provider leaves its cell empty
        name, _, parameters = report.nodeid.rpartition("::")[2].partition("[")
        kind = next((kind for kind in SKINS if kind in parameters.rstrip("]").split("-")), "?")
        guarantee = name.removeprefix("test_").replace("_", " ")
        self.cells.setdefault(guarantee, {}).setdefault(kind, []).append(report.passed)


def lines(cells: dict[str, dict[str, list[bool]]]) -> list[str]:
    """A row a guarantee, a column a provider."""
    kinds = list(SKINS)
    width = max((len(name) for name in cells), default=0)
    rows = [" ".join([" " * width, *(kind.rjust(10) for kind in kinds)])]
    for name, found in cells.items():
        words = (_word(found.get(kind, [])).rjust(10) for kind in kinds)
        rows.append(" ".join([name.ljust(width), *words]))
    return rows


def _word(found: Sequence[bool]) -> str:
    if not found:
        return "-"
    return "kept" if all(found) else f"BROKEN {len(found) - sum(found)}/{len(found)}"


def main() -> int:
    kept = _Cells()
    code = pytest.main(["-q", "-p", "no:cacheprovider", str(_SUITE)], plugins=[kept])
    print("\n".join(lines(kept.cells)))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
