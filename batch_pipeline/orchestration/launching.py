"""Which run a migration needs now: decided from the ledger alone, so a lost cursor loses nothing."""

from collections.abc import Callable, Iterable

import dagster as dg
from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.states import Step

# The run that takes each step. Waiting, held and paused migrations need none.
JOB_OF_STEP: dict[Step, str] = {
    "prepare": "send_migration",
    "submit": "settle_jobs",
    "answer": "land_migration",
    "finish": "land_migration",
}
_UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]
PARTITION_TAG = "dagster/partition"


def runs_needed(
    instance: DagsterInstance,
    ledger: LedgerConnection,
    keys: Iterable[str],
    wanted: Callable[[str, Step], bool],
    pause_seconds: float,
) -> list[dg.RunRequest]:
    """A run request for every key whose next step is wanted, unless a run of it is unfinished.

    The run key holds a number the ledger counts up, because Dagster never runs a key twice, not even
    after a failure. `pause_seconds` doubles with every launch after which nothing changed.
    """
    requests = []
    for key in keys:
        step = migrations.standing(ledger, key).next_step()
        job = JOB_OF_STEP.get(step)
        if job is None or not wanted(key, step) or _busy(instance, key):
            continue
        number = migrations.launch(ledger, key, pause_seconds)
        if number is not None:
            requests.append(
                dg.RunRequest(
                    run_key=f"{key}:{step}:{number}",
                    job_name=job,
                    partition_key=key,
                    tags={"batch_pipeline/step": step},
                )
            )
    return requests


def _busy(instance: DagsterInstance, key: str) -> bool:
    unfinished = RunsFilter(tags={PARTITION_TAG: key}, statuses=_UNFINISHED)
    return bool(instance.get_run_ids(unfinished, limit=1))
