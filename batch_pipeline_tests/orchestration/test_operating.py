"""The operators' jobs: pause, cancel and resume a migration from the UI."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from batch_pipeline.definitions import definitions
from batch_pipeline.ledger import migrations
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases
from batch_pipeline_tests.orchestration.jobs_in_ledger import started_jobs
from batch_pipeline_tests.orchestration.place import Place, opened_place

pytestmark = pytest.mark.servers


@pytest.fixture
def at_work(
    tmp_path: Path,
    postgres_url: str,
    bucket: str,
    aws_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Place]:
    """A migration with two jobs that are in no hurry."""
    settings = EmulatorSettings(port=0, clock="manual", phases=Phases(submitted=10))
    with opened_place(tmp_path, postgres_url, bucket, settings, monkeypatch) as place:
        started_jobs(place, bucket, ["acme-2026"], each=2)
        yield place


def operate(place: Place, job: str, **config: object) -> dg.ExecuteInProcessResult:
    op = job.removesuffix("_migration")
    return definitions.resolve_job_def(job).execute_in_process(
        instance=place.instance, run_config={"ops": {op: {"config": config}}}, raise_on_error=False
    )


def step_of(place: Place) -> str:
    with place.ledger() as ledger:
        return migrations.standing(ledger, "acme-2026").next_step()


def test_pause_waits_for_what_is_under_way_and_sends_nothing_more(at_work: Place) -> None:
    assert operate(at_work, "pause_migration", migration="acme-2026").success
    assert step_of(at_work) == "wait"
    at_work.emulator.emulator.advance(60)
    assert [run.job_name for run in at_work.tick("job_poller").run_requests or []] == ["settle_jobs"]
    with at_work.ledger() as ledger:
        ledger.sql.execute("update job set state = 'collected' where state = 'ended'")
    assert step_of(at_work) == "paused"
    assert not at_work.tick("job_poller").run_requests


def test_cancel_asks_the_provider_to_stop_every_job(at_work: Place) -> None:
    assert operate(at_work, "cancel_migration", migration="acme-2026").success
    at_work.emulator.emulator.advance(60)
    at_work.tick("job_poller")
    with at_work.ledger() as ledger:
        found = {row["provider_status"] for row in ledger.sql.execute("select provider_status from job")}
    assert found == {"Stopped"}


def test_resume_goes_on_where_it_was(at_work: Place) -> None:
    operate(at_work, "pause_migration", migration="acme-2026")
    with at_work.ledger() as ledger:
        migrations.hold(ledger, "acme-2026", "refused")
    assert step_of(at_work) == "held"
    assert operate(at_work, "resume_migration", migration="acme-2026").success
    assert step_of(at_work) == "wait"
    with at_work.ledger() as ledger:
        assert migrations.standing(ledger, "acme-2026").state == "open"


def test_it_shows_on_the_page_of_the_jobs(at_work: Place) -> None:
    result = operate(at_work, "pause_migration", migration="acme-2026")
    [observation] = result.get_asset_observation_events()
    assert observation.asset_observation_data.asset_observation.partition == "acme-2026"


@pytest.mark.parametrize("job", ["pause_migration", "cancel_migration", "resume_migration"])
def test_an_unknown_migration_is_refused_by_words(at_work: Place, job: str) -> None:
    result = operate(at_work, job, migration="nobody")
    assert not result.success
    [failure] = [event for event in result.all_events if event.is_step_failure]
    data = failure.step_failure_data.user_failure_data
    assert data is not None and "there is no nobody.yaml" in str(data.description)


@pytest.mark.parametrize("job", ["pause_migration", "cancel_migration", "resume_migration"])
def test_a_finished_migration_cannot_be_stopped_or_resumed(at_work: Place, job: str) -> None:
    with at_work.ledger() as ledger:
        ledger.sql.execute("update migration set state = 'imported'")
        ledger.sql.execute("update migration set state = 'erased'")
    assert not operate(at_work, job, migration="acme-2026").success
    assert step_of(at_work) == "done"
