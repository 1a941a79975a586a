"""The running UI's own API, as a client on another machine would use it."""

import time
from collections.abc import Callable
from typing import Any

import httpx
from dagster import DagsterRunStatus
from dagster_graphql import DagsterGraphQLClient

from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.local.stack import Stack

_FINISHED = {DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED}


def wait_until(stack: Stack, what: str, holds: Callable[[], bool], seconds: float = 120.0) -> None:
    """Until it holds; fails with `what` when it takes too long or a server ended."""
    deadline = time.monotonic() + seconds
    while not holds():
        stack.check()
        assert time.monotonic() < deadline, f"{what}: not after {seconds:.0f} s"
        time.sleep(0.2)


def client(stack: Stack) -> DagsterGraphQLClient:
    assert stack.ui is not None
    return DagsterGraphQLClient("127.0.0.1", port_number=int(stack.ui.rpartition(":")[2]))


def launch(stack: Stack, job: str, key: str) -> str:
    """A click on Launch; the run's id."""
    run_id: str = client(stack).submit_job_execution(job, tags={"dagster/partition": key})
    return run_id


def operate(stack: Stack, what: str, key: str) -> str:
    """The launchpad of an operator's job; the run's id."""
    config = {"ops": {what: {"config": {"migration": key}}}}
    run_id: str = client(stack).submit_job_execution(f"{what}_migration", run_config=config)
    return run_id


def run_status(stack: Stack, run_id: str) -> DagsterRunStatus:
    return client(stack).get_run_status(run_id)


def is_over(stack: Stack, run_id: str) -> bool:
    return run_status(stack, run_id) in _FINISHED


def partitions(stack: Stack) -> list[str]:
    query = '{assetNodeOrError(assetKey: {path: ["raw_cvs"]}) {... on AssetNode {partitionKeys}}}'
    answer = httpx.post(f"{stack.ui}/graphql", json={"query": query}, timeout=30).json()
    keys: list[str] = answer["data"]["assetNodeOrError"].get("partitionKeys", [])
    return keys


def ledger(stack: Stack) -> LedgerConnection:
    return LedgerConnection.open(stack.environment["DATABASE_URL"])


def state_of(stack: Stack, key: str) -> str:
    with ledger(stack) as opened:
        return migrations.standing(opened, key).state


def emulator(stack: Stack, what: str) -> Any:
    return httpx.get(f"{stack.emulator}/_emulator/{what}").json()


def set_faults(stack: Stack, faults: dict[str, Any]) -> None:
    httpx.put(f"{stack.emulator}/_emulator/faults", json=faults).raise_for_status()
