"""Keys of live systems: where they go, where they never go, and what is said when one is refused."""

import logging
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from batch_pipeline.errors import ConfigurationError, SourceError
from batch_pipeline_tests.sources.api_server import (
    KEY,
    System,
    failing,
)
from batch_pipeline_tests.sources.exports import notices
from batch_pipeline_tests.sources.live_systems import (
    FILLED,
    PEOPLE,
    STORED,
    every_system,
    files_of,
    fill_lever,
    fill_v1,
    fill_v3,
    read,
)


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
