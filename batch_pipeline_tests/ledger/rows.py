"""Short ways to bring a ledger into a state, through its own functions alone."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from batch_pipeline.ledger import documents, jobs
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.documents import PlannedDocument, Route
from batch_pipeline.ledger.jobs import Job, Reservation
from batch_pipeline.providers.contract import JobReport, JobRequest, RecordCounts

KEY = "acme"
ACCOUNT = "bedrock:123456789012:us-east-1"
MODEL = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
ENDED_AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def plan(ledger: LedgerConnection, names: Iterable[str], route: Route = "batch", key: str = KEY) -> int:
    """Add documents `r-<name>` to the plan; the digest of each request is that of its name."""
    known = ledger.sql.execute(
        "select record_id, md5, request_digest, route from document where migration = %s", (key,)
    )
    planned = {row["record_id"]: PlannedDocument(**row) for row in known}
    for name in names:
        planned[f"r-{name}"] = PlannedDocument(f"r-{name}", f"md5-{name}", f"asks-{name}", route)
    return documents.register(ledger, key, planned.values())


def reservation(
    name: str, records: Sequence[str], attempt: int = 1, account: str = ACCOUNT, tier: int = 0
) -> Reservation:
    return Reservation(
        shard_digest=name,
        attempt=attempt,
        account=account,
        request=JobRequest(
            name=f"bp-{name}-a{attempt}",
            token=f"token-{name}-{attempt}",
            model=MODEL,
            invocation_type="InvokeModel",
            input_uri=f"s3://b/in/{name}",
            output_uri=f"s3://b/out/{name}/",
            timeout_hours=24,
        ),
        bytes=100,
        record_ids=[f"r-{record}" for record in records],
        tier=tier,
    )


def reserved(ledger: LedgerConnection, name: str, records: Sequence[str], attempt: int = 1) -> Job:
    jobs.reserve(ledger, KEY, [reservation(name, records, attempt)])
    return job_named(ledger, f"bp-{name}-a{attempt}")


def job_named(ledger: LedgerConnection, name: str, key: str = KEY) -> Job:
    return next(job for job in jobs.jobs(ledger, key) if job.name == name)


def report(job: Job, status: str, *, ended: bool, message: str | None = None) -> JobReport:
    return JobReport(
        provider_id=f"arn:{job.name}",
        name=job.name,
        token=job.token,
        status=status,
        phase="ended" if ended else "running",
        message=message,
        ended_at=ENDED_AT if ended else None,
        deadline=None,
        counts=RecordCounts(),
    )


def ended(ledger: LedgerConnection, name: str, records: Sequence[str], status: str = "Completed") -> Job:
    """A job that was sent, accepted and has ended."""
    job = reserved(ledger, name, records)
    jobs.mark_sent(ledger, job)
    jobs.accept(ledger, job, f"arn:{job.name}")
    jobs.apply_report(ledger, job, report(job, status, ended=True))
    return job_named(ledger, job.name)


def states(ledger: LedgerConnection, key: str = KEY) -> dict[str, tuple[str, int]]:
    """Document name -> (state, attempts)."""
    rows = ledger.sql.execute("select record_id, state, attempts from document where migration = %s", (key,))
    return {row["record_id"].removeprefix("r-"): (row["state"], row["attempts"]) for row in rows}
