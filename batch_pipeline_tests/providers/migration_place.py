"""One small migration at one fake provider: the customer, the run, and what it came to."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import yaml
from psycopg.rows import dict_row

from batch_pipeline.errors import NeedsPerson
from batch_pipeline.ledger import documents, migrations
from batch_pipeline.local.sample.export import Export
from batch_pipeline.settings import Settings
from batch_pipeline.stages.context import Context, open_context
from batch_pipeline.stages.headless import run, take
from batch_pipeline_tests.providers.fakes.core import Core
from batch_pipeline_tests.providers.fakes.skin import Skin
from batch_pipeline_tests.providers.fakes.table import SINGLE_CALLS

CVS = 6
# Nothing of AWS may be reached: a migration elsewhere needs no bucket and no credentials.
NO_AWS = {
    "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",
    "AWS_ENDPOINT_URL_BEDROCK": "http://127.0.0.1:9",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_CV = """Curriculum Vitae
Ada Example {number}
Software Engineer
candidate.{number}@example.com | +44 20 7946 0{number:03} | London

Profile
Engineer who builds reliable systems. MARKER-{number:08X}

Experience
Software Engineer, Example Ltd, London
2019-02 - present
- Built the billing platform of run {run}
- Led a team of four

Education
BSc Computer Science, Example University
2012-10 - 2016-07

Skills
Python, SQL, Linux
"""


def make_customer(folder: Path, cvs: int, run_id: str) -> Path:
    """An export of `cvs` people with one text CV each; `run_id` makes their texts this customer's own."""
    with Export(folder) as export:
        export.add("jobs", "1", "Engineer", "open", "2026-01-01", "")
        for n in range(1, cvs + 1):
            one = str(n)
            export.add(
                "candidates", one, "Ada", f"Example {n}", f"c{n}@example.com", "", "2026-01-02 08:00", ""
            )
            export.add("applications", one, one, "1", "2026-01-02", "active", "Applied", "", "")
            export.add("attachments", one, one, one, "cv.txt", "resume", "2026-01-02", f"files/{n}/cv.txt")
            path = folder / "files" / one / "cv.txt"
            path.parent.mkdir(parents=True)
            path.write_text(_CV.format(number=n, run=run_id))
    for empty in ("stage_history", "notes", "scorecards"):
        (folder / f"{empty}.csv").unlink()
    return folder


_LATER = (
    "update job set sent_at = sent_at - interval '6 minutes', not_before = null, "
    "due_at = due_at - interval '6 minutes', reserved_at = reserved_at - interval '6 minutes' "
    "where migration = %s and state = 'intent'"
)


@dataclass
class Place:
    """A fake provider, a database, and one customer after the other."""

    skin: Skin
    core: Core
    url: str
    folder: Path
    database: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            **NO_AWS,
            **self.skin.environment(self.url),
            "DATABASE_URL": self.database,
            "BATCH_PIPELINE_HOME": str(self.folder / "work"),
            "BATCH_PIPELINE_MIGRATIONS": str(self.folder / "migrations"),
            "BATCH_PIPELINE_POLL_SECONDS": "0.2",
            "BATCH_PIPELINE_WORKERS": "1",
        }

    def migration(self, cvs: int = CVS, provider: Mapping[str, Any] | None = None, **sections: Any) -> str:
        """Write a customer and its migration file; return the key."""
        key = f"p-{uuid.uuid4().hex[:10]}"
        export = make_customer(self.folder / key, cvs, key)
        content = {
            "tenant": key,
            "source": {"kind": "csv_folder", "path": str(export), "system": "sample", "timezone": "UTC"},
            "provider": {**self.skin.section(self.url), **(provider or {})},
            "limits": {"backoff_minutes": 0},
            **self._single_calls(),
            **sections,
        }
        (self.folder / "migrations").mkdir(exist_ok=True)
        (self.folder / "migrations" / f"{key}.yaml").write_text(yaml.safe_dump(content))
        return key

    def _single_calls(self) -> dict[str, Any]:
        other = SINGLE_CALLS.get(self.skin.kind)
        return {"on_demand": {"provider": other(self.url)}} if other else {}

    @contextmanager
    def opened(self, key: str) -> Iterator[Context]:
        with open_context(Settings.from_environment(self.environment), key) as context:
            yield context

    def run(self, key: str, patience: int = 60) -> str:
        """`batch-pipeline run KEY` in this process; every pause is short, and every tenth is six minutes long
        by the ledger's own clock: a doubt that takes minutes to settle takes a moment here."""
        slept = 0
        context: Context  # opened below, known by then

        def sleep(_seconds: float) -> None:
            nonlocal slept
            slept += 1
            assert slept < patience, "it never came to an end"
            time.sleep(0.03)
            if slept % 10 == 0:
                context.ledger.sql.execute(_LATER, (key,))

        with self.opened(key) as opened:
            context = opened
            return run(context, sleep).step

    def run_until_settled(self, key: str) -> dict[str, int]:
        """Run until the first job's output was read; what was odd about it."""
        with self.opened(key) as context:
            for _ in range(100):
                step = migrations.standing(context.ledger, key).next_step()
                take(context, step, lambda _: time.sleep(0.03))
                if found := self.oddities(key):
                    return found
        raise AssertionError("nothing was odd")

    def held(self, key: str) -> str:
        """Run it until it is held; the words a person sees."""
        try:
            step = self.run(key)
        except NeedsPerson as held:
            return str(held)
        raise AssertionError(f"not held, but {step}")

    def resume(self, key: str, *, retry_failed: bool = False) -> None:
        """`batch-pipeline resume KEY [--retry-failed]`."""
        with self.opened(key) as context:
            if retry_failed:
                documents.retry_failed(context.ledger, key)
            migrations.release(context.ledger, key)

    def start(self, key: str) -> "subprocess.Popen[str]":
        """The command as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "batch_pipeline_tests.flows.command", "run", key],
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def query(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self.database, autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(statement.encode(), values).fetchall()

    def statuses(self, key: str) -> list[str]:
        """How each job ended, oldest first."""
        rows = self.query(
            "select provider_status from batch_ledger.job where migration = %s and state <> 'void' order by id",
            key,
        )
        return [row["provider_status"] for row in rows]

    def events(self, key: str, kind: str) -> list[dict[str, Any]]:
        rows = self.query(
            "select detail from batch_ledger.event where migration = %s and kind = %s order by id", key, kind
        )
        return [row["detail"] for row in rows]

    def oddities(self, key: str) -> dict[str, int]:
        """Of lines; a provider that counts also says how many answers more it knows of."""
        found: dict[str, int] = {}
        for detail in self.events(key, "oddities in output"):
            for what, count in detail.items():
                if what != "job" and not what.endswith("beyond ours"):
                    found[what] = found.get(what, 0) + count
        return found

    def documents(self, key: str) -> dict[str, int]:
        rows = self.query(
            "select coalesce(reason, state) as what, count(*) as n from batch_ledger.document where migration = %s "
            "group by 1",
            key,
        )
        return {row["what"]: row["n"] for row in rows}

    def markers(self, key: str) -> dict[str, str]:
        """Application -> marker of the CV linked to it, from the rows that were imported."""
        rows = self.query(
            "select l.application_id, substring(p.json_resume::text from 'MARKER-[0-9A-F]{8}') as marker "
            "from recruiting.parsed_cv p join recruiting.cv_link l on l.tenant = p.tenant "
            "and l.document_md5 = p.md5 where p.tenant = %s",
            key,
        )
        return {row["application_id"]: row["marker"] for row in rows}

    def assert_right(self, key: str, cvs: int = CVS) -> None:
        """Every application has its own CV, and nothing that can be deleted is left at the provider."""
        assert self.markers(key) == {str(n): f"MARKER-{n:08X}" for n in range(1, cvs + 1)}
        assert self.query("select state from batch_ledger.migration where key = %s", key) == [
            {"state": "erased"}
        ]
        assert self.skin.content_left(self.core) == []

    def assert_billed_once(self, cvs: int = CVS) -> None:
        assert sorted(self.core.meter.billed.values()) == [1] * cvs
