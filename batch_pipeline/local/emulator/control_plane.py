"""The four operations on batch inference jobs, without HTTP."""

import base64
import binascii
import hashlib
import secrets
import string
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from batch_pipeline.local.emulator import constraints
from batch_pipeline.local.emulator.aws_errors import AwsError
from batch_pipeline.local.emulator.clock import Clock
from batch_pipeline.local.emulator.events import state_change
from batch_pipeline.local.emulator.faults import FaultBook
from batch_pipeline.local.emulator.job import Job
from batch_pipeline.local.emulator.models import require_batch_support, resolve
from batch_pipeline.local.emulator.rules import Rules
from batch_pipeline.local.emulator.store import Store

_ID_LETTERS: Final = string.ascii_lowercase + string.digits
_QUOTA: Final = (
    "You have reached the maximum number of in-progress and submitted batch inference jobs for this model."
)


class ControlPlane:
    """CreateModelInvocationJob, Get, List and Stop. `count_records` serves the synchronous minimum check."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        faults: FaultBook,
        account: str,
        count_records: Callable[[Job], int],
    ) -> None:
        self._store = store
        self._clock = clock
        self._faults = faults
        self._account = account
        self._count_records = count_records
        self.rules = Rules()

    def create(self, body: Any, region: str) -> str:
        """Accept a job; return its ARN. The job is durable before this returns."""
        self._check_model_id_first(body)
        constraints.check_create(body)
        self._check_role(body["roleArn"])
        model = resolve(body["modelId"], self.rules.models)
        require_batch_support(model, self.rules.models)
        self._check_places(body)
        digest = hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()
        with self._store.lock:
            if known := self._known_token(body.get("clientRequestToken"), digest):
                return known
            self._check_name(body["jobName"])
            self._check_quota(model.base)
            job = self._new_job(body, region, model.base)
            self._check_minimum(job)
            # the token first: a crash between the two leaves a token without a job, never a job
            # that a retry with the same token would pay for again
            if job.token is not None:
                self._store.remember_token(job.token, job.id, digest, job.submit_time)
            self._store.save(job, event=state_change(job))
        return job.arn

    def get(self, identifier: str, region: str) -> dict[str, Any]:
        return self._find(identifier, region).shown(self._faults.now.jobs.counters)

    def stop(self, identifier: str, region: str) -> None:
        """Ask a job to stop; it does so a moment later."""
        with self._store.lock:
            job = self._find(identifier, region)
            if job.status == "Stopping":
                return
            if job.ended:
                answer = self.rules.unknowns.stop_of_ended_job
                if answer == "ok":
                    return
                name = "ConflictException" if answer == "conflict" else "ValidationException"
                raise AwsError(
                    name, f"The batch inference job is in {job.status} state and cannot be stopped."
                )
            now = self._clock.now()
            job.status, job.entered, job.modified = "Stopping", now, now
            self._store.save(job, event=state_change(job))

    def list(self, query: Mapping[str, str], region: str) -> dict[str, Any]:
        """One page of summaries, newest first unless asked otherwise."""
        found = constraints.Findings()
        name = query.get("nameContains")
        found.text(name, "nameContains", constraints.is_job_name, shortest=1, longest=63)
        found.choice(query.get("statusEquals"), "statusEquals", constraints.STATUSES)
        found.choice(query.get("sortBy"), "sortBy", ("CreationTime",))
        found.choice(query.get("sortOrder"), "sortOrder", ("Ascending", "Descending"))
        size = _whole_number(query.get("maxResults"), self.rules.limits.default_page_size)
        found.number(size, "maxResults", 1, 1000)
        found.text(query.get("nextToken"), "nextToken", constraints.PAGE_TOKEN, shortest=1, longest=2048)
        found.raise_any()
        after = _moment(query.get("submitTimeAfter"), "submitTimeAfter")
        before = _moment(query.get("submitTimeBefore"), "submitTimeBefore")
        descending = query.get("sortOrder") != "Ascending"
        jobs = [
            job
            for job in self._store.jobs()
            if job.region == region
            and self._listable(job)
            and (name is None or name in job.name)
            and query.get("statusEquals") in (None, job.status)
            and (after is None or job.submit_time > after)
            and (before is None or job.submit_time < before)
        ]
        jobs.sort(key=_place, reverse=descending)
        if token := query.get("nextToken"):
            last = _read_page_token(token)
            jobs = [job for job in jobs if (_place(job) < last if descending else _place(job) > last)]
        counters = self._faults.now.jobs.counters
        answer: dict[str, Any] = {"invocationJobSummaries": [job.shown(counters) for job in jobs[:size]]}
        if len(jobs) > size:
            answer["nextToken"] = _page_token(jobs[size - 1])
        return answer

    def _find(self, identifier: str, region: str) -> Job:
        short, named_region = constraints.job_id(identifier)
        job = self._store.job(short)
        if job is None or job.region != region or named_region not in (None, region):
            raise AwsError("ResourceNotFoundException", "The specified batch inference job was not found.")
        return job

    def _listable(self, job: Job) -> bool:
        kept = self.rules.unknowns.list_ended_jobs_seconds
        if kept is None or job.end_time is None:
            return True
        return self._clock.now() - job.end_time <= timedelta(seconds=kept)

    def _check_model_id_first(self, body: Any) -> None:
        """In the field the modelId pattern is judged before everything else."""
        if isinstance(body, dict) and isinstance(body.get("modelId"), str):
            found = constraints.Findings()
            found.text(body["modelId"], "modelId", constraints.MODEL_ID, shortest=1, longest=2048)
            found.raise_any()

    def _check_role(self, role: str) -> None:
        account = role.split(":")[4]
        if self.rules.unknowns.refuse_cross_account_role and account not in ("", self._account):
            raise AwsError("AccessDeniedException", "Cross-account pass role is not allowed.")
        if self._faults.now.api.deny_pass_role:
            raise AwsError(
                "AccessDeniedException",
                f"User: arn:aws:iam::{self._account}:user/emulator is not authorized to perform: iam:PassRole"
                f" on resource: {role} because no identity-based policy allows the iam:PassRole action",
            )

    def _check_places(self, body: dict[str, Any]) -> None:
        source = body["inputDataConfig"]["s3InputDataConfig"]["s3Uri"].rstrip("/")
        target = body["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"].rstrip("/")
        if source == target:
            raise AwsError("ValidationException", "The output location must differ from the input location.")

    def _known_token(self, token: str | None, digest: str) -> str | None:
        known = self._store.token(token) if token is not None else None
        if known is None:
            return None
        job_id, old_digest, seen = known
        ttl = self.rules.unknowns.token_ttl_seconds
        job = self._store.job(job_id)
        if job is None or (ttl is not None and self._clock.now() - seen > timedelta(seconds=ttl)):
            return None
        mismatch = self.rules.unknowns.token_mismatch
        if digest != old_digest and mismatch != "return_old":
            name = "ConflictException" if mismatch == "conflict" else "ValidationException"
            raise AwsError(name, "The clientRequestToken was used before with different parameters.")
        return job.arn

    def _check_name(self, name: str) -> None:
        answer = self.rules.unknowns.duplicate_job_name
        if answer != "accept" and any(job.name == name for job in self._store.jobs()):
            error = "ConflictException" if answer == "conflict" else "ValidationException"
            raise AwsError(error, "The provided job name is currently in use.")

    def _check_quota(self, base_model: str) -> None:
        waiting = self.rules.unknowns.queued_states_count
        open_jobs = sum(
            job.base_model == base_model and (not job.ended if waiting else job.status == "InProgress")
            for job in self._store.jobs()
        )
        if open_jobs >= self.rules.limits.max_open_jobs_per_model:
            raise AwsError("ServiceQuotaExceededException", _QUOTA)

    def _check_minimum(self, job: Job) -> None:
        if self.rules.unknowns.minimum_check != "sync":
            return
        least = self.rules.limits.min_records_per_job
        if (records := self._count_records(job)) < least:
            raise AwsError("ValidationException", too_few(records, least))

    def _new_job(self, body: dict[str, Any], region: str, base_model: str) -> Job:
        now = self._clock.now()
        hours = body.get("timeoutDurationInHours") or self.rules.unknowns.default_timeout_hours
        return Job(
            id="".join(secrets.choice(_ID_LETTERS) for _ in range(12)),
            region=region,
            account=self._account,
            request=body,
            base_model=base_model,
            timeout_hours=hours,
            submit_time=now,
            expires=now + timedelta(hours=hours),
            entered=now,
            modified=now,
        )


def too_few(records: int, least: int) -> str:
    return f"Batch job contains less records ({records}) than the required minimum of: {least} for the model."


def _place(job: Job) -> tuple[str, str]:
    return job.submit_time.isoformat(timespec="microseconds"), job.id


def _page_token(job: Job) -> str:
    return base64.urlsafe_b64encode("|".join(_place(job)).encode()).decode()


def _read_page_token(token: str) -> tuple[str, str]:
    try:
        moment, job_id = base64.urlsafe_b64decode(token.encode()).decode().split("|")
    except (ValueError, binascii.Error) as error:
        raise AwsError("ValidationException", "The provided nextToken is not valid.") from error
    return moment, job_id


def _whole_number(text: str | None, default: int) -> int:
    if text is None:
        return default
    try:
        return int(text)
    except ValueError as error:
        raise AwsError("SerializationException", "maxResults: NUMBER_VALUE expected") from error


def _moment(text: str | None, field: str) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise AwsError("ValidationException", f"{field} is not an ISO 8601 time with a zone.") from error
    if moment.tzinfo is None:
        raise AwsError("ValidationException", f"{field} is not an ISO 8601 time with a zone.")
    return moment
