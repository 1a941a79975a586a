"""The poller: writes what changed, asks for what is needed, whatever ticks were lost before."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from batch_pipeline.ledger import migrations
from batch_pipeline.local.emulator.rules import Limits, Rules
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases
from batch_pipeline_tests.orchestration.jobs_in_ledger import started_jobs
from batch_pipeline_tests.orchestration.place import Place, opened_place

pytestmark = pytest.mark.servers

# Nothing happens until the clock is moved: 10 s to Validating, 10 s more to failure for want of input.
SETTINGS = EmulatorSettings(
    port=0,
    clock="manual",
    phases=Phases(submitted=10, validating=10),
    rules=Rules(limits=Limits(max_open_jobs_per_model=1000)),
)


@pytest.fixture
def held(
    tmp_path: Path,
    postgres_url: str,
    bucket: str,
    aws_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Place]:
    with opened_place(tmp_path, postgres_url, bucket, SETTINGS, monkeypatch) as place:
        yield place


def everything(place: Place) -> list[object]:
    """Every row of the ledger but the time of the last look."""
    with place.ledger() as ledger:
        return [
            *ledger.sql.execute(
                "select id, state, provider_status, counts, message, ended_at from job order by id"
            ),
            *ledger.sql.execute("select key, state, hold, launches, updated_at from migration order by key"),
            *ledger.sql.execute("select id, kind from event order by id"),
        ]


def statuses(place: Place) -> set[tuple[str, str]]:
    with place.ledger() as ledger:
        rows = ledger.sql.execute("select state, coalesce(provider_status, '') as status from job")
        return {(row["state"], row["status"]) for row in rows}


def test_an_observation_says_what_changed_and_only_when_something_did(held: Place, bucket: str) -> None:
    started_jobs(held, bucket, ["acme", "globex"], each=2)
    first = held.tick("job_poller")
    assert statuses(held) == {("running", "Submitted")}
    assert sorted(str(event.partition) for event in first.asset_events) == ["acme", "globex"]
    assert {str(event.metadata["jobs changed"].value) for event in first.asset_events} == {"2"}
    assert not held.tick("job_poller").asset_events
    held.emulator.emulator.advance(11)
    [one, two] = held.tick("job_poller").asset_events
    assert {one.metadata["statuses"].value, two.metadata["statuses"].value} == {"Validating"}


def test_an_unchanged_tick_writes_nothing(held: Place, bucket: str) -> None:
    started_jobs(held, bucket, ["acme"], each=2)
    held.tick("job_poller")
    before = everything(held)
    tick = held.tick("job_poller")
    assert everything(held) == before
    assert tick.skip_message == "2 open jobs, 2 asked, 0 changed, 0 ended"


def test_a_job_that_runs_for_most_of_a_day_stays_open_and_is_not_created_again(
    held: Place, bucket: str
) -> None:
    """F11: nothing here waits with a timeout of its own; the job's own deadline alone ends it."""
    started_jobs(held, bucket, ["acme"], each=1)
    held.faults(jobs={"hold": ["Submitted"]})
    for _ in range(4):
        held.emulator.emulator.advance(5 * 3600)
        assert not held.tick("job_poller").run_requests
    assert {state for state, _ in statuses(held)} == {"running"}
    assert len(held.emulator.emulator.store.jobs()) == 1
    held.emulator.emulator.advance(5 * 3600)
    [request] = held.tick("job_poller").run_requests or []
    assert (request.job_name, statuses(held)) == ("settle_jobs", {("ended", "Expired")})


def test_a_lost_cursor_and_lost_ticks_lose_no_work(held: Place, bucket: str) -> None:
    started_jobs(held, bucket, ["acme"], each=2)
    held.emulator.emulator.advance(60)
    first = held.tick("job_poller", cursor=None)
    assert statuses(held) == {("ended", "Failed")}
    assert [request.partition_key for request in first.run_requests or []] == ["acme"]
    # that tick's request never became a run: the next tick after the pause asks again, with another key
    deadline = time.monotonic() + 60
    while not (second := held.tick("job_poller", cursor="nonsense").run_requests):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert [request.job_name for request in second] == ["settle_jobs"]
    assert second[0].run_key != (first.run_requests or [])[0].run_key


def test_a_broken_file_does_not_make_its_account_be_asked_job_by_job(held: Place, bucket: str) -> None:
    started_jobs(held, bucket, ["aaa-broken", "acme", "globex"], each=2)
    (held.migrations / "aaa-broken.yaml").write_text("tenant: [")
    held.faults(api={"deny": ["GetModelInvocationJob"]})
    held.emulator.emulator.advance(60)
    tick = held.tick("job_poller")
    assert statuses(held) == {("ended", "Failed")}
    assert {"acme", "globex"} <= {str(request.partition_key) for request in tick.run_requests or []}


def test_an_account_in_trouble_does_not_starve_the_others(held: Place, bucket: str) -> None:
    started_jobs(held, bucket, ["acme", "globex"], each=2)
    with held.ledger() as ledger:
        ledger.sql.execute("update job set account = 'aaa:' || account where migration = 'acme'")
    held.faults(api={"internal_error_next": {"ListModelInvocationJobs": 5}})  # as often as it is tried
    held.emulator.emulator.advance(60)
    tick = held.tick("job_poller")
    assert [request.partition_key for request in tick.run_requests or []] == ["globex"]
    with held.ledger() as ledger:
        waiting = ledger.sql.execute("select distinct migration from job where state = 'accepted'").fetchall()
    assert [row["migration"] for row in waiting] == ["acme"]
    held.faults()
    assert "acme" in {request.partition_key for request in held.tick("job_poller").run_requests or []}


def test_a_provider_that_refuses_to_be_asked_leaves_the_tick_green_and_the_jobs_open(
    held: Place, bucket: str
) -> None:
    started_jobs(held, bucket, ["acme"], each=2)
    held.faults(api={"deny": ["ListModelInvocationJobs", "GetModelInvocationJob"]})
    held.emulator.emulator.advance(60)
    tick = held.tick("job_poller")
    assert "AccessDenied" in (tick.skip_message or "")
    assert statuses(held) == {("accepted", "")}
    held.faults()
    assert held.tick("job_poller").run_requests


def test_a_migration_nobody_began_is_left_alone_and_one_begun_by_hand_is_brought_on(
    held: Place, bucket: str
) -> None:
    held.write("by-hand", when="by_hand")
    held.tick("migration_discovery")
    assert not held.tick("job_poller").run_requests
    with held.ledger() as ledger:
        migrations.mark_planned(ledger, "by-hand")
    [request] = held.tick("job_poller").run_requests or []
    assert request.job_name == "land_migration"


def test_held_and_paused_migrations_get_no_runs(held: Place, bucket: str) -> None:
    for key in ("held", "paused"):
        held.write(key)
    with held.ledger() as ledger:
        for key in ("held", "paused"):
            migrations.record(ledger, key, key, "digest")
        migrations.hold(ledger, "held", "refused")
        migrations.set_state(ledger, "paused", "paused")
    held.know("held", "paused")
    assert not held.tick("job_poller").run_requests
    assert not held.tick("migration_discovery").run_requests


def test_500_jobs_of_50_migrations_are_polled_in_one_tick_under_ten_seconds(held: Place, bucket: str) -> None:
    """With 100 ms a call: only list calls, by pages, can do that."""
    started_jobs(held, bucket, [f"customer-{number:02}" for number in range(50)], each=10)
    held.faults(api={"latency_seconds": {"ListModelInvocationJobs": 0.1, "GetModelInvocationJob": 0.1}})
    held.emulator.emulator.advance(60)
    started = time.monotonic()
    tick = held.tick("job_poller")
    took = time.monotonic() - started
    assert statuses(held) == {("ended", "Failed")}
    assert len(tick.run_requests or []) == 50
    assert took < 10
