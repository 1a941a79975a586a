"""One stack for all flow tests; each test has its own migration, and the emulator forgets before it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.local.emulator.server import running_emulator
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases
from batch_pipeline.local.stack import running_stack
from batch_pipeline_tests.flows.bench import POLL_SECONDS, Bench


@pytest.fixture(scope="session")
def flow_stack() -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="bp-flows-"))
    with running_stack(folder / "stack", poll_seconds=POLL_SECONDS) as stack:
        LedgerConnection.open(stack.environment["DATABASE_URL"]).close()  # tests look at its tables early
        yield Bench(stack, folder / "customers")
    shutil.rmtree(folder)


@pytest.fixture
def at_once(flow_stack: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """The same stack with an emulator whose jobs work through their records at once."""
    for name, value in flow_stack.stack.environment.items():
        monkeypatch.setenv(name, value)
    phases = Phases(submitted=0.1, validating=0.1, scheduled=0.1, in_progress=0, stopping=0.1)
    with running_emulator(EmulatorSettings(port=0, phases=phases)) as emulator:
        yield Bench(flow_stack.stack, flow_stack.customers, flow_stack.samples, emulator.url)


@pytest.fixture
def bench(flow_stack: Bench) -> Iterator[Bench]:
    flow_stack.reset()
    yield flow_stack
    flow_stack.reset()
