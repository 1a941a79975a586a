"""One sample migration carried to its end by the sensors' requests, and what Dagster then holds of it."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import psycopg
import pytest
from psycopg import sql

from batch_pipeline.definitions import definitions
from batch_pipeline.documents.reasons import QUARANTINE
from batch_pipeline.errors import LedgerConflict
from batch_pipeline.ledger import jobs
from batch_pipeline.local.emulator.settings import EmulatorSettings
from batch_pipeline.local.object_store import EmbeddedObjectStore
from batch_pipeline.local.postgres import EmbeddedPostgres
from batch_pipeline.local.sample.customer import make_sample
from batch_pipeline.local.sample.expectation import SampleExpectation
from batch_pipeline.orchestration.assets import ASSETS
from batch_pipeline.orchestration.columns import PERSONAL
from batch_pipeline.orchestration.io_managers import JobLedgerIOManager
from batch_pipeline.orchestration.resources import BedrockResource, MigrationBucket, MigrationsResource
from batch_pipeline_tests.orchestration.place import Place, opened_place

pytestmark = pytest.mark.servers

KEY = "sample"
NAMES = [node.key.to_user_string() for node in definitions.resolve_all_asset_specs()]


@dataclass
class Finished:
    """A migration at its end, the runs that took it there, and what was read on the way."""

    place: Place
    expected: SampleExpectation
    runs: list[tuple[str, dg.ExecuteInProcessResult]] = field(default_factory=list)
    frames: dict[str, dict[str, pl.DataType]] = field(default_factory=dict)
    personal: set[str] = field(default_factory=set)
    metadata: dict[str, dict[str, Any]] = field(default_factory=dict)

    def keep_metadata(self) -> None:
        """Values of each asset's last materialisation, before a test adds another one."""
        for name in NAMES:
            event = self.place.instance.get_latest_materialization_event(dg.AssetKey(name))
            assert event is not None and event.asset_materialization is not None, name
            entries = event.asset_materialization.metadata.items()
            self.metadata[name] = {key: entry.value for key, entry in entries}

    def rows(self) -> list[tuple[object, ...]]:
        """Everything this migration brought into the target, by table and content."""
        with psycopg.connect(self.place.database) as connection:
            tables = connection.execute(
                "select table_name from information_schema.tables where table_schema = 'recruiting' order by 1"
            ).fetchall()
            digest = "select count(*), md5(string_agg(t::text, '|' order by t::text)) from recruiting.{} t"
            return [
                (table, *connection.execute(sql.SQL(digest).format(sql.Identifier(table))).fetchall())
                for (table,) in tables
            ]


@pytest.fixture(scope="module")
def finished(
    postgres_server: EmbeddedPostgres,
    object_store: EmbeddedObjectStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Finished]:
    folder = tmp_path_factory.mktemp("finished")
    object_store.create_bucket("finished")
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("create database finished")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in object_store.environment().items():
            patch.setenv(name, value)
        with opened_place(
            folder, postgres_server.url_of("finished"), "finished", EmulatorSettings(port=0), patch
        ) as place:
            yield carried(place, folder, patch)


def carried(place: Place, folder: Path, patch: pytest.MonkeyPatch) -> Finished:
    """By the sensors' requests alone, each executed as on another machine: no file of the last run is there."""
    expected = make_sample(folder / "export", applications=130, documents=110)
    place.write(
        KEY,
        {
            "kind": "csv_folder",
            "path": str(folder / "export"),
            "system": "sample",
            "timezone": "Europe/London",
        },
    )
    finished = Finished(place, expected)
    for _ in range(200):
        for sensor in ("migration_discovery", "job_poller"):
            for request in place.tick(sensor).run_requests or []:
                machine = folder / f"machine-{len(finished.runs)}"
                patch.setenv("BATCH_PIPELINE_HOME", str(machine))
                result = place.execute(str(request.job_name), str(request.partition_key))
                finished.runs.append((str(request.job_name), result))
                look(finished, machine / KEY)
        with place.ledger() as ledger:
            state = ledger.sql.execute("select state from migration").fetchone()
            if state is not None and state["state"] == "erased":
                finished.keep_metadata()
                return finished
    raise AssertionError(f"not at its end after {[(job, run.success) for job, run in finished.runs]}")


def look(finished: Finished, work: Path) -> None:
    """What the files hold before they are erased: their columns, and words no log may repeat."""
    for name in ("attachments", "documents", "shards"):
        if (work / f"{name}.parquet").exists():
            finished.frames[name] = dict(pl.read_parquet_schema(work / f"{name}.parquet"))
    people = work / "canonical" / "person.parquet"
    if people.exists():
        table = pl.read_parquet(people)
        finished.personal |= set(table["full_name"].drop_nulls()) | set(table["family_name"].drop_nulls())
        for emails in table["emails"].drop_nulls():
            finished.personal |= {email["norm"] for email in json.loads(emails)}
        attachments = pl.read_parquet(work / "canonical" / "attachment.parquet")
        finished.personal |= set(attachments["file_name"].drop_nulls())


def test_the_sensors_requests_alone_carry_it_to_its_end(finished: Finished) -> None:
    assert all(run.success for _, run in finished.runs)
    jobs_run = [job for job, _ in finished.runs]
    assert (jobs_run[0], jobs_run[-1]) == ("send_migration", "land_migration")
    assert finished.metadata["imported_records"]["dagster/row_count"] > 1000


def test_every_blocking_check_shows_its_two_sides(finished: Finished) -> None:
    evaluations = [check for _, run in finished.runs for check in run.get_asset_check_evaluations()]
    assert {check.check_name for check in evaluations} == {
        "attachments_close",
        "files_close",
        "documents_close",
        "requests_close",
        "answers_close",
        "parsed_close",
        "final_answers_close",
        "links_close",
        "objects_close",
    }
    sides: dict[str, Any] = {}
    for check in evaluations:
        assert check.passed
        assert check.metadata["left"].value == check.metadata["right"].value
        sides[check.check_name] = check.metadata["left"].value
    assert sides["attachments_close"] == finished.expected.attachments
    assert sides["links_close"] == finished.expected.links
    assert sides["objects_close"] > 0


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_asset_says_how_long_it_took(finished: Finished, name: str) -> None:
    assert finished.metadata[name]["seconds"] >= 0


def test_figures_a_person_needs_are_on_the_assets(finished: Finished) -> None:
    raw = finished.metadata["raw_cvs"]
    assert raw["bytes"] > 10_000
    assert {
        record.data["what"]: record.data["count"] for record in raw["states"].records
    } == finished.expected.states
    job = finished.metadata["bedrock_jobs"]
    assert (job["jobs in the ledger"], job["records"]) == (1, 104)
    assert job["shards of"] == dg.AssetKey("jsonl_shards")
    costs = finished.metadata["cost_report"]
    assert costs["total cost, USD"] > 0


def test_the_summary_reads_without_knowing_the_system(finished: Finished) -> None:
    said = finished.metadata["cost_report"]["summary"]
    assert f"**{finished.expected.applications} applications**" in said
    assert "CVs became structured profiles" in said
    assert "USD" in said


def test_files_that_became_no_cv_are_shown_by_reason_with_ids_and_advice(finished: Finished) -> None:
    deduped = finished.metadata["deduped_cvs"]
    shown = [record.data for record in deduped["quarantined"].records]
    reasons: Counter[str] = Counter()
    for row in shown:
        reasons[str(row["reason"])] += len(str(row["attachments"]).split(", "))
    assert reasons == {
        reason: count for reason, count in finished.expected.reasons.items() if reason in QUARANTINE
    }
    assert all(row["attachments"] and row["what to do"] for row in shown)
    absent = [record.data for record in finished.metadata["raw_cvs"]["files not here"].records]
    states = Counter(str(row["state"]) for row in absent)
    assert states == {s: n for s, n in finished.expected.states.items() if s != "fetched"}
    said = finished.metadata["cost_report"]["summary"]
    assert "What did not become a CV" in said
    assert f"`{absent[0]['attachment']}`" in said


def test_columns_shown_are_those_of_the_files(finished: Finished) -> None:
    shown = {
        spec.key.to_user_string(): spec.metadata["dagster/column_schema"]
        for spec in definitions.resolve_all_asset_specs()
        if "dagster/column_schema" in spec.metadata
    }
    for asset, file in (("raw_cvs", "attachments"), ("deduped_cvs", "documents"), ("jsonl_shards", "shards")):
        columns = [(column.name, column.type) for column in shown[asset].columns]
        assert columns == [(name, str(kind).lower()) for name, kind in finished.frames[file].items()]
    tagged = {column.name for schema in shown.values() for column in schema.columns if "pii" in column.tags}
    assert tagged == PERSONAL


def test_jobs_are_loaded_from_the_ledger_in_another_run_and_process_of_no_memory(finished: Finished) -> None:
    """`land_migration` is a run of its own: what it got of `bedrock_jobs` came from the ledger."""
    place = finished.place
    loaded = definitions.get_repository_def().load_asset_value(
        "bedrock_jobs", partition_key=KEY, instance=place.instance
    )
    with place.ledger() as ledger:
        assert loaded == [job for job in jobs.jobs(ledger, KEY) if job.state != "void"]
    assert [job.state for job in loaded] == ["erased"]


def test_an_asset_that_reports_other_jobs_than_the_ledger_holds_is_refused(finished: Finished) -> None:
    place = finished.place
    manager = JobLedgerIOManager(
        migrations=MigrationsResource(s3=MigrationBucket(), bedrock=BedrockResource())
    )
    context = dg.build_output_context(asset_key="bedrock_jobs", partition_key=KEY)
    with place.ledger() as ledger:
        held = jobs.jobs(ledger, KEY)
    manager.handle_output(context, held)
    with pytest.raises(LedgerConflict, match="reports 0 jobs, the ledger holds 1"):
        manager.handle_output(context, [])


def test_materialising_every_asset_of_a_finished_migration_again_is_harmless(finished: Finished) -> None:
    place = finished.place
    rows, meter = finished.rows(), place.meter()
    for name in NAMES:
        result = dg.materialize(
            ASSETS,
            selection=[name],
            partition_key=KEY,
            instance=place.instance,
            resources=dict(definitions.resources or {}),
        )
        assert result.success, name
    assert finished.rows() == rows
    assert place.meter() == meter
    with place.ledger() as ledger:
        assert {job.state for job in jobs.jobs(ledger, KEY)} == {"erased"}
    assert not place.tick("job_poller").run_requests
    assert not place.tick("migration_discovery").run_requests


def test_nothing_dagster_stores_holds_a_name_an_address_a_file_name_or_a_word_of_a_cv(
    finished: Finished,
) -> None:
    """Event log, run storage, metadata, compute logs and values, byte by byte."""
    words = finished.personal | set(finished.expected.markers)
    assert len(words) > 300
    stored = [path for path in Path(finished.place.instance.root_directory).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in stored) > 100_000
    content = b"\n".join(path.read_bytes() for path in stored).lower()
    assert b"imported_records" in content
    assert [word for word in words if len(word) > 5 and word.lower().encode() in content] == []
    assert [
        word for word in words if len(word) > 5 and json.dumps(word)[1:-1].lower().encode() in content
    ] == []
    assert b"postgresql://" not in content
