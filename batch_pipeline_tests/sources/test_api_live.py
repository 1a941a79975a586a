"""Reading live systems over HTTP: paging, limits, failures, links that die, readings cut short."""

import json
import logging
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from batch_pipeline.documents.attachments import fetch_attachments
from batch_pipeline.errors import ConfigurationError, SourceError, TransientError
from batch_pipeline.sources.base import SourceReport
from batch_pipeline.sources.canonical import ENTITIES, Entity
from batch_pipeline.sources.payload_source import FILES, LISTED, PayloadSource
from batch_pipeline_tests.sources.api_server import (
    KEY,
    Fault,
    System,
    chunked,
    cut_short,
    failing,
    limited,
    passing,
    running,
)
from batch_pipeline_tests.sources.exports import notices, table
from batch_pipeline_tests.sources.payload_exports import NOW, read_payloads, source, write_lists

PDF = b"%PDF-1.4\n" + b"x" * 500
T0 = 1_768_205_100_000
PEOPLE = 5


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[System]:
    monkeypatch.setenv("ATS_KEY", KEY)
    monkeypatch.setenv("ATS_CLIENT", "client:secret")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with running(System(files={f"f{number}.pdf": PDF + bytes([number]) for number in range(PEOPLE)})) as made:
        yield made


def fill_v1(system: System) -> None:
    applications = [
        {
            "id": 10 + number,
            "candidate_id": number,
            "prospect": False,
            "applied_at": "2026-01-02T08:00:00Z",
            "status": "active",
            "jobs": [{"id": 100, "name": "Engineer"}],
            "attachments": [
                {
                    "filename": "CV.pdf",
                    "type": "resume",
                    "created_at": "2026-01-02T08:00:00Z",
                    "url": f"{{{{f{number}.pdf}}}}",
                }
            ],
        }
        for number in range(PEOPLE)
    ]
    system.lists |= {
        "jobs": [{"id": 100, "name": "Engineer", "status": "open"}],
        "candidates": [{"id": number, "first_name": f"P{number}"} for number in range(PEOPLE)],
        "applications": applications,
        "scorecards": [{"id": 1, "application_id": 10, "overall_recommendation": "yes"}],
        "offers": [],
        "job_stages": [{"id": 50, "name": "Applied", "job_id": 100, "priority": 0}],
    }
    body = "P was moved into Offer for Engineer on 01/19/2026 by Rae"
    for number in range(PEOPLE):
        activity = {"id": 7, "created_at": "2026-01-19T10:00:00Z", "body": body}
        system.owned[f"candidates/{number}/activity_feed"] = {"notes": [], "activities": [activity]}
        system.objects[f"applications/{10 + number}"] = applications[number]


def fill_v3(system: System) -> None:
    system.lists |= {
        "jobs": [{"id": 100, "name": "Engineer", "status": "open"}],
        "candidates": [{"id": number, "first_name": f"P{number}"} for number in range(PEOPLE)],
        "applications": [
            {"id": 10 + number, "candidate_id": number, "job_id": 100, "status": "in_process"}
            for number in range(PEOPLE)
        ],
        "job_interview_stages": [{"id": 51, "name": "Offer"}],
        "application_stages": [
            {"id": number, "application_id": 10 + number, "job_interview_stage_id": 51, "entered_at": at}
            for number, at in enumerate([*["2026-01-19T10:00:00Z"] * 4, None])
        ],
        "notes": [{"id": 1, "candidate_id": 1, "body": "x", "visibility": "admin_only", "type": "NOTE"}],
        "scorecards": [{"id": 5, "application_id": 10, "candidate_rating": "yes", "status": "complete"}],
        "scorecard_questions": [{"id": 1, "question": "Notice?", "answer_type": "text"}],
        "scorecard_question_answers": [
            {"id": number, "scorecard_id": 5, "scorecard_question_id": 1, "answer": f"{number} months"}
            for number in range(3)
        ],
        "attachments": [
            {
                "id": 20 + number,
                "application_id": 10 + number,
                "candidate_id": number,
                "filename": "CV.pdf",
                "type": "resume",
                "url": f"{{{{f{number}.pdf}}}}",
            }
            for number in range(PEOPLE)
        ],
    }


def fill_lever(system: System) -> None:
    names = [f"o{number}" for number in range(PEOPLE)]
    system.lists |= {
        "postings": [{"id": "p1", "text": "Engineer", "state": "published"}],
        "stages": [{"id": "s1", "text": "Applied"}],
        "archive_reasons": [],
        "users": [],
        "opportunities": [
            {
                "id": name,
                "contact": f"c-{name}",
                "tags": ["Berlin"],
                "name": f"P {name}",
                "createdAt": T0,
                "applications": [{"id": f"a-{name}", "posting": "p1", "createdAt": T0}],
                "stageChanges": [{"toStageId": "s1", "updatedAt": T0}],
            }
            for name in names
        ],
    }
    for number, name in enumerate(names):
        listed = {
            "id": f"f{number}.pdf",
            "createdAt": T0,
            "file": {"name": "CV.pdf", "downloadUrl": "https://x"},
        }
        system.owned |= {
            f"opportunities/{name}/resumes": [listed],
            f"opportunities/{name}/files": [],
            f"opportunities/{name}/notes": [
                {"id": f"n{number}{one}", "text": "x", "secret": True, "createdAt": T0} for one in range(3)
            ],
            f"opportunities/{name}/feedback": [],
            f"opportunities/{name}/offers": [{"id": f"offer-{name}", "status": "sent", "sentAt": T0}],
        }
        system.objects[f"opportunities/{name}/resumes/f{number}.pdf"] = listed


def fill_workable(system: System) -> None:
    system.lists |= {"jobs": [{"shortcode": "J1", "title": "Engineer", "state": "published"}]}
    system.lists["stages"] = [{"slug": "applied", "name": "Applied", "kind": "applied", "position": 1}]
    system.lists["candidates"] = [
        {
            "id": f"w{number}",
            "name": f"P{number}",
            "email": f"p{number}@example.com",
            "job": {"shortcode": "J1"},
        }
        for number in range(PEOPLE)
    ]
    for number, one in enumerate(system.lists["candidates"]):
        answers = [{"question": {"body": "Why?"}, "answer": {"body": "Because"}}]
        detail = {"resume_url": f"{{{{f{number}.pdf}}}}", "tags": ["Berlin"], "answers": answers}
        system.objects[f"candidates/{one['id']}"] = one | detail
        system.owned[f"candidates/{one['id']}/activities"] = [
            {
                "id": str(step),
                "action": "moved",
                "stage_name": f"S{step}",
                "created_at": "2026-01-05T00:00:00Z",
            }
            for step in range(3)
        ]


FILLED = {"v1": fill_v1, "v3": fill_v3, "lever": fill_lever, "workable": fill_workable}
KINDS = {"v1": "greenhouse", "v3": "greenhouse", "lever": "lever", "workable": "workable"}
CANDIDATES = {"v1": "candidates", "v3": "candidates", "lever": "opportunities", "workable": "candidates"}
STORED = {"v1": "storage/f1.pdf", "v3": "storage/f1.pdf", "workable": "storage/f1.pdf"} | {
    "lever": "opportunities/o1/resumes/f1.pdf/download"
}
PATHS = {"v1": "v1", "v3": "v3", "lever": "lever", "workable": "spi"}
every_system = pytest.mark.parametrize("which", sorted(FILLED))


def live(
    system: System,
    which: str,
    now: datetime = NOW,
    wait: Callable[[float], None] = time.sleep,
    **api: Any,
) -> PayloadSource:
    given = {"base_url": f"{system.base}/{PATHS[which]}", "key_env": "ATS_KEY", "requests_per_second": 1000}
    if which in ("v1", "v3"):
        given["version"] = which
    if which == "v3":
        given |= {"key_env": "ATS_CLIENT", "token_url": f"{system.base}/auth/token"}
    if which == "lever":
        given["page_size"] = 2
    return source(KINDS[which], now, wait, api=given | api)


def read(
    system: System, which: str, into: Path, waits: list[float] | None = None, **api: Any
) -> SourceReport:
    wait = time.sleep if waits is None else waits.append
    return live(system, which, wait=wait, **api).read(into)


def files_of(into: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in (into / FILES).rglob("*") if path.is_file())


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


@pytest.mark.parametrize("which", ["v1", "v3", "workable"])
def test_a_link_that_died_is_listed_again_and_fetched_once_more(
    system: System, tmp_path: Path, which: str
) -> None:
    FILLED[which](system)

    def sign_anew(_: Request) -> Response:
        system.valid_signature = "2"
        return Response("<Error><Code>AccessDenied</Code></Error>", 403)

    system.faults["storage/f1.pdf"] = [sign_anew]
    report = read(system, which, tmp_path)
    assert files_of(tmp_path) == sorted(system.files.values())
    assert not notices(report, "download_failed")
    assert system.asked["storage/f1.pdf"] == 2


@pytest.mark.parametrize("which", ["v1", "v3", "workable"])
def test_a_link_refused_twice_is_a_failed_download_and_no_document(
    system: System, tmp_path: Path, which: str
) -> None:
    FILLED[which](system)
    system.faults["storage/f1.pdf"] = [failing(403)] * 9
    report = read(system, which, tmp_path)
    rows = table(tmp_path, "attachment")
    assert sorted(rows["state"]) == ["download_failed", *["pending"] * 4]
    failed = rows.filter(state="download_failed").row(0, named=True)
    notice = notices(report, "download_failed")[0]
    assert (notice.detail, notice.count) == (f"link_refused: {failed['source_id']}", 1)
    assert (failed["http_status"], failed["fetched_at"]) == (403, None)
    assert system.asked["storage/f1.pdf"] == 2
    hashed = fetch_attachments(rows, tmp_path / "spool", 1).filter(state="download_failed")
    assert hashed.select("document_md5", "reason").rows() == [(None, "link_refused")]


@every_system
def test_a_download_cut_short_is_fetched_again_and_leaves_no_half(
    system: System, tmp_path: Path, which: str
) -> None:
    FILLED[which](system)
    system.faults[STORED[which]] = [cut_short(PDF[:40]), failing(503), chunked(system.files["f1.pdf"])]
    read(system, which, tmp_path, [])
    assert files_of(tmp_path) == sorted(system.files.values())


@every_system
def test_a_download_that_never_comes_whole_fails_alone(system: System, tmp_path: Path, which: str) -> None:
    FILLED[which](system)
    system.faults[STORED[which]] = [cut_short(PDF[:40])] * 6
    report = read(system, which, tmp_path, [])
    assert sorted(table(tmp_path, "attachment")["state"]) == ["download_failed", *["pending"] * 4]
    assert notices(report, "download_failed")[0].detail.startswith("server_failed: ")
    assert len(files_of(tmp_path)) == PEOPLE - 1


@every_system
@pytest.mark.parametrize("fault", [passing, chunked(PDF * 3)])
def test_a_file_over_the_limit_is_not_kept(system: System, tmp_path: Path, which: str, fault: Fault) -> None:
    FILLED[which](system)
    system.files["f1.pdf"] = PDF * 3
    system.faults[STORED[which]] = [fault]
    report = read(system, which, tmp_path, max_file_bytes=len(PDF) + 1)
    assert notices(report, "download_failed")[0].detail.startswith("too_large: ")
    failed = table(tmp_path, "attachment").filter(state="download_failed")
    assert failed["state_reason"].to_list() == ["too_large"]
    assert len(files_of(tmp_path)) == PEOPLE - 1


@every_system
def test_a_file_the_system_lost_is_missing(system: System, tmp_path: Path, which: str) -> None:
    FILLED[which](system)
    del system.files["f1.pdf"]
    report = read(system, which, tmp_path)
    assert sorted(table(tmp_path, "attachment")["state"]) == ["missing", *["pending"] * 4]
    assert notices(report, "missing_files")[0].detail.startswith("gone: ")
    assert table(tmp_path, "attachment")["state_reason"].null_count() == PEOPLE


def test_the_files_of_erased_people_are_never_asked_for(system: System, tmp_path: Path) -> None:
    fill_lever(system)
    people = system.lists["opportunities"]
    people[0]["isAnonymized"] = True
    people[1]["dataProtection"] = {"store": {"allowed": True, "expiresAt": 1_700_000_000_000}}
    read(system, "lever", tmp_path)
    assert sorted(table(tmp_path, "attachment")["state"]) == [*["erased"] * 2, *["pending"] * 3]
    asked = [name for name in system.asked if name.endswith("/download")]
    assert not [name for name in asked if "/o0/" in name or "/o1/" in name]
    assert len(asked) == 3


@every_system
def test_the_files_of_people_erased_on_request_are_never_asked_for(
    system: System, tmp_path: Path, which: str
) -> None:
    FILLED[which](system)
    read(system, which, tmp_path / "first")
    named = table(tmp_path / "first", "person").filter(pl.col("full_name").str.ends_with("1"))
    person = named["source_id"].item()
    system.asked.clear()
    live(system, which, wait=lambda _: None).read(tmp_path / "second", {person: NOW})
    assert sorted(table(tmp_path / "second", "attachment")["state"]) == ["erased", *["pending"] * 4]
    kept = table(tmp_path / "second", "person").filter(source_id=person).to_dicts()[0]
    assert (kept["erased_at"], kept["full_name"], kept["raw"]) == (NOW, None, None)
    assert STORED[which] not in system.asked
    assert sum("pdf" in name for name in system.asked) == PEOPLE - 1


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


def test_files_of_another_host_are_not_held_up_by_the_limits_of_the_api(
    system: System, tmp_path: Path
) -> None:
    fill_v3(system)
    waits: list[float] = []
    read(system, "v3", tmp_path, waits, requests_per_second=1, concurrency=1)
    lists = sum(count for name, count in system.asked.items() if not name.startswith("storage/"))
    assert len([one for one in waits if one > 0]) < lists


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


def test_a_server_that_gives_no_file_at_all_stops_the_reading(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    system.lists["applications"] = [
        {**system.lists["applications"][0], "id": number} for number in range(100, 125)
    ]
    system.faults["storage/f0.pdf"] = [failing(500)] * 1000
    with pytest.raises(TransientError, match="none of 25 attachments"):
        read(system, "v1", tmp_path, [])
    system.faults.clear()
    asked = system.asked["applications"]
    assert read(system, "v1", tmp_path).counts["attachment"] == 25
    assert system.asked["applications"] == asked  # the lists were kept


@pytest.mark.parametrize("which", ["v1", "v3", "workable"])
def test_the_key_stays_with_the_api(system: System, tmp_path: Path, which: str) -> None:
    FILLED[which](system)
    read(system, which, tmp_path)
    for name, seen in system.authorised.items():
        assert (None in seen) == name.startswith("storage/"), name
        assert len(seen) == 1


def test_the_key_does_not_follow_a_redirect_to_another_host(system: System, tmp_path: Path) -> None:
    fill_lever(system)
    system.faults[STORED["lever"]] = [lambda _: RedirectResponse(system.link("f1.pdf"))]
    read(system, "lever", tmp_path)
    assert system.authorised["storage/f1.pdf"] == {None}
    assert files_of(tmp_path) == sorted(system.files.values())


def test_a_next_page_on_another_host_is_refused(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    elsewhere = system.base.replace("127.0.0.1", "localhost")
    link = {"Link": f'<{elsewhere}/v1/candidates?page=2>; rel="next"'}
    system.faults["candidates"] = [lambda _: JSONResponse([], headers=link)]
    with pytest.raises(SourceError, match="another host"):
        read(system, "v1", tmp_path)


def test_a_page_that_names_itself_as_the_next_ends_the_reading(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    link = {"Link": f'<{system.base}/v1/candidates?page=2>; rel="next"'}
    system.faults["candidates"] = [lambda _: JSONResponse([], headers=link)] * 9
    with pytest.raises(SourceError, match="names itself"):
        read(system, "v1", tmp_path)


@every_system
def test_no_link_and_no_key_is_ever_logged(
    system: System, tmp_path: Path, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    FILLED[which](system)
    system.faults[STORED[which]] = [failing(403)] * 3
    with caplog.at_level(logging.DEBUG):
        report = read(system, which, tmp_path)
    said = caplog.text + str(report.notices)
    assert "sig=" not in said and "http" not in said and KEY not in said and "secret" not in said


@every_system
def test_a_key_that_is_refused_names_its_variable(
    system: System, tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    FILLED[which](system)
    name = "ATS_CLIENT" if which == "v3" else "ATS_KEY"
    monkeypatch.setenv(name, "wrong:wrong")
    with pytest.raises(ConfigurationError, match=name) as caught:
        read(system, which, tmp_path)
    assert "wrong:wrong" not in str(caught.value)
    monkeypatch.delenv(name)
    with pytest.raises(ConfigurationError, match=name):
        read(system, which, tmp_path)


def test_a_list_the_key_may_not_read_is_named_and_can_be_left_out(system: System, tmp_path: Path) -> None:
    fill_v1(system)
    system.faults["scorecards"] = [failing(403)]
    with pytest.raises(ConfigurationError, match=r"scorecards.*source\.api\.without"):
        read(system, "v1", tmp_path)
    report = read(system, "v1", tmp_path, without=["scorecards"])
    assert report.counts["evaluation"] == 0
    assert [one.table for one in notices(report, "no_table")] == ["scorecards"]
    with pytest.raises(ConfigurationError, match=r"without.*tea"):
        read(system, "v1", tmp_path, without=["tea"])


def test_a_token_that_ends_is_renewed(system: System, tmp_path: Path) -> None:
    fill_v3(system)

    def revoke(_: Request) -> Response:
        system.tokens += 1
        return JSONResponse({}, 401)

    system.faults["applications"] = [revoke]
    assert read(system, "v3", tmp_path).counts["application"] == PEOPLE
    assert system.tokens == 3  # one asked for, one revoked, one renewed


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
