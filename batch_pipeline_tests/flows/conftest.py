"""One stack for all flow tests; each test has its own migration, and the emulator forgets before it."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.local.emulator.server import running_emulator
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases
from batch_pipeline.local.stack import Stack, running_stack
from batch_pipeline_tests.flows.bench import POLL_SECONDS, Bench

# Long enough to be seen on the way, short enough that a run waits for little: tests that look closer hold a job.
_PHASES = Phases(submitted=0.05, validating=0.05, scheduled=0.05, in_progress=0.2, stopping=0.05)


@pytest.fixture(scope="session")
def flow_stack() -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="bp-flows-"))
    with (
        running_stack(folder / "stack", poll_seconds=POLL_SECONDS) as stack,
        _emulator(stack, _PHASES) as address,
    ):
        LedgerConnection.open(stack.environment["DATABASE_URL"]).close()  # tests look at its tables early
        yield Bench(stack, folder / "customers", address=address)
    shutil.rmtree(folder)


@contextmanager
def _emulator(stack: Stack, phases: Phases) -> Iterator[str]:
    """An emulator over the stack's S3 server; the environment that leads there is gone once it is connected."""
    with running_emulator(EmulatorSettings(port=0, phases=phases)) as made:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in stack.environment.items():
                patch.setenv(name, value)
            made.emulator.objects.connect()
        yield made.url


@pytest.fixture
def at_once(flow_stack: Bench) -> Iterator[Bench]:
    """The same stack with an emulator whose jobs work through their records at once."""
    phases = Phases(submitted=0.05, validating=0.05, scheduled=0.05, in_progress=0, stopping=0.05)
    with _emulator(flow_stack.stack, phases) as address:
        yield Bench(flow_stack.stack, flow_stack.customers, flow_stack.samples, address)


@pytest.fixture
def bench(flow_stack: Bench) -> Iterator[Bench]:
    flow_stack.reset()
    yield flow_stack
    flow_stack.reset()
