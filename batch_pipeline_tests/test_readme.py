"""The README and the docs name only what is there."""

import re
from pathlib import Path

import click
import pytest

from batch_pipeline.cli import cli

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def blocks(page: Path) -> str:
    return "\n".join(re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)).replace("\\\n", " ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^make ([a-z]+)", blocks(ROOT / "README.md"), re.MULTILINE))
    assert {"demo", "test", "up", "bench", "faults"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_in_a_code_block_exists(page: Path) -> None:
    for line in blocks(page).splitlines():
        words = line.split("#", 1)[0].split()
        if words[:1] != ["batch-pipeline"]:
            continue
        command: click.Command = cli
        rest = words[1:]
        while isinstance(command, click.Group):
            name, *rest = rest
            assert name in command.commands, f"{page.name}: {line}"
            command = command.commands[name]
        known = {option for parameter in command.params for option in parameter.opts}
        for word in rest:
            if word.startswith("--"):
                assert word in known, f"{page.name}: {line}"


def test_every_command_has_help_and_is_in_the_readme_or_the_docs() -> None:
    said = "\n".join(page.read_text() for page in PAGES)
    for name, command in cli.commands.items():
        assert command.help, name
        assert re.search(rf"\b{name}\b", said), f"{name} is documented nowhere"


def test_ci_runs_exactly_the_test_command() -> None:
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("\nmake test")


def test_the_lock_names_no_index_and_pins_every_dependency_by_hash() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    assert "--index" not in lock
    for entry in re.split(r"\n(?=[a-z])", lock.strip()):
        assert re.match(r"[a-z0-9._-]+(\[[a-z0-9, ._-]+\])?==", entry), entry[:60]
        assert "--hash=sha256:" in entry, entry[:60]
