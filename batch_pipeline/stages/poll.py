"""Asking the provider how open jobs are, for one migration or for all of them at once.

One list call a page for all jobs of an account, one call a job only for those the list left out.
What is learned is written to the ledger and nowhere else; asking twice changes nothing.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby

from batch_pipeline.errors import BatchPipelineError, ConfigurationError, TransientError
from batch_pipeline.ledger import jobs
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.jobs import Job
from batch_pipeline.providers.contract import BatchProvider, JobReport


@dataclass
class Poll:
    """What one round of asking found."""

    asked: int = 0
    changed: int = 0
    ended: int = 0
    skipped: int = 0
    troubles: list[str] = field(default_factory=list)


def poll(
    ledger: LedgerConnection,
    open_jobs: Sequence[Job],
    provider_of: Callable[[Job], BatchProvider],
    budget_seconds: float = 20.0,
) -> Poll:
    """Ask about `open_jobs` until done or out of time, those longest unchecked first.

    One account or migration in trouble is noted and does not keep the others from being asked.
    """
    started = time.monotonic()
    found = Poll()

    def out_of_time() -> bool:
        return time.monotonic() - started > budget_seconds

    for _, group in groupby(sorted(open_jobs, key=lambda job: job.account), key=lambda job: job.account):
        members = list(group)
        if out_of_time():
            found.skipped += len(members)
            continue
        try:
            listed = _listed(members, provider_of)
        except BatchPipelineError as error:
            found.troubles.append(str(error))
            if isinstance(error, TransientError):
                found.skipped += len(members)
                continue
            listed = {}
        for job in members:
            if out_of_time():
                found.skipped += 1
                continue
            _take(ledger, job, listed, provider_of, found)
    return found


def _listed(members: Sequence[Job], provider_of: Callable[[Job], BatchProvider]) -> dict[str, JobReport]:
    """Reports by provider id, from as few list calls as the pages need."""
    wanted = {job.provider_id for job in members}
    since = min(job.sent_at or job.reserved_at for job in members)
    reports: dict[str, JobReport] = {}
    for report in _any_provider(members, provider_of).reports(since):
        if report.provider_id in wanted:
            reports[report.provider_id] = report
            if len(reports) == len(wanted):
                break
    return reports


def _any_provider(members: Sequence[Job], provider_of: Callable[[Job], BatchProvider]) -> BatchProvider:
    """Each migration's provider lists all jobs of the account, so the first with a sound file will do."""
    *others, last = {job.migration: job for job in members}.values()
    for job in others:
        with suppress(ConfigurationError):
            return provider_of(job)
    return provider_of(last)


def _take(
    ledger: LedgerConnection,
    job: Job,
    listed: dict[str, JobReport],
    provider_of: Callable[[Job], BatchProvider],
    found: Poll,
) -> None:
    assert job.provider_id is not None
    try:
        report = listed.get(job.provider_id) or provider_of(job).report(job.provider_id)
    except BatchPipelineError as error:
        found.troubles.append(f"job {job.name}: {error}")
        return
    found.asked += 1
    if jobs.apply_report(ledger, job, report):
        found.changed += 1
        found.ended += report.phase == "ended"
