"""Files of live systems: links that die, downloads cut short, and files that are never asked for."""

from pathlib import Path

import polars as pl
import pytest
from starlette.requests import Request
from starlette.responses import Response

from batch_pipeline.documents.attachments import fetch_attachments
from batch_pipeline.errors import TransientError
from batch_pipeline_tests.sources.api_server import (
    Fault,
    System,
    chunked,
    cut_short,
    failing,
    passing,
)
from batch_pipeline_tests.sources.exports import notices, table
from batch_pipeline_tests.sources.live_systems import (
    FILLED,
    PDF,
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
from batch_pipeline_tests.sources.payload_exports import NOW


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


def test_files_of_another_host_are_not_held_up_by_the_limits_of_the_api(
    system: System, tmp_path: Path
) -> None:
    fill_v3(system)
    waits: list[float] = []
    read(system, "v3", tmp_path, waits, requests_per_second=1, concurrency=1)
    lists = sum(count for name, count in system.asked.items() if not name.startswith("storage/"))
    assert len([one for one in waits if one > 0]) < lists


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
