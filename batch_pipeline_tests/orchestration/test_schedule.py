"""The off-peak schedule: every migration starts in its own night."""

from datetime import UTC, datetime

import pytest

from batch_pipeline.migration import Start
from batch_pipeline_tests.orchestration.place import Place

pytestmark = pytest.mark.servers

ZONES = {
    "berlin": "Europe/Berlin",
    "new-york": "America/New_York",
    "tokyo": "Asia/Tokyo",
    "kolkata": "Asia/Kolkata",
}


@pytest.mark.parametrize(
    ("zone", "utc", "inside"),
    [
        ("Europe/Berlin", "2026-07-01T17:59", False),  # 19:59 in summer
        ("Europe/Berlin", "2026-07-01T18:00", True),
        ("Europe/Berlin", "2026-12-01T18:30", False),  # 19:30 in winter
        ("Europe/Berlin", "2026-12-01T19:00", True),
        ("Europe/Berlin", "2026-12-02T04:59", True),  # after midnight, 5:59
        ("Europe/Berlin", "2026-12-02T05:00", False),
        ("America/New_York", "2026-12-02T00:59", False),
        ("America/New_York", "2026-12-02T01:00", True),
        ("Asia/Tokyo", "2026-12-01T11:00", True),
        ("Asia/Tokyo", "2026-12-01T21:00", False),
        ("Asia/Kolkata", "2026-12-01T14:00", False),  # 19:30
        ("Asia/Kolkata", "2026-12-01T14:30", True),
        ("Asia/Kolkata", "2026-12-02T00:30", False),  # 6:00
    ],
)
def test_the_window_is_kept_by_the_migrations_own_clock(zone: str, utc: str, inside: bool) -> None:
    start = Start(timezone=zone, from_hour=20, until_hour=6)
    assert start.contains(datetime.fromisoformat(utc).replace(tzinfo=UTC)) is inside


@pytest.mark.parametrize(
    ("hours", "hour", "inside"),
    [((9, 17), 8, False), ((9, 17), 9, True), ((9, 17), 17, False), ((0, 0), 13, True), ((23, 1), 0, True)],
)
def test_a_window_may_lie_in_the_day_over_midnight_or_be_all_day(
    hours: tuple[int, int], hour: int, inside: bool
) -> None:
    start = Start(from_hour=hours[0], until_hour=hours[1])
    assert start.contains(datetime(2026, 12, 1, hour, 15, tzinfo=UTC)) is inside


@pytest.fixture
def nights(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """What was just asked for is not asked for again while a test runs, however slow the machine."""
    monkeypatch.setenv("BATCH_PIPELINE_POLL_SECONDS", "60")
    return place


def test_each_zone_starts_in_its_own_night(nights: Place) -> None:
    for key, zone in ZONES.items():
        nights.write(key, when="off_peak", timezone=zone, from_hour=22, until_hour=4)
    nights.write("by-hand", when="by_hand")
    nights.know(*ZONES, "by-hand")
    assert nights.due("2026-12-01T12:00") == []
    assert nights.due("2026-12-01T13:00") == ["tokyo"]
    assert nights.due("2026-12-01T16:30") == ["kolkata"]
    assert nights.due("2026-12-01T21:00") == ["berlin"]
    assert nights.due("2026-12-02T03:30") == ["new-york"]


def test_the_next_tick_of_the_same_night_does_not_ask_again_at_once(nights: Place) -> None:
    nights.write("tokyo", when="off_peak", timezone="Asia/Tokyo", from_hour=22, until_hour=4)
    nights.know("tokyo")
    assert nights.due("2026-12-01T13:00") == ["tokyo"]
    assert nights.due("2026-12-01T13:00") == []


def test_a_broken_file_keeps_no_other_from_starting(nights: Place) -> None:
    (nights.migrations / "broken.yaml").write_text("tenant: [")
    nights.write("tokyo", when="off_peak", timezone="Asia/Tokyo", from_hour=22, until_hour=4)
    nights.know("tokyo")
    assert nights.due("2026-12-01T13:00") == ["tokyo"]
