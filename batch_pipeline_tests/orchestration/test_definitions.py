"""What the code location shows before anything ran: names, links, words, and no secret."""

import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from batch_pipeline.definitions import definitions

ROOT = Path(__file__).resolve().parents[2]
FLOW = {
    "raw_cvs": set(),
    "deduped_cvs": {"raw_cvs"},
    "jsonl_shards": {"deduped_cvs"},
    "bedrock_jobs": {"jsonl_shards"},
    "on_demand_answers": {"bedrock_jobs"},
    "parsed_cvs": {"bedrock_jobs", "on_demand_answers"},
    "imported_records": {"parsed_cvs"},
    "erased_files": {"imported_records"},
    "cost_report": {"imported_records"},
}
SPECS = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}


def test_the_assets_are_the_flow() -> None:
    assert {
        name: {dep.asset_key.to_user_string() for dep in spec.deps} for name, spec in SPECS.items()
    } == FLOW


def test_one_group_one_owner_and_one_partition_for_all() -> None:
    """Several groups would open the graph as closed boxes."""
    assert {spec.group_name for spec in SPECS.values()} == {"migration"}
    assert {tuple(spec.owners) for spec in SPECS.values()} == {("team:migrations",)}
    partitions = {spec.partitions_def for spec in SPECS.values()}
    assert [
        definition.name for definition in partitions if isinstance(definition, dg.DynamicPartitionsDefinition)
    ] == ["migrations"]


def test_kinds_and_code_versions() -> None:
    assert {name: spec.kinds for name, spec in SPECS.items()} == {
        "raw_cvs": {"python", "polars"},
        "deduped_cvs": {"python", "polars"},
        "jsonl_shards": {"python", "json"},
        "bedrock_jobs": {"bedrock", "s3", "postgres"},
        "on_demand_answers": {"bedrock", "postgres"},
        "parsed_cvs": {"python", "pydantic"},
        "imported_records": {"postgres"},
        "erased_files": {"s3"},
        "cost_report": {"python"},
    }
    assert all(spec.code_version for spec in SPECS.values())
    assert "prompt" in str(SPECS["jsonl_shards"].code_version)
    assert "parser" in str(SPECS["parsed_cvs"].code_version)


@pytest.mark.parametrize("name", FLOW)
def test_each_asset_says_what_it_is_in_what_its_node_can_show_and_more_on_its_page(name: str) -> None:
    first, _, rest = (SPECS[name].description or "").partition("\n")
    assert 20 <= len(first) <= 52
    assert len(rest.split()) > 15


def test_jobs_sensors_and_schedule() -> None:
    repository = definitions.get_repository_def()
    jobs = {job.name: job for job in repository.get_all_jobs() if not job.name.startswith("__")}
    assert set(jobs) == {
        "send_migration",
        "settle_jobs",
        "land_migration",
        "pause_migration",
        "cancel_migration",
        "resume_migration",
    }
    assert all(job.description for job in jobs.values())
    assert {job.executor_def.name for job in jobs.values()} == {"in_process"}
    sensors = {sensor.name: sensor for sensor in repository.sensor_defs}
    assert set(sensors) == {"migration_discovery", "job_poller"}
    assert all(sensor.default_status == dg.DefaultSensorStatus.RUNNING for sensor in sensors.values())
    [schedule] = repository.schedule_defs
    assert (schedule.name, schedule.cron_schedule, schedule.execution_timezone) == (
        "off_peak",
        "*/30 * * * *",
        "UTC",
    )
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING


def test_every_check_blocks_what_comes_after() -> None:
    checks = [spec for asset in definitions.resolve_asset_graph().assets_defs for spec in asset.check_specs]
    assert len(checks) == 9
    assert all(check.blocking and check.description for check in checks)


_MEASURE = """
import sys, time, dagster
bare = time.process_time()
from batch_pipeline.definitions import definitions
definitions.get_repository_def()
whole = time.process_time()
heavy = "matplotlib lxml pypdfium2 PIL reportlab uvicorn starlette scipy pandas"
print(bare, whole, *[name for name in heavy.split() if name in sys.modules])
"""


def test_definitions_load_quickly_and_without_heavy_libraries() -> None:
    """boto3 comes with dagster-aws, whatever of it is used; everything else waits until it is needed."""
    said = subprocess.run(
        [sys.executable, "-c", _MEASURE], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    bare, whole = float(said[0]), float(said[1])
    assert said[2:] == []
    # dagster and dagster-aws alone are most of it: 2.6 CPU-s where dagster is 1.0
    assert whole < 4.5 * bare


def test_the_core_does_without_dagster() -> None:
    code = "import sys, batch_pipeline.stages.headless, batch_pipeline.cli; print('dagster' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_the_workspace_file_loads_and_neither_secret_nor_address_is_in_what_the_ui_is_given(
    tmp_path: Path,
) -> None:
    """In a process whose environment holds both, as a production code server's does."""
    secrets = {
        "DATABASE_URL": "postgresql://someone:sesame-password@sesame-host/sesame-database",
        "AWS_SECRET_ACCESS_KEY": "sesame-secret",
        "AWS_ACCESS_KEY_ID": "sesame-key",
        "BATCH_PIPELINE_HOME": str(tmp_path / "sesame-home"),
    }
    code = """
import dagster as dg
from dagster._core.remote_representation.external_data import RepositorySnap
from batch_pipeline.definitions import definitions
print(dg.serialize_value(RepositorySnap.from_def(definitions.get_repository_def())))
for job in definitions.get_repository_def().get_all_jobs():
    print(dg.serialize_value(job.get_job_snapshot()))
"""
    environment = {**os.environ, **secrets, "DAGSTER_DISABLE_TELEMETRY": "1"}
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert "bedrock_jobs" in shown
    assert "sesame" not in shown
    validated = subprocess.run(
        [
            str(Path(sys.executable).with_name("dagster")),
            "definitions",
            "validate",
            "-w",
            str(ROOT / "workspace.yaml"),
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert validated.returncode == 0, validated.stderr
    assert "sesame" not in validated.stdout + validated.stderr
