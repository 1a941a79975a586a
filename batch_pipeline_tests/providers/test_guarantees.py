"""One contract, every provider: a whole small migration each, with one thing going wrong at the provider.

`make providers` prints it as a table. Fakes speak each provider's own protocol over HTTP
(`batch_pipeline_tests/providers/fakes/`); the ledger and the target are a real PostgreSQL.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from batch_pipeline.errors import AmbiguousRequest
from batch_pipeline.provider_settings import Kind
from batch_pipeline.providers.capabilities import CAPABILITIES
from batch_pipeline.stages.headless import checks
from batch_pipeline_tests.providers.fakes.core import Core, End
from batch_pipeline_tests.providers.fakes.skin import running
from batch_pipeline_tests.providers.fakes.table import SKINS
from batch_pipeline_tests.providers.migration_place import CVS, Place

pytestmark = pytest.mark.servers
ON_DEMAND = {"quotas": {"min_records": 100}}  # every CV is left under the minimum


@pytest.fixture(params=SKINS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    kind: Kind = request.param
    skin, core = SKINS[kind](), Core()
    with running(skin, core) as url:
        made = Place(skin, core, url, tmp_path, postgres_url)
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)  # adapters and the courier's process read their keys there
        yield made


def test_a_good_day(place: Place) -> None:
    key = place.migration()
    assert place.run(key) == "done"
    place.assert_right(key)
    place.assert_billed_once()
    assert place.core.meter.creates == 1
    assert place.statuses(key) == ["Completed"]


def test_what_cannot_be_deleted_is_said(place: Place) -> None:
    key = place.migration(2)
    place.run(key)
    with place.opened(key) as context:
        rows = context.ledger.sql.execute("select report from migration where key = %s", (key,)).fetchone()
    assert rows is not None
    erased = rows["report"]["erased"]
    assert (erased["listed"] - erased["deleted"], erased["left"]) == (0, 0)
    if CAPABILITIES[place.skin.kind].kept:
        assert erased["kept"]


def test_looking_first_costs_nothing(place: Place) -> None:
    key = place.migration(2)
    with place.opened(key) as context:
        found = checks(context)
    assert [check for check in found if not check.passed] == []
    assert place.core.meter.create_calls == place.core.meter.single_calls == 0


def test_several_shards_are_several_jobs(place: Place) -> None:
    key = place.migration(provider={"quotas": {"max_records_per_job": 2}})
    assert place.run(key) == "done"
    assert place.core.meter.creates == 3
    place.assert_right(key)
    place.assert_billed_once()


def test_a_process_killed_between_create_and_save_pays_once(place: Place) -> None:
    key = place.migration()
    with place.start(key) as run:
        place.core.faults.kill_after_accept = run.pid
        run.communicate(timeout=60)
    assert run.returncode == -9
    assert place.core.meter.creates == 1
    assert place.run(key) == "done"
    assert place.core.meter.creates == 1
    place.assert_right(key)
    place.assert_billed_once()


@pytest.mark.parametrize("fault", ["drop_after_accept", "error_after_accept"])
def test_a_lost_answer_is_one_job(place: Place, fault: str) -> None:
    setattr(place.core.faults, fault, 1)
    key = place.migration()
    assert place.run(key) == "done"
    assert place.core.meter.creates == 1
    place.assert_right(key)
    place.assert_billed_once()
    if CAPABILITIES[place.skin.kind].resend == "after_look_up":
        assert place.core.meter.create_calls == 1
        assert len(place.events(key, "job adopted")) == 1


def test_an_error_before_anything_began_is_sent_again_when_that_is_certain(place: Place) -> None:
    place.core.faults.error_before_accept = 1
    key = place.migration()
    assert place.run(key) == "done"
    assert (place.core.meter.creates, place.core.meter.create_calls) == (1, 2)
    place.assert_right(key)
    place.assert_billed_once()


@pytest.mark.parametrize("end", ["expired", "cancelled"])
@pytest.mark.parametrize("done", [0, 4])
def test_a_job_that_ended_early_is_kept_and_the_rest_goes_again(place: Place, end: End, done: int) -> None:
    place.core.faults.ends.append(end)
    place.core.faults.done_before_end = done
    key = place.migration()
    if end == "expired" and done and not CAPABILITIES[place.skin.kind].keeps_expired:
        _nothing_is_kept_of_it(place, key)
        return
    assert place.run(key) == "done"
    assert place.core.meter.creates == 2
    place.assert_right(key)
    place.assert_billed_once()
    attempts = place.query("select max(attempts) as n from batch_ledger.document where migration = %s", key)
    assert attempts == [{"n": 1}], "what was never begun is no attempt"


def _nothing_is_kept_of_it(place: Place, key: str) -> None:
    """What was done may be paid and cannot be had: a person is asked before it is asked and paid again."""
    said = place.held(key)
    assert "It may have been paid" in said
    assert place.core.meter.creates == 1
    place.resume(key)
    assert place.run(key) == "done"
    assert place.core.meter.creates == 2
    place.assert_right(key)


def test_a_job_refused_as_a_whole_holds_the_migration_and_goes_again(place: Place) -> None:
    place.core.faults.ends.append("failed")
    key = place.migration()
    said = place.held(key)
    whole = CAPABILITIES[place.skin.kind].fails_as_a_whole
    assert ("failed as a whole and cost nothing" if whole else f"all {CVS} records were refused") in said
    assert f"batch-pipeline resume {key}" in said
    assert place.core.meter.creates == 1
    place.resume(key, retry_failed=not whole)
    assert place.run(key) == "done"
    place.assert_right(key)
    place.assert_billed_once()


def test_errors_alone_hold_the_migration_before_the_next_job(place: Place) -> None:
    place.core.faults.refused_records = CVS
    key = place.migration()
    said = place.held(key)
    assert f"all {CVS} records were refused" in said
    assert "400" in said
    assert place.core.meter.creates == 1
    place.core.faults.refused_records = 0
    place.resume(key, retry_failed=True)
    assert place.run(key) == "done"
    place.assert_right(key)


def test_a_job_without_room_goes_again_later_and_asks_nobody(place: Place) -> None:
    """Where the cap is found by a job that failed, and not by create."""
    if place.skin.kind not in {"openai", "gemini", "vertex"}:
        pytest.skip("this provider refuses create itself where it has no room")
    place.core.faults.ends.append("failed")
    place.core.faults.failed_for_room = True
    key = place.migration()
    assert place.run(key) == "done"
    assert place.core.meter.creates == 2
    pauses = place.query(
        "select due_at - reserved_at >= interval '10 minutes' as later from batch_ledger.job where migration = %s "
        "order by id",
        key,
    )
    assert [row["later"] for row in pauses] == [False, True]
    assert place.query("select max(attempts) as n from batch_ledger.document where migration = %s", key) == [
        {"n": 1}
    ]
    place.assert_right(key)
    place.assert_billed_once()


def test_some_refused_records_fail_alone_with_their_reason(place: Place) -> None:
    place.core.faults.refused_records = 2
    key = place.migration()
    assert place.run(key) == "done"
    assert place.core.meter.creates == 1
    assert place.documents(key) == {"answered": CVS - 2, "provider_error": 2}


def test_busy_records_go_again(place: Place) -> None:
    place.core.faults.busy_records = 3
    key = place.migration()
    assert place.run(key) == "done"
    assert place.core.meter.creates == 2
    place.assert_right(key)
    place.assert_billed_once()


def test_unknown_and_doubled_ids_change_nothing(place: Place) -> None:
    place.core.faults.unknown_ids = 2
    place.core.faults.duplicate_ids = 3
    key = place.migration()
    assert place.run(key) == "done"
    assert place.oddities(key) == {"unknown record ids": 2, "duplicate record ids": 3}
    assert place.core.meter.creates == 1
    place.assert_right(key)
    place.assert_billed_once()


@pytest.mark.parametrize("fault", ["corrupt_lines", "truncated"])
def test_a_line_nobody_can_read_goes_again_alone(place: Place, fault: str) -> None:
    setattr(place.core.faults, fault, 1)
    key = place.migration()
    assert place.run_until_settled(key) == {"corrupt lines": 1}
    setattr(place.core.faults, fault, 0)
    assert place.run(key) == "done"
    place.assert_right(key)
    assert sorted(place.core.meter.billed.values()) == [1] * (CVS - 1) + [2]


def test_a_throttled_create_and_throttled_polls_are_waited_out(place: Place) -> None:
    place.core.faults.throttle_creates = 2
    place.core.faults.throttle_polls = 3
    key = place.migration()
    assert place.run(key) == "done"
    assert place.core.meter.creates == 1
    place.assert_right(key)
    place.assert_billed_once()


def test_an_empty_account_holds_the_migration_and_is_no_bad_input(place: Place) -> None:
    place.core.faults.credit_exhausted = True
    key = place.migration()
    with pytest.raises(Exception, match="credit or budget is used up"):
        place.run(key)
    assert "credit or budget is used up" in place.held(key)
    assert place.core.meter.creates == 0
    assert place.documents(key) == {"owed": CVS}
    place.core.faults.credit_exhausted = False
    place.resume(key)
    assert place.run(key) == "done"
    place.assert_right(key)
    place.assert_billed_once()


def test_records_refused_for_an_empty_account_are_owed_again(place: Place) -> None:
    place.core.faults.unpaid_records = 4
    key = place.migration()
    assert "credit or budget is used up" in place.held(key)
    assert place.documents(key) == {"answered": CVS - 4, "owed": 4}
    place.resume(key)
    assert place.run(key) == "done"
    place.assert_right(key)
    place.assert_billed_once()


def test_results_that_are_gone_are_not_paid_again_before_somebody_said_so(place: Place) -> None:
    place.core.faults.results_gone = True
    key = place.migration()
    said = place.held(key)
    assert "does not hold any more" in said
    assert place.core.meter.creates == 1
    place.core.faults.results_gone = False
    place.resume(key)
    assert place.run(key) == "done"
    assert place.core.meter.creates == 1, "they were there after all, and are read"
    place.assert_right(key)
    place.assert_billed_once()


def test_what_is_under_the_minimum_is_answered_by_single_calls(place: Place) -> None:
    key = place.migration(2, provider=ON_DEMAND)
    assert place.run(key) == "done"
    assert (place.core.meter.creates, place.core.meter.single_calls) == (0, 2)
    place.assert_right(key, 2)


def test_a_single_call_whose_answer_is_lost_is_a_persons_choice(place: Place) -> None:
    place.core.faults.drop_answer = 1
    key = place.migration(2, provider=ON_DEMAND)
    with pytest.raises(AmbiguousRequest, match="1 on-demand calls left"):
        place.run(key)
    with pytest.raises(AmbiguousRequest):
        place.run(key)
    assert place.core.meter.single_calls == 2


def test_single_calls_stop_where_the_account_is_empty(place: Place) -> None:
    place.core.faults.credit_exhausted = True
    key = place.migration(2, provider=ON_DEMAND)
    assert "credit or budget is used up" in place.held(key)
    assert place.documents(key) == {"owed": 2}
    place.core.faults.credit_exhausted = False
    place.resume(key)
    assert place.run(key) == "done"
    place.assert_right(key, 2)
