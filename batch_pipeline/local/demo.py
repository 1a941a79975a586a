"""The demonstration: an invented customer, moved by the real daemon on the embedded stack.

After the migration file is written nothing here drives anything: sensors find it, start it, poll its
jobs and bring it to its end. This only watches the ledger and prints.
"""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import yaml
from rich.table import Table

from batch_pipeline.console import console
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.local.sample.customer import make_sample
from batch_pipeline.local.sample.expectation import SampleExpectation
from batch_pipeline.local.stack import Stack, running_stack
from batch_pipeline.stages.status import status
from batch_pipeline.stages.summary import Tables, summary

MODEL: Final = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
LONGEST_SECONDS: Final = 900.0


def run_demo(folder: Path, applications: int, documents: int) -> bool:
    """Move one sample customer to the end; return whether it came to what it must."""
    started = time.monotonic()
    with running_stack(folder, daemon=True, say=_since(started)) as stack:
        key, expected = register_sample(stack, applications, documents, start="at_once")
        console.print(f"[{_clock(started)}] migration {key} is registered; sensors take it from here")
        with LedgerConnection.open(stack.environment["DATABASE_URL"]) as ledger:
            done = _watch(stack, ledger, key, started)
            tables = summary(ledger, key)
        _print(tables)
        problems = _compare(tables, expected) if done else ["the migration did not come to its end"]
    for problem in problems:
        console.print(f"not as expected: {problem}")
    console.print(f"[{_clock(started)}] {'done' if not problems else 'NOT done'}; logs: {folder / 'logs'}")
    return not problems


def stay_up(folder: Path, port: int) -> None:
    """Run the stack with the UI until interrupted; a sample migration waits for its first click."""
    started = time.monotonic()
    with running_stack(folder, daemon=True, ui_port=port, say=_since(started)) as stack:
        if not list(stack.migrations.glob("*.yaml")):
            key, _ = register_sample(stack, 300, 120, start="by_hand")
            console.print(f"migration {key} waits: materialise its assets in the UI")
        console.print(f"Dagster UI: {stack.ui}")
        console.print("for other commands against this stack:")
        for name, value in stack.environment.items():
            console.print(f"  export {name}='{value}'", markup=False)
        console.print("Ctrl-C stops everything")
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            console.print("stopping")


def register_sample(
    stack: Stack, applications: int, documents: int, start: str
) -> tuple[str, SampleExpectation]:
    """Make a new sample customer and its migration file; every call makes one of its own."""
    key = f"sample-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    home = stack.folder / "samples" / key
    expected = make_sample(home / "export", applications=applications, documents=documents)
    (home / "expected.json").write_text(json.dumps(expected.as_dict()))
    content = {
        "tenant": key,
        "source": {
            "kind": "csv_folder",
            "path": str(home / "export"),
            "system": "sample",
            "timezone": "Europe/London",
        },
        "provider": {"kind": "bedrock", "model": MODEL},
        "start": {"when": start},
    }
    partial = stack.migrations / f".{key}.yaml"
    partial.write_text(yaml.safe_dump(content, sort_keys=False))
    partial.replace(stack.migrations / f"{key}.yaml")
    return key, expected


def _watch(stack: Stack, ledger: LedgerConnection, key: str, started: float) -> bool:
    """Print what changes until the migration is over, held, or too long under way."""
    deadline = time.monotonic() + LONGEST_SECONDS
    said: object = None
    with console.status("waiting for the discovery sensor") as spinner:
        while time.monotonic() < deadline:
            stack.check()
            now = status(ledger, key)
            line = now.line if now else "waiting for the discovery sensor"
            spinner.update(line)
            standing = (now.step, now.state, now.jobs) if now else None
            if standing != said:
                console.print(f"[{_clock(started)}] {line}")
                said = standing
            if now and now.state == "erased" and "cost" in summary(ledger, key):
                return True
            if now and now.step == "held":
                return False
            time.sleep(0.5)
    return False


def _compare(tables: Tables, expected: SampleExpectation) -> list[str]:
    """Figures of the run against what the sample was made to come to."""
    rows = tables.get("rows in the database", {})
    pairs = {
        "applications": (rows.get("application"), expected.applications),
        "people": (rows.get("person"), expected.people),
        "jobs": (rows.get("job"), expected.jobs),
        "stage moves": (rows.get("stage_move"), expected.stage_moves),
        "attachments": (rows.get("attachment"), expected.attachments),
        "documents": (rows.get("document"), expected.documents),
        "links": (rows.get("cv_link"), expected.links),
        "objects left": (tables.get("erased", {}).get("objects left"), 0),
    }
    return [
        f"{name}: {found} instead of {wanted}" for name, (found, wanted) in pairs.items() if found != wanted
    ]


def _print(tables: Tables) -> None:
    for title, figures in tables.items():
        table = Table(title=title, title_justify="left", show_header=False)
        for name, value in figures.items():
            table.add_row(str(name).replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
        console.print(table)


def _since(started: float) -> Callable[[str], None]:
    return lambda text: console.print(f"[{_clock(started)}] {text}")


def _clock(started: float) -> str:
    return f"{time.monotonic() - started:5.1f} s"
