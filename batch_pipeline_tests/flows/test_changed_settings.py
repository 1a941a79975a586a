"""A migration file or an export that changes between two runs never loses, pays twice or says more than is true."""

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from batch_pipeline_tests.flows.bench import Bench, assert_right

pytestmark = [pytest.mark.servers, pytest.mark.timeout(200)]


def change(bench: Bench, key: str, **sections: Any) -> None:
    path = bench.stack.migrations / f"{key}.yaml"
    content = yaml.safe_load(path.read_text())
    for name, section in sections.items():
        content[name] = content[name] | section if isinstance(section, dict) and name in content else section
    path.write_text(yaml.safe_dump(content))


def sent_and_killed(bench: Bench, key: str, **then: Any) -> None:
    """A run that dies while its job is under way; `then` are the faults from there on."""
    bench.faults(jobs={"hold": ["InProgress"]})
    running = bench.start("run", key)
    bench.wait_for(lambda: bool(bench.jobs(key)))
    bench.wait_for(
        lambda: bool(
            bench.query("select 1 from batch_ledger.job where migration = %s and provider_id <> ''", key)
        )
    )
    running.kill()
    running.communicate()
    bench.faults(**then)


def test_another_prefix_after_sending_is_refused_and_costs_nothing(bench: Bench) -> None:
    key, _ = bench.small(40)
    sent_and_killed(bench, key)
    change(bench, key, provider={"prefix": "elsewhere"})
    ended = bench.run(key)
    assert ended.code == 2, ended.said
    assert "put the settings back" in ended.said
    change(bench, key, provider={"prefix": "batch-pipeline"})
    ended = bench.run(key)
    assert ended.code == 0, ended.said
    assert set(bench.paid(key).values()) == {1}
    assert bench.left(key) == []


def test_another_model_before_sending_gets_requests_of_its_own(bench: Bench) -> None:
    key, _ = bench.small(40)
    bench.faults(api={"deny": ["CreateModelInvocationJob"]})
    assert bench.run(key).code != 0
    bench.faults()
    change(bench, key, provider={"model": "us.amazon.nova-lite-v1:0"})
    assert bench.command("resume", key).code == 0
    ended = bench.run(key)
    assert ended.code == 0, ended.said
    (job,) = bench.jobs(key)
    assert (job["modelId"], job["modelInvocationType"]) == ("us.amazon.nova-lite-v1:0", "Converse")
    assert bench.query("select 1 from recruiting.parsed_cv where tenant = %s limit 1", key)


def test_an_export_without_its_files_is_held_before_it_is_paid(bench: Bench, tmp_path: Path) -> None:
    export, _ = bench.sample(40)
    bare = tmp_path / "bare"
    shutil.copytree(export, bare)
    shutil.move(bare / "attachments", tmp_path / "attachments")
    bench.rules(limits={"min_records_per_job": 10})
    key = bench.migration(bare, provider={"quotas": {"min_records": 10}})
    ended = bench.run(key)
    assert ended.code == 3, ended.said
    assert "attached files of the export are there" in ended.said
    assert bench.jobs(key) == []
    shutil.move(tmp_path / "attachments", bare / "attachments")
    assert bench.command("resume", key).code == 0
    ended = bench.run(key)
    assert ended.code == 0, ended.said
    assert bench.query("select 1 from recruiting.parsed_cv where tenant = %s limit 1", key)


def test_an_export_of_headers_alone_is_asked_about_before_it_is_done(bench: Bench, tmp_path: Path) -> None:
    export, _ = bench.sample(40)
    bare = tmp_path / "bare"
    bare.mkdir()
    for path in export.glob("*.csv"):
        (bare / path.name).write_text(path.read_text(encoding="utf-8-sig").splitlines()[0] + "\n")
    key = bench.migration(bare)
    checked = bench.command("migration", "check", key)
    assert checked.code == 0, checked.said
    assert "holds no people and no applications" in checked.said
    held = bench.run(key)
    assert held.code == 3, held.said
    assert "holds no people and no applications" in held.said
    assert bench.state(key) == "open"
    assert bench.command("resume", key).code == 0
    ended = bench.run(key)
    assert ended.code == 0, ended.said


def test_fewer_rows_than_the_source_states_are_held_before_anything_is_paid(bench: Bench) -> None:
    key, expected = bench.small()
    export, _ = bench.sample(40)
    provider = {"quotas": {"min_records": 10}}
    totals = {"application": expected.applications + 1, "person": expected.people}
    bench.write(key, export, provider=provider, source={"totals": totals})
    held = bench.run(key)
    assert held.code == 3, held.said
    assert f"{expected.applications} of {expected.applications + 1} application" in held.said
    assert "person" not in held.said.partition("states more")[2].partition(";")[0]
    assert bench.jobs(key) == []
    totals["application"] -= 1
    bench.write(key, export, provider=provider, source={"totals": totals})
    assert bench.command("resume", key).code == 0
    done = bench.run(key)
    assert done.code == 0, done.said
    assert f"{expected.people} of {expected.people}" in done.said
    assert_right(bench, key, expected)


def test_a_rolled_back_migration_is_not_called_done(bench: Bench) -> None:
    key, _ = bench.small(40)
    assert bench.run(key).code == 0
    assert bench.command("rollback", key, "--yes").code == 0
    assert bench.query("select 1 from recruiting.person where tenant = %s", key) == []
    assert "rolled back" in bench.command("status", key).said
    ended = bench.run(key)
    assert ended.code == 1
    assert "was rolled back" in ended.said


def test_a_mistyped_tenant_can_be_mended_before_anything_is_planned(bench: Bench) -> None:
    key, _ = bench.small(40)
    assert bench.command("doctor", key).code == 0
    change(bench, key, tenant=f"{key}-mended")
    ended = bench.run(key)
    assert ended.code == 0, ended.said
    change(bench, key, tenant="another")
    ended = bench.run(key)
    assert ended.code == 2
    assert "another customer" in ended.said


def test_a_person_nobody_knows_is_not_said_to_be_erased(bench: Bench) -> None:
    key, _ = bench.small(40)
    assert bench.run(key).code == 0
    ended = bench.command("erase-person", key, "nobody", "--yes")
    assert ended.code == 2, ended.said


def test_an_unknown_model_is_told_by_doctor(bench: Bench) -> None:
    key, _ = bench.small(40, provider={"model": "foo bar"})
    ended = bench.command("doctor", key)
    assert ended.code == 2
    assert "provider.model" in ended.said


def test_a_killed_run_leaves_no_worker_behind(bench: Bench, tmp_path: Path) -> None:
    key, _ = bench.small(40)
    running = bench.start("run", key, BATCH_PIPELINE_WORKERS="2")
    time.sleep(1.5)
    running.kill()
    running.communicate()

    def workers() -> list[str]:
        marks = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes().decode(errors="replace")
                command = (process / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(bench.stack.folder) in environment and "multiprocessing" in command:
                marks.append(command)
        return marks

    bench.wait_for(lambda: not workers(), 30)
    assert bench.run(key).code == 0
