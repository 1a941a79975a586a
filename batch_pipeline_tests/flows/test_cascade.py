"""What one model fails to answer goes to the next: each is paid once at each, and seen in what it cost."""

from collections.abc import Iterator
from typing import Any

import pytest

from batch_pipeline_tests.flows.bench import Bench, Finished, assert_paid_once, assert_right
from batch_pipeline_tests.flows.test_erased_person import GONE, someone, traces
from batch_pipeline_tests.providers.fakes.core import Core
from batch_pipeline_tests.providers.fakes.openai import OpenAISkin
from batch_pipeline_tests.providers.fakes.skin import running

pytestmark = pytest.mark.servers
LITE = "us.amazon.nova-lite-v1:0"
HAIKU = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
MICRO = "us.amazon.nova-micro-v1:0"
TEXTS, SCANS = 38, 2
SMALLEST = {"min_records": 10}


def cascade(bench: Bench, *models: str, **sections: Any) -> tuple[str, Any]:
    """A migration whose first model is cheap, and the ones after it."""
    later = [{"kind": "bedrock", "model": model, "quotas": SMALLEST} for model in models or (HAIKU,)]
    return bench.small(provider={"model": LITE}, cascade=later, **sections)


def half(style: str, *models: str, rate: float = 0.5) -> dict[str, Any]:
    return {"style": style, "rate": rate, "models": list(models or ("amazon.nova-lite",))}


def jobs(bench: Bench, key: str) -> list[tuple[int, str, int, str]]:
    rows = bench.query(
        "select tier, model, records, provider_status from batch_ledger.job where migration = %s "
        "and state <> 'void' order by id",
        key,
    )
    return [(row["tier"], row["model"], row["records"], row["provider_status"]) for row in rows]


def tiers(bench: Bench, key: str) -> dict[int, int]:
    rows = bench.query(
        "select tier, count(*) as n from batch_ledger.document where migration = %s group by 1", key
    )
    return {row["tier"]: row["n"] for row in rows}


def parsed_by(bench: Bench, key: str) -> dict[str, int]:
    rows = bench.query(
        "select model, count(*) as n from recruiting.parsed_cv where tenant = %s group by 1", key
    )
    return {row["model"]: row["n"] for row in rows}


def risen(bench: Bench, key: str) -> dict[tuple[int, str], int]:
    rows = bench.query(
        "select from_tier, reason, count(*) as n from batch_ledger.escalation where migration = %s group by 1, 2",
        key,
    )
    return {(row["from_tier"], row["reason"]): row["n"] for row in rows}


def answers_by_model(bench: Bench, key: str) -> dict[tuple[str, str], int]:
    [row] = bench.query("select report from batch_ledger.migration where key = %s", key)
    return {(one["model"], one["route"]): one["answers"] for one in row["report"]["cost_by_model"]}


def done(finished: Finished) -> Finished:
    assert finished.code == 0, finished.said
    return finished


def test_what_the_cheap_model_cuts_off_is_answered_by_the_next(at_once: Bench) -> None:
    key, expected = cascade(at_once)
    at_once.faults(answers=[half("truncated")])
    said = done(at_once.run(key)).said
    (_, _, first, _), (tier, model, second, status) = jobs(at_once, key)
    assert (first, tier, model, status) == (TEXTS, 1, HAIKU, "Completed")
    assert 10 <= second < TEXTS
    up = tiers(at_once, key)[1]
    assert risen(at_once, key) == {(0, "truncated"): up}
    assert at_once.documents(key) == {"answered": TEXTS + SCANS}
    assert parsed_by(at_once, key)[HAIKU] == up
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)
    answers = answers_by_model(at_once, key)
    assert answers[LITE, "batch"] == TEXTS
    assert answers[HAIKU, "batch"] == second
    assert answers.get((HAIKU, "on_demand"), 0) == up - second
    for words in (f"parsed by {HAIKU}", f"left to the next by {LITE}: truncated", "cost by model"):
        assert words in said


@pytest.mark.parametrize("style", ["refused", "filtered", "empty"])
def test_every_answer_that_cannot_be_used_goes_on(at_once: Bench, style: str) -> None:
    key, expected = cascade(at_once)
    at_once.faults(answers=[half(style)])
    done(at_once.run(key))
    assert risen(at_once, key)
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_what_is_said_of_the_document_itself_goes_nowhere(at_once: Bench) -> None:
    """The sample holds files that are no CVs to a model; nothing else is wrong."""
    key, expected = cascade(at_once)
    done(at_once.run(key))
    assert risen(at_once, key) == {}
    assert set(tiers(at_once, key)) == {0}
    assert [tier for tier, *_ in jobs(at_once, key)] == [0]
    assert_right(at_once, key, expected)


def test_fewer_than_the_next_models_smallest_job_go_one_by_one(at_once: Bench) -> None:
    key, expected = cascade(at_once)
    at_once.faults(answers=[half("truncated", rate=0.15)])
    done(at_once.run(key))
    assert [tier for tier, *_ in jobs(at_once, key)] == [0]
    up = tiers(at_once, key)[1]
    assert 0 < up < 10
    assert answers_by_model(at_once, key)[HAIKU, "on_demand"] == up
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_records_refused_as_bad_input_go_on_and_denied_ones_do_not(at_once: Bench) -> None:
    key, expected = cascade(at_once)
    at_once.faults(records=[{"code": 400, "rate": 0.5, "models": ["amazon.nova-lite"]}])
    done(at_once.run(key))
    assert set(risen(at_once, key)) == {(0, "provider_error")}
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)
    key, _ = cascade(at_once)
    at_once.faults(records=[{"code": 403, "rate": 0.5, "plane": "batch", "models": ["amazon.nova-lite"]}])
    done(at_once.run(key))
    assert risen(at_once, key) == {}
    assert at_once.documents(key)["failed"]


def test_a_cascade_of_three_asks_each_about_what_the_one_before_left(at_once: Bench) -> None:
    key, expected = cascade(at_once, MICRO, HAIKU)
    # the second model is asked in the first one's words, so its faults are drawn anew
    at_once.faults(answers=[half("empty"), half("truncated", "amazon.nova-micro", rate=0.9)])
    done(at_once.run(key))
    assert set(tiers(at_once, key)) >= {0, 2}
    assert {tier for tier, _ in risen(at_once, key)} == {0, 1}
    assert_right(at_once, key, expected)
    assert max(at_once.paid(key).values()) <= 3


def test_what_the_last_model_fails_to_answer_has_failed_with_its_reason(at_once: Bench) -> None:
    key, _ = cascade(at_once)
    at_once.faults(answers=[half("truncated"), half("refused", "anthropic")])
    done(at_once.run(key))
    up = tiers(at_once, key)[1]
    outcomes = at_once.outcomes(key)
    assert outcomes.get("truncated", 0) == 0
    assert 0 < sum(count for what, count in outcomes.items() if what in {"refused", "no_json"}) <= up
    assert_paid_once(at_once)


def test_attempts_start_anew_at_the_next_model(at_once: Bench) -> None:
    """Two attempts each: the first meets a passing error at either model."""
    key, expected = cascade(at_once, limits={"attempts": 2})
    busy = {"code": 429, "times": 1, "plane": "batch", "rate": 0.9}
    at_once.faults(
        answers=[half("truncated")],
        records=[{**busy, "models": ["amazon.nova-lite"]}, {**busy, "models": ["anthropic"]}],
    )
    done(at_once.run(key))
    assert at_once.documents(key) == {"answered": TEXTS + SCANS}
    most = "select max(attempts) as n from batch_ledger.document where migration = %s and tier = 1"
    assert at_once.query(most, key) == [{"n": 2}]
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_a_first_model_that_answers_nothing_of_use_is_asked_about_first(at_once: Bench) -> None:
    """A setting gone wrong must not send everything to the dearer model."""
    key, expected = cascade(at_once)
    at_once.faults(answers=[half("truncated", rate=1)])
    held = at_once.run(key)
    assert held.code == 3
    said = " ".join(held.said.split())
    assert f"none of {TEXTS + SCANS} answers of {LITE} could be used" in said
    assert f"batch-pipeline resume {key}" in said
    assert [tier for tier, *_ in jobs(at_once, key)] == [0]
    assert at_once.command("resume", key).code == 0
    done(at_once.run(key))
    assert tiers(at_once, key) == {1: TEXTS + SCANS}
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_another_machine_carries_a_cascade_on(at_once: Bench) -> None:
    key, expected = cascade(at_once)
    at_once.faults(answers=[half("truncated")], jobs={"hold": ["Scheduled"]})
    with at_once.start("run", key) as run:
        at_once.wait_for(lambda: len(at_once.jobs(key)) == 1)
        at_once.faults(answers=[half("truncated")])
        at_once.wait_for(lambda: bool(risen(at_once, key)))
        run.kill()
        run.communicate()
    at_once.forget_files(key)
    done(at_once.run(key))
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_a_section_of_the_cascade_is_not_taken_away_while_documents_are_at_it(at_once: Bench) -> None:
    key, expected = cascade(at_once)
    at_once.faults(answers=[half("truncated")])
    with at_once.start("run", key) as run:
        at_once.wait_for(lambda: bool(risen(at_once, key)))
        run.kill()
        run.communicate()
    export, _ = at_once.sample(TEXTS + SCANS)
    first = {"model": LITE, "quotas": SMALLEST}
    at_once.write(key, export, provider=first)
    refused = at_once.run(key)
    assert refused.code == 2
    assert "documents of migration" in refused.said
    at_once.write(key, export, provider=first, cascade=[{"model": HAIKU, "quotas": SMALLEST}])
    done(at_once.run(key))
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_two_launchers_carry_a_cascade_to_one_end(at_once: Bench) -> None:
    key, expected = cascade(at_once)
    at_once.faults(answers=[half("truncated")])
    with at_once.start("run", key) as one, at_once.start("run", key) as two:
        said = [launcher.communicate(timeout=120)[0] for launcher in (one, two)]
    assert (one.returncode, two.returncode) == (0, 0), said
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


@pytest.fixture
def elsewhere() -> Iterator[tuple[Core, dict[str, Any], dict[str, str]]]:
    """Another provider than Bedrock: its fake, its section of a migration file, its variables."""
    skin, core = OpenAISkin(), Core()
    with running(skin, core) as url:
        yield core, skin.section(url), dict(skin.environment(url))


def test_bedrock_and_another_provider_share_a_migration_by_route(
    at_once: Bench, elsewhere: tuple[Core, dict[str, Any], dict[str, str]]
) -> None:
    """Texts to a small model on Bedrock, scans to a model that sees at OpenAI."""
    core, section, environment = elsewhere
    key, expected = at_once.small(provider={"model": LITE}, on_demand={"provider": section})
    done(at_once.run(key, **environment))
    assert (core.meter.creates, core.meter.single_calls) == (0, SCANS)
    assert at_once.meter()["on_demand"]["requests"] == 0
    assert answers_by_model(at_once, key) == {
        (LITE, "batch"): TEXTS,
        (section["model"], "on_demand"): SCANS,
    }
    assert_right(at_once, key, expected)


def test_a_cascade_goes_from_bedrock_to_another_provider_and_leaves_nothing_at_either(
    at_once: Bench, elsewhere: tuple[Core, dict[str, Any], dict[str, str]]
) -> None:
    core, section, environment = elsewhere
    key, expected = at_once.small(provider={"model": LITE}, cascade=[section])
    at_once.faults(answers=[half("truncated")])
    done(at_once.run(key, **environment))
    (_, _, first, _), (tier, model, second, _) = jobs(at_once, key)
    assert (first, tier, model) == (TEXTS, 1, section["model"])
    assert sorted(core.meter.billed.values()) == [1] * second
    assert core.files == {}
    [row] = at_once.query("select report from batch_ledger.migration where key = %s", key)
    assert any("batch records" in kept for kept in row["report"]["erased"]["kept"])
    assert_right(at_once, key, expected)
    assert_paid_once(at_once)


def test_a_person_erased_while_the_next_model_is_asked_has_no_answer_imported(at_once: Bench) -> None:
    twin, _ = cascade(at_once)
    done(at_once.run(twin))
    person, name, md5s = someone(at_once, twin)
    key, _ = cascade(at_once)
    cut = half("truncated", rate=0.97)
    at_once.faults(answers=[cut])
    with at_once.start("run", key) as run:
        at_once.wait_for(lambda: bool(risen(at_once, key)))
        run.kill()
        run.communicate()
    at_once.faults(answers=[cut], jobs={"hold": ["InProgress"]})
    with at_once.start("run", key) as run:
        at_once.wait_for(lambda: len(at_once.jobs(key)) == 2)
        done(at_once.command("erase-person", key, person, "--yes"))
        at_once.faults(answers=[cut])
        said, _ = run.communicate(timeout=60)
        assert run.returncode == 0, said
    gone = at_once.query(
        "select d.tier, d.withdrawn_at is not null as withdrawn from batch_ledger.document d "
        "where migration = %s and md5 = any(%s)",
        key,
        md5s,
    )
    assert gone == [{"tier": 1, "withdrawn": True}] * len(md5s)
    assert traces(at_once, key, person, name, md5s) == GONE
    assert at_once.left(key) == []
