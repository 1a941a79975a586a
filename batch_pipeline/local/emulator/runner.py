"""The state clock: moves every open job on to where it should be at the clock's time.

Submitted -> Validating (totals 0) -> Scheduled -> InProgress -> Completed | PartiallyCompleted, or Failed
from Validating, Expired before InProgress, Stopping -> Stopped on request. A job leaves a state at a
fixed time after it entered it, so a jump of the clock gives the same history as waiting.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from threading import Event, RLock, Thread
from time import monotonic
from typing import Final

from batch_pipeline.local.emulator.body_rules import Context
from batch_pipeline.local.emulator.clock import Clock
from batch_pipeline.local.emulator.daemon_pool import DaemonPool
from batch_pipeline.local.emulator.events import state_change
from batch_pipeline.local.emulator.faults import FaultBook
from batch_pipeline.local.emulator.inference import Inference
from batch_pipeline.local.emulator.job import Job, Status
from batch_pipeline.local.emulator.models import resolve
from batch_pipeline.local.emulator.objects import ObjectError, Objects
from batch_pipeline.local.emulator.output import invented_record_id, output_line, write_output
from batch_pipeline.local.emulator.rules import Rules
from batch_pipeline.local.emulator.settings import Phases
from batch_pipeline.local.emulator.spool import Spool, records
from batch_pipeline.local.emulator.store import Payment, Store
from batch_pipeline.local.emulator.validation import DECODER, JobRefused, validate

_NEXT: Final[dict[Status, Status]] = {"Submitted": "Validating", "Scheduled": "InProgress"}
_SLICE_RECORDS: Final = 500
_SLICE_SECONDS: Final = 0.2
_logger = logging.getLogger(__name__)


class Runner:
    """Moves jobs. `tick` is called by the background thread, or by whoever moves a manual clock."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        faults: FaultBook,
        inference: Inference,
        objects: Objects,
        spool_root: Path,
        phases: Phases,
    ) -> None:
        self._store = store
        self._clock = clock
        self._faults = faults
        self._inference = inference
        self._objects = objects
        self._spool_root = spool_root
        self._phases = phases
        self.rules = Rules()
        self._ticking = RLock()
        self._wake = Event()
        self._ending = Event()
        self._readers: dict[str, tuple[int, Iterator[bytes]]] = {}
        self._pool = (
            DaemonPool(inference.engine.concurrency, "engine") if inference.engine.concurrency > 1 else None
        )

    def start(self) -> None:
        """Follow the clock in the background."""
        Thread(target=self._follow, name="jobs", daemon=True).start()

    def wake(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        self._ending.set()
        self._wake.set()
        if self._pool is not None:
            self._pool.stop()
        # a slice of work ends within its own bound; an engine call may not, and is left to the process
        if self._ticking.acquire(timeout=0.8):
            self._ticking.release()

    def settle(self) -> None:
        """Move every job as far as the clock's present time allows."""
        while self.tick():
            pass

    def forget(self) -> None:
        """Remove every job and its files, and all the store remembers, between two steps."""
        with self._ticking:
            self._readers.clear()
            for job in self._store.jobs():
                Spool(self._spool_root, job).remove()
            self._store.clear()

    def tick(self) -> bool:
        """One step of every open job; whether any moved."""
        with self._ticking:
            moved = False
            for job in self._store.jobs():
                if not job.ended and not self._ending.is_set():
                    moved |= self._step(job)
            return moved

    def _follow(self) -> None:
        while not self._ending.is_set():
            try:
                moved = self.tick()
            except Exception:
                if self._ending.is_set():
                    return
                _logger.exception("a job could not be moved; trying again")
                moved = False
            if not moved:
                busy = any(not job.ended for job in self._store.jobs())
                self._wake.wait(0.02 if busy else 0.5)
                self._wake.clear()

    def _step(self, job: Job) -> bool:
        now = self._clock.now()
        if job.status == "Stopping":
            return self._stopping(job, now)
        if job.status == "InProgress":
            return self._in_progress(job, now)
        stay = {
            "Submitted": self._phases.submitted,
            "Validating": self._phases.validating,
            "Scheduled": self._phases.scheduled,
        }[job.status]
        leaves = job.entered + timedelta(seconds=stay)
        held = job.status in self._faults.now.jobs.hold
        if job.expires <= now and (held or job.expires <= leaves):
            return self._end(job, "Expired", job.expires, "The job expired before it could start.")
        if held or leaves > now:
            return False
        if job.status == "Validating":
            return self._validate(job, leaves)
        return self._enter(job, _NEXT[job.status], leaves)

    def _enter(self, job: Job, status: Status, moment: datetime, message: str | None = None) -> bool:
        """Change state, unless a stop came in between."""
        with self._store.lock:
            if job.status == "Stopping" and status not in ("Stopped", "Failed"):
                return True
            job.status, job.entered, job.modified, job.message = status, moment, moment, message
            if job.ended:
                job.end_time = moment
            self._store.save(job, event=state_change(job))
        return True

    def _end(self, job: Job, status: Status, moment: datetime, message: str | None = None) -> bool:
        self._enter(job, status, moment, message)
        self._readers.pop(job.id, None)
        Spool(self._spool_root, job).remove()
        return True

    def _validate(self, job: Job, moment: datetime) -> bool:
        if refusal := self._faults.now.jobs.fail_message:
            return self._end(job, "Failed", moment, refusal)
        try:
            files = validate(job, self._objects, Spool(self._spool_root, job).create(), self.rules)
        except (JobRefused, ObjectError) as error:
            if job.status == "Stopping":
                return True
            return self._end(job, "Failed", moment, str(error)[:2048])
        with self._store.lock:
            job.files, job.total, job.written = files, sum(f.records for f in files), [0] * len(files)
        return self._enter(job, "Scheduled", moment)

    def _in_progress(self, job: Job, now: datetime) -> bool:
        faults = self._faults.now.jobs
        until = min(now, job.expires)
        target = self._due_records(job, until)
        for limit in (faults.hold_after_records, faults.time_out_after_records):
            if limit is not None:
                target = min(target, limit)
        if job.processed < target:
            self._work(job, target)
            return True
        finished = job.entered + timedelta(seconds=self._phases.in_progress)
        held = "InProgress" in faults.hold
        if job.processed >= job.total and finished <= until and not held:
            failed = self.rules.unknowns.all_records_failed == "failed" and job.failed == job.total
            return self._finish(job, "Failed" if failed else "Completed", max(finished, job.modified))
        most = faults.time_out_after_records
        timed_out = most is not None and most <= job.processed < job.total
        if now >= job.expires or (timed_out and faults.hold_after_records is None and not held):
            status: Status = "PartiallyCompleted" if job.processed < job.total else "Completed"
            return self._finish(job, status, job.expires if now >= job.expires else now)
        return False

    def _due_records(self, job: Job, moment: datetime) -> int:
        """Records a job has worked on by then: linear over the time it takes."""
        if self._phases.in_progress <= 0:
            return job.total
        elapsed = (moment - job.entered).total_seconds() / self._phases.in_progress
        return max(0, min(job.total, int(job.total * elapsed)))

    def _stopping(self, job: Job, now: datetime) -> bool:
        stopped = job.entered + timedelta(seconds=self._phases.stopping)
        if stopped > now or "Stopping" in self._faults.now.jobs.hold:
            return False
        return self._finish(job, "Stopped", stopped)

    def _finish(self, job: Job, status: Status, moment: datetime) -> bool:
        """Upload first, then say that it ended: a poller never sees an end without its output."""
        if job.processed:
            probe = job.model_copy(update={"status": status})
            spool = Spool(self._spool_root, job)
            try:
                write_output(probe, spool, self._objects, self._store, self._faults.now, self.rules)
            except ObjectError as error:
                return self._end(job, "Failed", moment, str(error)[:2048])
        message = "Every record failed." if status == "Failed" else None
        return self._end(job, status, moment, message)

    def _work(self, job: Job, target: int) -> None:
        """Answer records up to `target`, at most one slice; flush the lines, then save the progress."""
        context = Context(
            model=resolve(job.model_id, self.rules.models),
            invocation_type=job.invocation_type,
            batch=True,
            rules=self.rules,
        )
        spool = Spool(self._spool_root, job)
        index, first = self._position(job)
        lines = self._reader(job, spool, index, first)
        left = min(target - job.processed, job.files[index].records - first, _SLICE_RECORDS)
        ends = monotonic() + _SLICE_SECONDS
        answered: list[bytes] = []
        payments: list[Payment] = []
        succeeded = 0

        def one(numbered: tuple[int, bytes]) -> tuple[bytes, Payment | None, bool]:
            return self._answer(job, context, index, *numbered)

        batch = self._pool.map if self._pool is not None else None
        step = self._inference.engine.concurrency if batch is not None else 1
        while len(answered) < left and monotonic() < ends and not self._ending.is_set():
            start = first + len(answered)
            some = list(enumerate(islice(lines, min(step, left - len(answered))), start))
            results = batch(one, some) if batch is not None else [one(numbered) for numbered in some]
            for line, payment, success in results:
                answered.append(line)
                succeeded += success
                if payment is not None:
                    payments.append(payment)
        with spool.output(index).open("r+b" if spool.output(index).exists() else "w+b") as sink:
            sink.truncate(job.written[index])
            sink.seek(job.written[index])
            sink.writelines(answered)
        self._readers[job.id] = (job.processed + len(answered), lines)
        with self._store.lock:
            job.written[index] += sum(map(len, answered))
            job.processed += len(answered)
            job.succeeded += succeeded
            job.failed = job.processed - job.succeeded
            job.modified = max(job.modified, min(self._clock.now(), job.expires))
            self._store.save(job, payments)

    def _position(self, job: Job) -> tuple[int, int]:
        """`(file, line)` of the next record."""
        done = job.processed
        for index, file in enumerate(job.files):
            if done < file.records:
                return index, done
            done -= file.records
        raise AssertionError("a job has no record left to work on")

    def _reader(self, job: Job, spool: Spool, index: int, first: int) -> Iterator[bytes]:
        at, lines = self._readers.get(job.id, (-1, iter(())))
        if at != job.processed or first == 0:
            lines = islice(records(spool.input(index)), first, None)
        return lines

    def _answer(
        self, job: Job, context: Context, index: int, number: int, line: bytes
    ) -> tuple[bytes, Payment | None, bool]:
        record = DECODER.decode(line)
        record_id = record.recordId if record.recordId is not None else invented_record_id(job, index, number)
        outcome = self._inference.run(record.modelInput, context, record_id)
        payment = None
        if outcome.input_tokens or outcome.output_tokens:
            payment = Payment(
                job.id, record_id, outcome.digest, outcome.input_tokens, outcome.output_tokens, job.base_model
            )
        answer = output_line(record_id, record.modelInput, outcome, self._faults.now.output)
        return answer, payment, outcome.error is None
