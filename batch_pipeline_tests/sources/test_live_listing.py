"""Reading live systems over HTTP: pages, limits, failures, readings cut short."""

import json
import multiprocessing
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from batch_pipeline.documents.attachments import fetch_attachments
from batch_pipeline.errors import SourceError, TransientError
from batch_pipeline.sources.canonical import ENTITIES, Entity
from batch_pipeline.sources.payload_source import LISTED
from batch_pipeline_tests.sources.api_server import (
    System,
    cut_short,
    failing,
    limited,
    passing,
    running,
)
from batch_pipeline_tests.sources.exports import notices, table
from batch_pipeline_tests.sources.live_systems import (
    CANDIDATES,
    FILLED,
    KINDS,
    PEOPLE,
    STORED,
    every_system,
    files_of,
    fill_lever,
    fill_v1,
    fill_v3,
    live,
    read,
)
from batch_pipeline_tests.sources.payload_exports import NOW, read_payloads, source, write_lists


@every_system
def test_every_page_and_every_file_comes(system: System, tmp_path: Path, which: str) -> None:
    FILLED[which](system)
    report = read(system, which, tmp_path)
    moves = {"v1": PEOPLE, "v3": PEOPLE - 1, "lever": PEOPLE, "workable": 3 * PEOPLE}
    assert report.counts["person"] == report.counts["application"] == report.counts["attachment"] == PEOPLE
    assert report.counts["stage_move"] == moves[which]
    named: tuple[Entity, ...] = ("stage", "tag", "offer", "question_answer")
    assert [report.counts[entity] for entity in named] == {
        "v1": [1, 0, 0, 0],
        "v3": [1, 0, 0, 0],
        "lever": [1, PEOPLE, PEOPLE, 0],
        "workable": [1, PEOPLE, 0, PEOPLE],
    }[which]
    assert report.counts["note"] == {"lever": 3 * PEOPLE, "v3": 1}.get(which, 0)
    if which == "v3":  # answers come from a list of their own, in pages
        items = table(tmp_path, "evaluation")["items"][0]
        assert [item["answer"] for item in json.loads(items)] == ["0 months", "1 months", "2 months"]
    assert files_of(tmp_path) == sorted(system.files.values())
    hashed = fetch_attachments(table(tmp_path, "attachment"), tmp_path / "spool", 1)
    assert hashed["state"].to_list() == ["fetched"] * PEOPLE
    assert hashed["http_status"].to_list() == [200] * PEOPLE
    assert hashed["fetched_at"].null_count() == 0
    assert notices(report, "snapshot")[0].detail.startswith("listed from 2026-11-30T00:00:00Z")
    assert not notices(report, "download_failed")
    assert not (tmp_path / LISTED).exists()  # payloads hold links: gone once the tables are written


def test_the_pages_a_list_states_are_compared_with_those_that_came(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    report = read(system, "v1", tmp_path)
    totals = {one.what: (one.stated, one.read) for one in report.totals}
    assert totals == {f"pages of {name}": (3, 3) for name in ("applications", "candidates")}


@every_system
def test_a_live_reading_gives_the_rows_of_saved_payloads(system: System, tmp_path: Path, which: str) -> None:
    FILLED[which](system)
    read(system, which, tmp_path / "live")
    lists = dict(system.lists)
    owned: dict[str, Any] = {}
    for path, content in system.owned.items():
        _, owner, name = path.split("/")
        owned[f"{name}__{owner}"] = {"activities": content} if which == "workable" else content
        if which == "lever":
            owned[f"{name}__{owner}"] = {"data": content}
    if which == "workable":
        lists["candidates"] = [system.objects[f"candidates/{one['id']}"] for one in lists["candidates"]]
        for number, one in enumerate(lists["candidates"]):
            one["resume_url"] = system.link(f"f{number}.pdf")
    folder = write_lists(tmp_path / "saved", **lists, **owned)
    read_payloads(KINDS[which], folder, tmp_path / "out")
    for entity in ENTITIES:
        left, right = (
            table(tmp_path / place, entity)
            .drop("local_path", "state", "fetched_at", "http_status", strict=False)
            .sort("source_id")
            for place in ("live", "out")
        )
        assert left.equals(right), entity


@every_system
@pytest.mark.parametrize("told", [7, "date", None])
def test_a_limit_is_waited_for_as_long_as_it_says(
    system: System, tmp_path: Path, which: str, told: int | str | None
) -> None:
    FILLED[which](system)
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    system.faults[CANDIDATES[which]] = [limited(later if told == "date" else told)] * 2
    waits: list[float] = []
    report = read(system, which, tmp_path, waits)
    assert report.counts["person"] == PEOPLE
    long = [one for one in waits if one > 5]
    expected = {7: 7, "date": 19, None: 10}[told]
    assert len(long) == 2 and all(abs(one - expected) < 2 for one in long)


def test_a_window_that_is_used_up_is_waited_for_before_it_is_refused(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "6"}
    system.faults["jobs"] = [lambda _: JSONResponse(system.lists["jobs"], headers=headers)]
    waits: list[float] = []
    read(system, "v1", tmp_path, waits)
    assert max(waits) == pytest.approx(6, abs=0.5)
    assert system.asked["jobs"] == 1


@every_system
def test_failures_that_pass_are_tried_again_with_jitter(system: System, tmp_path: Path, which: str) -> None:
    FILLED[which](system)
    system.faults[CANDIDATES[which]] = [failing(500), failing(502), failing(503), cut_short(b"[")]
    waits: list[float] = []
    assert read(system, which, tmp_path, waits).counts["person"] == PEOPLE
    backoffs = [one for one in waits if one > 0.02]
    assert len(set(backoffs)) == len(backoffs)
    assert all(one <= 8 for one in backoffs)


@every_system
def test_a_reading_cut_short_goes_on_where_it_was(system: System, tmp_path: Path, which: str) -> None:
    FILLED[which](system)
    name = CANDIDATES[which]
    system.faults[name] = [passing, *[failing(500)] * 6]
    with pytest.raises(TransientError, match="go on later"):
        read(system, which, tmp_path, [])
    before = dict(system.asked)
    report = read(system, which, tmp_path)
    assert report.counts["person"] == PEOPLE
    assert system.asked[name] == before[name] + 2  # the first of three pages was kept
    assert all(system.asked[one] == before[one] for one in ("jobs", "postings") if one in before)


@every_system
def test_a_cursor_that_died_meanwhile_begins_its_list_anew(
    system: System, tmp_path: Path, which: str
) -> None:
    FILLED[which](system)
    name = CANDIDATES[which]
    system.faults[name] = [passing, *[failing(500)] * 6, failing(422)]
    with pytest.raises(TransientError):
        read(system, which, tmp_path, [])
    report = read(system, which, tmp_path)
    assert report.counts["person"] == PEOPLE
    assert not notices(report, "duplicate_rows")


def test_a_reading_of_last_week_is_not_gone_on_with(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    system.faults["applications"] = [failing(500)] * 6
    with pytest.raises(TransientError):
        live(system, "v1", NOW - timedelta(days=7), wait=lambda _: None).read(tmp_path)
    asked = system.asked["candidates"]
    report = read(system, "v1", tmp_path)
    assert system.asked["candidates"] == 2 * asked
    assert "from 2026-11-30" in notices(report, "snapshot")[0].detail


@every_system
def test_a_second_reading_lists_again_and_fetches_only_what_is_new(
    system: System, tmp_path: Path, which: str
) -> None:
    FILLED[which](system)
    read(system, which, tmp_path)
    first = dict(system.asked)
    came = table(tmp_path, "attachment")["fetched_at"].to_list()
    system.lists[CANDIDATES[which]][0]["name"] = "Changed"
    read(system, which, tmp_path)
    assert system.asked[STORED[which]] == first[STORED[which]] == 1
    assert table(tmp_path, "attachment")["fetched_at"].to_list() == came  # no row changes for that
    assert system.asked[CANDIDATES[which]] == 2 * first[CANDIDATES[which]]


def test_confidential_candidacies_are_listed_and_private(system: System, tmp_path: Path) -> None:
    fill_lever(system)
    for row in (system.lists["opportunities"][0], system.lists["postings"][0]):
        row["confidentiality"] = "confidential"
    report = read(system, "lever", tmp_path)
    assert (report.counts["application"], report.counts["job"]) == (PEOPLE, 1)
    assert table(tmp_path, "person").filter(source_id="c-o0")["is_private"].to_list() == [True]
    assert table(tmp_path, "job")["confidential"].to_list() == [True]


def test_another_account_never_gets_what_the_first_one_left(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    system.faults["scorecards"] = [failing(500)] * 6
    with pytest.raises(TransientError):
        read(system, "v1", tmp_path, [])
    fill_v3(other := System(files={f"f{number}.pdf": b"%PDF-other" for number in range(PEOPLE)}))
    with running(other):
        assert read(other, "v3", tmp_path).counts["person"] == PEOPLE
    assert files_of(tmp_path) == [b"%PDF-other"] * PEOPLE


def read_until_killed(system_base: str, into: str) -> None:
    given = {"base_url": f"{system_base}/v1", "key_env": "ATS_KEY", "version": "v1"}
    source("greenhouse", api=given | {"requests_per_second": 1000, "concurrency": 1}).read(Path(into))


def test_a_killed_reading_goes_on_and_fetches_nothing_twice(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    reached, release = threading.Event(), threading.Event()

    def hold(_: Request) -> None:
        reached.set()
        release.wait(20)

    system.faults["storage/f3.pdf"] = [hold]
    process = multiprocessing.get_context("spawn").Process(
        target=read_until_killed, args=(system.base, str(tmp_path))
    )
    process.start()
    assert reached.wait(30)
    process.kill()
    process.join()
    release.set()
    asked = dict(system.asked)
    report = read(system, "v1", tmp_path)
    assert report.counts["attachment"] == PEOPLE
    assert files_of(tmp_path) == sorted(system.files.values())
    assert all(system.asked[name] == asked[name] for name in ("candidates", "storage/f0.pdf"))
    assert system.asked["storage/f3.pdf"] == 2


def test_a_page_that_names_itself_as_the_next_ends_the_reading(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    link = {"Link": f'<{system.base}/v1/candidates?page=2>; rel="next"'}
    system.faults["candidates"] = [lambda _: JSONResponse([], headers=link)] * 9
    with pytest.raises(SourceError, match="names itself"):
        read(system, "v1", tmp_path)


def test_a_candidate_deleted_while_listing_is_counted(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    del system.owned["candidates/3/activity_feed"]
    report = read(system, "v1", tmp_path)
    assert [(one.table, one.count) for one in notices(report, "vanished")] == [("activity_feed", 1)]
    assert report.counts["stage_move"] == PEOPLE - 1


def test_a_cursor_travels_alone(system: System, tmp_path: Path) -> None:
    fill_v3(system)
    read(system, "v3", tmp_path)
    following = [one for one in system.queries if "cursor=" in one]
    assert following and all("&" not in one for one in following)
