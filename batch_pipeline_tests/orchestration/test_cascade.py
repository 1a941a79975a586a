"""The sensors alone carry a cascade to its end: no run fails on the way, whatever machine takes it."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterEventType

from batch_pipeline.local.emulator.rules import Limits, Rules
from batch_pipeline.local.emulator.settings import EmulatorSettings
from batch_pipeline.local.sample.customer import make_sample
from batch_pipeline_tests.orchestration.place import MODEL, Place, opened_place

pytestmark = pytest.mark.servers

KEY = "cascade"
CHEAP = "us.amazon.nova-lite-v1:0"
SMALLEST = {"min_records": 10}


@pytest.fixture
def place(
    tmp_path: Path,
    postgres_url: str,
    bucket: str,
    aws_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    settings = EmulatorSettings(port=0, rules=Rules(limits=Limits(min_records_per_job=10)))
    with opened_place(tmp_path, postgres_url, bucket, settings, monkeypatch) as made:
        export = tmp_path / "export"
        make_sample(export, applications=52, documents=40)
        source = {"kind": "csv_folder", "path": str(export), "system": "sample", "timezone": "UTC"}
        sections = {
            "provider": {"model": CHEAP, "quotas": SMALLEST},
            "cascade": [{"model": MODEL, "quotas": SMALLEST}],
        }
        made.write(KEY, source, sections)
        yield made


def carried(place: Place, patch: pytest.MonkeyPatch) -> list[tuple[str, dg.ExecuteInProcessResult]]:
    """Every run the sensors asked for until the end, each on a machine without the files of the last."""
    runs: list[tuple[str, dg.ExecuteInProcessResult]] = []
    for _ in range(300):
        for sensor in ("migration_discovery", "job_poller"):
            for request in place.tick(sensor).run_requests or []:
                patch.setenv("BATCH_PIPELINE_HOME", str(place.folder / f"machine-{len(runs)}"))
                runs.append((str(request.job_name), place.execute(str(request.job_name), KEY)))
        with place.ledger() as ledger:
            if ledger.sql.execute("select 1 from migration where state = 'erased'").fetchone():
                return runs
    raise AssertionError(f"not at its end after {[(job, run.success) for job, run in runs]}")


def values(place: Place, asset: str) -> dict[str, Any]:
    event = place.instance.get_latest_materialization_event(dg.AssetKey(asset))
    assert event is not None and event.asset_materialization is not None
    return {name: entry.value for name, entry in event.asset_materialization.metadata.items()}


@pytest.mark.parametrize("rate", [0.6, 0.1], ids=["a job of them", "fewer than a job"])
def test_the_sensors_carry_a_cascade_to_its_end(
    place: Place, monkeypatch: pytest.MonkeyPatch, rate: float
) -> None:
    place.faults(answers=[{"style": "truncated", "rate": rate, "models": ["amazon.nova-lite"]}])
    runs = carried(place, monkeypatch)
    assert [run.success for _, run in runs] == [True] * len(runs)
    names = [name for name, _ in runs]
    assert names[0] == "send_migration"
    assert names.count("land_migration") >= 2
    assert place.meter()["paid_more_than_once"] == {}

    first = next(run for name, run in runs if name == "land_migration")
    assert {check.passed for check in first.get_asset_check_evaluations()} == {True}
    assert "imported_records" not in {
        event.asset_key.to_user_string()
        for event in first.get_asset_materialization_events()
        if event.asset_key
    }
    [seen] = [
        event.asset_observation_data.asset_observation
        for event in first.all_events
        if event.event_type == DagsterEventType.ASSET_OBSERVATION
        and event.asset_key == dg.AssetKey("parsed_cvs")
    ]
    assert "owed to the next model" in seen.metadata

    with place.ledger() as ledger:
        rows = ledger.sql.execute("select tier, count(*) as n from document group by 1 order by 1").fetchall()
    at = {row["tier"]: row["n"] for row in rows}
    assert at[1] > 0
    models = {
        record.data["what"]: record.data["count"] for record in values(place, "parsed_cvs")["models"].records
    }
    assert models[MODEL] <= at[1]
    assert CHEAP in models
    by_model = {
        (record.data["model"], record.data["route"]): record.data["answers"]
        for record in values(place, "cost_report")["by model"].records
    }
    assert by_model[CHEAP, "batch"] + by_model.get((CHEAP, "on_demand"), 0) == sum(at.values())
    assert sum(count for (model, _), count in by_model.items() if model == MODEL) == at[1]
