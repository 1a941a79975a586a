"""One migration at two providers: by route, and by cascade. Each provider's fake is first once and second once."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from batch_pipeline.local.sample.cv_text import Line
from batch_pipeline.local.sample.files import scan
from batch_pipeline.provider_settings import BATCH_ALONE, Kind
from batch_pipeline.stages.headless import checks
from batch_pipeline_tests.providers.fakes.core import Core
from batch_pipeline_tests.providers.fakes.skin import Skin, running
from batch_pipeline_tests.providers.fakes.table import SKINS
from batch_pipeline_tests.providers.migration_place import CVS, Place

pytestmark = pytest.mark.servers
# Each provider is first once, and before the next one that takes single calls.
KINDS: list[Kind] = [kind for kind in SKINS if kind not in BATCH_ALONE]
PAIRS = [
    (
        kind,
        next(
            other for other in KINDS[KINDS.index(kind) + 1 if kind in KINDS else 0 :] + KINDS if other != kind
        ),
    )
    for kind in SKINS
]


@dataclass
class Two:
    """A place at the first provider, and the second one."""

    place: Place
    skin: Skin
    core: Core
    section: dict[str, Any]

    @property
    def models(self) -> tuple[str, str]:
        """Two providers may sell one model."""
        return self.place.skin.section("http://x")["model"], self.section["model"]

    def answers(self, key: str) -> list[tuple[str, int, str, int]]:
        """(model, place in the cascade, route, answers) of the cost report."""
        [row] = self.place.query("select report from batch_ledger.migration where key = %s", key)
        names = ("model", "cascade", "route", "answers")
        return [tuple(one[name] for name in names) for one in row["report"]["cost_by_model"]]

    def tiers(self, key: str) -> list[tuple[int, str]]:
        """(tier, account's kind) of every job, oldest first."""
        rows = self.place.query(
            "select tier, split_part(account, ':', 1) as kind from batch_ledger.job where migration = %s order by id",
            key,
        )
        return [(row["tier"], row["kind"]) for row in rows]


@pytest.fixture(params=PAIRS, ids="-then-".join)
def two(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Two]:
    first, second = request.param
    skins: dict[Kind, Skin] = {kind: SKINS[kind]() for kind in (first, second)}
    one, other = Core(), Core()
    with running(skins[first], one) as url, running(skins[second], other) as url_of_other:
        place = Place(skins[first], one, url, tmp_path, postgres_url)
        for name, value in {**skins[second].environment(url_of_other), **place.environment}.items():
            monkeypatch.setenv(name, value)
        yield Two(place, skins[second], other, skins[second].section(url_of_other))


def with_a_scan(place: Place, key: str) -> None:
    """One more person, whose CV is a picture."""
    lines = [Line("Curriculum Vitae", "heading"), Line("Ada Example 99"), Line("Engineer")]
    path = place.folder / key / "files" / "99" / "cv.pdf"
    path.parent.mkdir(parents=True)
    path.write_bytes(scan(lines, "latin"))
    rows = {
        "candidates": ("99", "Ada", "Example 99", "c99@example.com", "", "2026-01-02 08:00", ""),
        "applications": ("99", "99", "1", "2026-01-02", "active", "Applied", "", ""),
        "attachments": ("99", "99", "99", "cv.pdf", "resume", "2026-01-02", "files/99/cv.pdf"),
    }
    for table, row in rows.items():
        with (place.folder / key / f"{table}.csv").open("a", newline="") as file:
            csv.writer(file).writerow(row)


def test_texts_go_to_one_provider_and_scans_to_another(two: Two) -> None:
    key = two.place.migration(on_demand={"provider": two.section})
    with_a_scan(two.place, key)
    assert two.place.run(key) == "done"
    assert (two.place.core.meter.creates, two.place.core.meter.single_calls) == (1, 0)
    assert (two.core.meter.creates, two.core.meter.single_calls) == (0, 1)
    batch, single = two.models
    assert two.answers(key) == [(batch, 0, "batch", CVS), (single, 0, "on_demand", 1)]
    read = two.place.markers(key)
    assert {application: read.get(application) for application in map(str, range(1, CVS + 1))} == {
        str(n): f"MARKER-{n:08X}" for n in range(1, CVS + 1)
    }


def test_what_one_provider_fails_to_answer_goes_to_the_next_in_a_job(two: Two) -> None:
    two.place.core.faults.useless_answers = 4
    key = two.place.migration(cascade=[two.section])
    assert two.place.run(key) == "done"
    two.place.assert_right(key)
    two.place.assert_billed_once()
    assert two.tiers(key) == [(0, two.place.skin.kind), (1, two.skin.kind)]
    assert sorted(two.core.meter.billed.values()) == [1] * 4
    assert two.skin.content_left(two.core) == []
    first, second = two.models
    assert two.answers(key) == [(first, 0, "batch", CVS), (second, 1, "batch", 4)]
    parsed = "select model, count(*) as n from recruiting.parsed_cv where tenant = %s group by 1"
    counts = Counter({first: CVS - 4}) + Counter({second: 4})
    assert {row["model"]: row["n"] for row in two.place.query(parsed, key)} == counts


def test_fewer_than_the_next_providers_smallest_job_are_single_calls_there(two: Two) -> None:
    two.place.core.faults.useless_answers = 2
    key = two.place.migration(cascade=[{**two.section, "quotas": {"min_records": 3}}])
    assert two.place.run(key) == "done"
    two.place.assert_right(key)
    assert (two.core.meter.creates, two.core.meter.single_calls) == (0, 2)
    assert two.place.core.meter.single_calls == 0


def test_a_lost_answer_at_the_next_provider_is_one_job(two: Two) -> None:
    two.place.core.faults.useless_answers = 4
    two.core.faults.drop_after_accept = 1
    key = two.place.migration(cascade=[two.section])
    assert two.place.run(key) == "done"
    assert (two.place.core.meter.creates, two.core.meter.creates) == (1, 1)
    two.place.assert_right(key)


def test_looking_first_looks_at_every_model(two: Two) -> None:
    key = two.place.migration(2, cascade=[two.section])
    with two.place.opened(key) as context:
        found = checks(context)
    assert [check for check in found if not check.passed] == []
    assert {check.subject.startswith("cascade 1, ") for check in found} == {True, False}


def test_a_wrong_key_of_the_next_provider_is_found_before_anything_is_sent(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    if two.skin.kind == "vertex":
        pytest.skip("it is reached without a key here")
    key = two.place.migration(2, cascade=[two.section])
    for name in two.skin.environment("http://x"):
        monkeypatch.setenv(name, "wrong")
    with two.place.opened(key) as context:
        failed = [check for check in checks(context) if not check.passed]
    assert all(check.subject.startswith("cascade 1, ") for check in failed)
    assert failed


def test_an_account_that_is_empty_at_the_next_provider_holds_what_is_owed_there(two: Two) -> None:
    two.place.core.faults.useless_answers = 4
    two.core.faults.credit_exhausted = True
    key = two.place.migration(cascade=[two.section])
    with pytest.raises(Exception, match="credit or budget is used up"):
        two.place.run(key)
    assert two.place.documents(key) == {"answered": CVS - 4, "owed": 4}
    two.core.faults.credit_exhausted = False
    two.place.resume(key)
    assert two.place.run(key) == "done"
    two.place.assert_right(key)
    two.place.assert_billed_once()
