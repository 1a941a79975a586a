"""The emulator's memory: jobs, tokens, meter, events and time, in one SQLite file.

Every call commits before it returns, so a killed emulator goes on where it was. Without a state
folder the same tables live in memory.
"""

import json
import sqlite3
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from batch_pipeline.local.emulator.job import Job

_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, submitted TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (
    token TEXT PRIMARY KEY, job_id TEXT NOT NULL, digest TEXT NOT NULL, seen TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS paid (
    job_id TEXT, record_id TEXT, digest TEXT NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, model TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS paid_by_digest ON paid (digest);
CREATE INDEX IF NOT EXISTS paid_by_job ON paid (job_id, record_id);
CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class Payment(NamedTuple):
    """One request that was worked on: by a job's record, or on demand (`job_id` None)."""

    job_id: str | None
    record_id: str | None
    digest: str
    input_tokens: int
    output_tokens: int
    model: str


class Store:
    """Safe to share by threads. `lock` makes several calls one step."""

    def __init__(self, folder: Path | None) -> None:
        self.lock = RLock()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = ":memory:" if folder is None else str(folder / "emulator.sqlite")
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_TABLES)
        self._jobs = {
            row[0]: Job.model_validate_json(row[1])
            for row in self._db.execute("SELECT id, body FROM jobs ORDER BY submitted, id")
        }

    def close(self) -> None:
        with self.lock:
            self._db.close()

    def clear(self) -> None:
        """Forget everything."""
        with self.lock:
            self._jobs.clear()
            for table in ("jobs", "tokens", "paid", "events", "state"):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608 -- names from the line above

    def job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def jobs(self) -> list[Job]:
        with self.lock:
            return list(self._jobs.values())

    def save(self, job: Job, payments: Iterable[Payment] = (), event: dict[str, Any] | None = None) -> None:
        """Keep a job, what it has cost since the last time, and the event of its new state: all or none."""
        with self.lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.execute(
                    "INSERT OR REPLACE INTO jobs VALUES (?, ?, ?)",
                    (job.id, job.submit_time.isoformat(), job.model_dump_json()),
                )
                self._db.executemany("INSERT INTO paid VALUES (?, ?, ?, ?, ?, ?)", payments)
                if event is not None:
                    self._db.execute("INSERT INTO events (body) VALUES (?)", (json.dumps(event),))
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
            self._jobs[job.id] = job

    def pay(self, payment: Payment) -> None:
        with self.lock:
            self._db.execute("INSERT INTO paid VALUES (?, ?, ?, ?, ?, ?)", payment)

    def token(self, token: str) -> tuple[str, str, datetime] | None:
        """`(job id, request digest, when first seen)`."""
        with self.lock:
            row = self._db.execute(
                "SELECT job_id, digest, seen FROM tokens WHERE token = ?", (token,)
            ).fetchone()
        return (row[0], row[1], datetime.fromisoformat(row[2])) if row else None

    def remember_token(self, token: str, job_id: str, digest: str, seen: datetime) -> None:
        with self.lock:
            self._db.execute(
                "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?)", (token, job_id, digest, seen.isoformat())
            )

    def events(self) -> list[dict[str, Any]]:
        with self.lock:
            return [json.loads(row[0]) for row in self._db.execute("SELECT body FROM events ORDER BY number")]

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Read with a fixed query of ours."""
        with self.lock:
            return self._db.execute(query, values).fetchall()

    def get_state(self, name: str) -> str | None:
        rows = self.rows("SELECT value FROM state WHERE name = ?", name)
        return str(rows[0][0]) if rows else None

    def set_state(self, name: str, value: str) -> None:
        with self.lock:
            self._db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value))
