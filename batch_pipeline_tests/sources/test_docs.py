"""`docs/sources.md` says what is true: its settings open, its example source reads."""

import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from batch_pipeline.sources.base import MODULES, open_source
from batch_pipeline_tests.sources.exports import table
from batch_pipeline_tests.sources.payload_exports import write_lists

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "sources.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", blocks("yaml"))
def test_the_settings_of_the_document_open_a_source(block: str) -> None:
    open_source(yaml.safe_load(block)["source"])


def test_every_kind_is_in_the_document() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert all(f"| `{kind}` |" in text for kind in MODULES)


def test_the_example_source_reads_payloads(tmp_path: Path) -> None:
    example = ModuleType("example")
    (code,) = blocks("python")
    exec(compile(code, "docs/sources.md", "exec"), example.__dict__)
    folder = write_lists(
        tmp_path / "in",
        candidates=[{"id": 1, "name": "Ada", "emails": ["a@example.com"], "created": "2026-01-02T08:00:00Z"}],
        files=[{"id": 7, "candidate": 1, "name": "CV.pdf", "url": "https://storage.example.com/x"}],
    )
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "7.pdf").write_bytes(b"%PDF-")
    settings = {"kind": "tiny", "path": str(folder), "attachments": str(tmp_path / "files")}
    report = example.open_source(settings).read(tmp_path / "out")
    assert (report.counts["person"], report.counts["attachment"]) == (1, 1)
    assert table(tmp_path / "out", "attachment")["state"].to_list() == ["pending"]
