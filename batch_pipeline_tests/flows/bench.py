"""One running stack and short ways to make customers, run migrations on it and look at the outcome."""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import httpx
import psycopg
import yaml
from botocore.config import Config
from psycopg.rows import dict_row

from batch_pipeline.local.sample import SampleExpectation, make_sample
from batch_pipeline.local.stack import BUCKET, EMULATED, Stack

MODEL = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Finished:
    """How one command ended."""

    code: int
    said: str


@dataclass
class Bench:
    """The stack's servers, seen from outside."""

    stack: Stack
    customers: Path
    samples: dict[tuple[int, int], tuple[Path, SampleExpectation]] = field(default_factory=dict)
    address: str = ""  # of an emulator of the test's own; empty: the stack's

    @property
    def emulator(self) -> str:
        return self.address or self.stack.emulator

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **self.stack.environment,
            **{f"AWS_ENDPOINT_URL_{service}": self.emulator for service in EMULATED},
            "BATCH_PIPELINE_POLL_SECONDS": str(POLL_SECONDS),
            "BATCH_PIPELINE_WORKERS": "1",
            "COLUMNS": "200",
        }

    def sample(self, documents: int, seed: int = 7) -> tuple[Path, SampleExpectation]:
        """A customer with this many distinct CVs; made once and shared."""
        if (documents, seed) not in self.samples:
            folder = self.customers / f"{documents}-{seed}"
            expected = make_sample(folder, documents * 13 // 10 + 3, documents, seed)
            self.samples[documents, seed] = folder, expected
        return self.samples[documents, seed]

    def migration(self, export: Path, **sections: Any) -> str:
        """Write a migration file of a tenant of its own; return the key."""
        key = f"t-{uuid.uuid4().hex[:12]}"
        self.write(key, export, **sections)
        return key

    def small(
        self, documents: int = 40, most: int | None = None, **sections: Any
    ) -> tuple[str, SampleExpectation]:
        """A migration of few CVs, at a provider whose smallest job has ten records."""
        export, expected = self.sample(documents)
        self.rules(limits={"min_records_per_job": 10})
        quotas = {"min_records": 10} | ({"max_records_per_job": most} if most else {})
        provider = {"quotas": quotas | sections.pop("quotas", {})} | sections.pop("provider", {})
        return self.migration(export, provider=provider, **sections), expected

    def write(self, key: str, export: Path, **sections: Any) -> None:
        source = {"kind": "csv_folder", "path": str(export), "system": "sample", "timezone": "UTC"}
        content = {
            "tenant": key,
            "source": source | sections.pop("source", {}),
            "provider": {"model": MODEL} | sections.pop("provider", {}),
            "limits": {"backoff_minutes": 0} | sections.pop("limits", {}),
            **sections,
        }
        partial = self.stack.migrations / f".{key}"
        partial.write_text(yaml.safe_dump(content))
        partial.replace(self.stack.migrations / f"{key}.yaml")

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "batch_pipeline_tests.flows.command", *words],
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def start_held(self, key: str) -> "subprocess.Popen[str]":
        """`run KEY`, come to where its job is in progress; it stays there until the faults are taken away."""
        self.faults(jobs={"hold": ["InProgress"]})
        running = self.start("run", key)
        in_progress = "select 1 from batch_ledger.job where migration = %s and state = 'running'"
        self.wait_for(lambda: bool(self.query(in_progress, key)))
        return running

    def command(self, *words: str, **environment: str) -> Finished:
        with self.start(*words, **environment) as process:
            said, _ = process.communicate(timeout=120)
        return Finished(process.returncode, said)

    def run(self, key: str, **environment: str) -> Finished:
        return self.command("run", key, **environment)

    def faults(self, **faults: Any) -> None:
        httpx.put(f"{self.emulator}/_emulator/faults", json=faults).raise_for_status()

    def rules(self, **rules: Any) -> None:
        httpx.put(f"{self.emulator}/_emulator/rules", json=rules).raise_for_status()

    def reset(self) -> None:
        httpx.post(f"{self.emulator}/_emulator/reset").raise_for_status()

    def meter(self) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(f"{self.emulator}/_emulator/meter?detail=records").json()
        return answer

    def jobs(self, key: str) -> list[dict[str, Any]]:
        """Jobs of one migration, oldest first, as the provider has them."""
        found = httpx.get(f"{self.emulator}/_emulator/jobs").json()["jobs"]
        mine = [job for job in found if job["jobName"].startswith(f"bp-{key}-")]
        return sorted(mine, key=lambda job: str(job["submitTime"]))

    def paid(self, key: str) -> dict[str, int]:
        """Record id -> how often a batch job was paid for it, over this migration's jobs."""
        records = self.meter()["records"]
        counts: dict[str, int] = {}
        for job in self.jobs(key):
            for record in records.get(job["jobArn"].rpartition("/")[2], {}):
                counts[record] = counts.get(record, 0) + 1
        return counts

    def s3(self) -> Any:
        return self._client("s3", self.stack.environment["AWS_ENDPOINT_URL_S3"])

    def bedrock(self) -> Any:
        return self._client("bedrock", self.emulator)

    def _client(self, service: str, url: str) -> Any:
        environment = self.stack.environment
        return boto3.client(
            service,  # type: ignore[call-overload]
            endpoint_url=url,
            aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
            region_name=environment["AWS_REGION"],
            config=Config(s3={"addressing_style": "path"}),
        )

    def advance(self, seconds: float) -> None:
        path = f"{self.emulator}/_emulator/clock/advance"
        httpx.post(path, json={"seconds": seconds}, timeout=60).raise_for_status()

    def left(self, key: str, bucket: str = BUCKET) -> list[str]:
        """Every version and delete marker below the migration's prefix."""
        pages = (
            self.s3()
            .get_paginator("list_object_versions")
            .paginate(Bucket=bucket, Prefix=f"batch-pipeline/{key}/")
        )
        return [
            entry["Key"]
            for page in pages
            for entry in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        ]

    def query(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        url = self.stack.environment["DATABASE_URL"]
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(statement.encode(), values).fetchall()

    def wait_for(self, what: Callable[[], bool], seconds: float = 30.0) -> None:
        """Return once it is so."""
        deadline = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < deadline, "it never came to that"
            time.sleep(0.05)

    def paid_twice(self) -> int:
        """Requests that were paid more than once, on whatever route."""
        return len(self.meter()["paid_more_than_once"])

    def statuses(self, key: str) -> list[str]:
        return [job["status"] for job in self.jobs(key)]

    def state(self, key: str) -> str:
        rows = self.query("select state from batch_ledger.migration where key = %s", key)
        return str(rows[0]["state"]) if rows else "unknown"

    def documents(self, key: str) -> dict[str, int]:
        """Documents by state in the ledger."""
        rows = self.query(
            "select state, count(*) as n from batch_ledger.document where migration = %s group by 1", key
        )
        return {row["state"]: row["n"] for row in rows}

    def outcomes(self, key: str) -> dict[str, int]:
        """CVs in the target database by what became of them."""
        rows = self.query(
            "select coalesce(parse_reason, parse_status) as what, count(*) as n from recruiting.document "
            "where tenant = %s and verdict = 'cv' group by 1",
            key,
        )
        return {row["what"]: row["n"] for row in rows}

    def markers(self, key: str) -> dict[str, list[str]]:
        """Marker in a parsed CV -> ids of the applications it is linked to, sorted."""
        rows = self.query(
            "select substring(p.json_resume::text from 'MARKER-[0-9A-F]{8}') as marker, "
            "array_agg(distinct l.application_id order by l.application_id) as applications "
            "from recruiting.parsed_cv p join recruiting.cv_link l on l.tenant = p.tenant "
            "and l.document_md5 = p.md5 where p.tenant = %s group by p.md5, 1",
            key,
        )
        return {row["marker"]: row["applications"] for row in rows if row["marker"]}

    def forget_files(self, key: str) -> None:
        """Another machine, or a lost disk."""
        shutil.rmtree(Path(self.environment["BATCH_PIPELINE_HOME"]) / key)


def assert_right(bench: Bench, key: str, expected: SampleExpectation) -> None:
    """The migration is over and came to exactly what the sample was made to come to."""
    assert bench.state(key) == "erased"
    counts = {
        name: bench.query(f"select count(*) as n from recruiting.{name} where tenant = %s", key)[0]["n"]
        for name in ("person", "job", "application", "stage_move", "note", "evaluation", "attachment")
    }
    assert counts == {
        "person": expected.people,
        "job": expected.jobs,
        "application": expected.applications,
        "stage_move": expected.stage_moves,
        "note": expected.notes,
        "evaluation": expected.evaluations,
        "attachment": expected.attachments,
    }
    links: dict[str, list[str]] = {}
    for row in bench.query(
        "select document_md5, application_id from recruiting.cv_link where tenant = %s order by 1, 2", key
    ):
        links.setdefault(row["document_md5"], []).append(row["application_id"])
    assert links == expected.cv_documents
    found = bench.markers(key)
    assert {marker: found.get(marker) for marker in expected.markers} == expected.markers
    assert not set(found) & set(expected.erased_markers)
    assert bench.left(key) == []


def assert_paid_once(bench: Bench) -> None:
    meter = bench.meter()
    assert meter["paid_more_than_once"] == {}
    assert meter["requests"] == meter["distinct_requests"]


def load_json(path: Path) -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads(path.read_text())
    return loaded
