"""The discovery sensor: files become partitions, and those that may start are started."""

import itertools
import time

import pytest
from dagster import DagsterRunStatus

from batch_pipeline.ledger import migrations
from batch_pipeline_tests.orchestration.place import Place

pytestmark = pytest.mark.servers


def keys_of(place: Place) -> set[str]:
    return set(place.instance.get_dynamic_partitions("migrations"))


def test_new_files_become_partitions_and_those_at_once_start_in_the_same_tick(place: Place) -> None:
    place.write("acme-2026")
    place.write("globex-2026", when="by_hand")
    place.write("initech-2026", when="off_peak")
    tick = place.tick("migration_discovery")
    assert keys_of(place) == {"acme-2026", "globex-2026", "initech-2026"}
    [request] = tick.run_requests or []
    assert (request.partition_key, request.job_name) == ("acme-2026", "send_migration")
    assert request.tags["dagster/partition"] == "acme-2026"


def test_a_tick_without_runs_says_what_it_added(place: Place) -> None:
    place.write("globex-2026", when="by_hand")
    assert place.tick("migration_discovery").skip_message == "1 migrations; added globex-2026"
    assert place.tick("migration_discovery").skip_message == "1 migrations"


def test_an_unchanged_tick_writes_nothing_and_a_changed_file_is_noted(place: Place) -> None:
    def row() -> object:
        with place.ledger() as ledger:
            return ledger.sql.execute("select xmin::text, file_digest, updated_at from migration").fetchone()

    place.write("globex-2026", when="by_hand")
    place.tick("migration_discovery")
    first = row()
    place.tick("migration_discovery")
    assert row() == first
    place.write("globex-2026", when="off_peak")
    place.tick("migration_discovery")
    assert row() != first


def test_a_broken_file_is_named_and_stops_no_other(place: Place) -> None:
    (place.migrations / "broken.yaml").write_text("tenant: [")
    (place.migrations / "wrong.yaml").write_text(
        "tenant: acme\nsource: {kind: csv_folder}\nprovider: {model: 7}\n"
    )
    (place.migrations / "No Key.yaml").write_text("tenant: acme\n")
    place.write("acme-2026", when="by_hand")
    said = place.tick("migration_discovery").skip_message or ""
    assert keys_of(place) == {"acme-2026"}
    assert "broken.yaml" in said
    assert "wrong.yaml: provider.model" in said
    assert "No Key.yaml: rename it" in said


def test_two_customers_under_one_key_are_refused_by_name(place: Place) -> None:
    place.write("acme-2026")
    with place.ledger() as ledger:
        migrations.record(ledger, "acme-2026", "another", "digest")
        migrations.mark_planned(ledger, "acme-2026")
    tick = place.tick("migration_discovery")
    assert not tick.run_requests
    assert "acme-2026 belongs to another customer" in (tick.skip_message or "")
    assert keys_of(place) == set()


@pytest.mark.parametrize(
    "status", [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.CANCELING]
)
def test_it_never_asks_while_a_run_is_unfinished(place: Place, status: DagsterRunStatus) -> None:
    place.write("acme-2026")
    place.know("acme-2026")
    place.run("acme-2026", status)
    assert not place.tick("migration_discovery").run_requests


def test_a_failed_run_is_asked_for_again_under_a_new_key_and_ever_later(place: Place) -> None:
    place.write("acme-2026")
    asked: list[tuple[str | None, float]] = []
    started = time.monotonic()
    while len(asked) < 3:
        asked += [
            (request.run_key, time.monotonic())
            for request in place.tick("migration_discovery").run_requests or []
        ]
        # its export is nowhere, so it fails; no run is left unfinished
        time.sleep(0.05)
        assert time.monotonic() - started < 120
    run_keys = [key for key, _ in asked]
    assert run_keys == [f"acme-2026:prepare:{number}" for number in (1, 2, 3)]
    pauses = [later - earlier for (_, earlier), (_, later) in itertools.pairwise(asked)]
    assert pauses[0] >= 0.2 and pauses[1] >= 0.4


def test_a_file_that_cannot_be_read_fails_the_run_with_words_and_without_a_traceback_of_data(
    place: Place,
) -> None:
    place.write("acme-2026")
    place.tick("migration_discovery")
    result = place.execute("send_migration", "acme-2026")
    assert not result.success
    [failure] = [event for event in result.all_events if event.is_step_failure]
    data = failure.step_failure_data.user_failure_data
    assert data is not None and data.description is not None
    assert "nowhere" in data.description
    assert "error" in data.metadata
