"""Wrong settings are refused before anything is uploaded or paid, in words and with an exit code."""

import io
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest

from batch_pipeline_tests.flows.bench import Bench, assert_right
from batch_pipeline_tests.flows.personal_words import personal_words

pytestmark = pytest.mark.servers


def test_a_bucket_that_is_not_there_is_refused_before_upload(bench: Bench) -> None:
    key, _ = bench.small(provider={"bucket": "no-such-bucket"})
    refused = bench.run(key)
    assert refused.code == 1
    assert "bucket no-such-bucket" in refused.said
    assert "nothing was sent" in refused.said
    assert bench.jobs(key) == []
    assert bench.query("select count(*) as n from batch_ledger.job where migration = %s", key) == [{"n": 0}]


def test_a_denied_provider_is_refused_before_upload(bench: Bench) -> None:
    key, _ = bench.small()
    bench.faults(api={"deny": ["ListModelInvocationJobs"]})
    refused = bench.run(key)
    assert refused.code == 1
    assert "bedrock:ListModelInvocationJobs" in refused.said
    assert bench.left(key) == []


@pytest.mark.parametrize(
    ("faults", "said"),
    [({"deny_pass_role": True}, "allow iam:PassRole on"), ({"role": "untrusting"}, "allow sts:AssumeRole")],
)
def test_a_role_that_would_be_refused_is_found_before_anything_is_uploaded(
    bench: Bench, faults: dict[str, Any], said: str
) -> None:
    key, _ = bench.small()
    bench.faults(api=faults)
    refused = bench.run(key)
    assert refused.code == 1
    assert said in " ".join(refused.said.split())
    assert bench.left(key) == []


@pytest.mark.parametrize("case", ["role of another account", "no iam:PassRole", "model without batch"])
def test_a_create_call_that_is_refused_leaves_no_upload_and_is_not_repeated(bench: Bench, case: str) -> None:
    """F19, F32: permanent, with the provider's words; after it is mended the run goes on."""
    role = "arn:aws:iam::999999999999:role/other"
    key, expected = bench.small(provider={"role_arn": role} if case.startswith("role") else {})
    if case.startswith("no"):
        bench.faults(api={"deny_pass_role": True})
    if case.startswith("model"):
        bench.rules(limits={"min_records_per_job": 10}, models={"unsupported": ["anthropic."]})
    # as where nobody may ask about the account: only the create call itself finds it out
    refused = bench.run(key, AWS_ENDPOINT_URL_STS="")
    assert refused.code == 3, refused.said
    assert f"batch-pipeline resume {key}" in refused.said
    again = bench.run(key, AWS_ENDPOINT_URL_STS="")
    assert again.code == 3, again.said
    assert bench.jobs(key) == []
    assert bench.left(key) == []
    bench.faults()
    bench.rules(limits={"min_records_per_job": 10})
    export, _ = bench.sample(40)
    bench.write(key, export, provider={"quotas": {"min_records": 10}})
    assert bench.command("resume", key).code == 0
    done = bench.run(key)
    assert done.code == 0, done.said
    assert_right(bench, key, expected)


def test_exit_codes_tell_configuration_from_trouble(bench: Bench) -> None:
    key, _ = bench.small()
    assert bench.run("no-such-migration").code == 2
    assert bench.run("NOT A KEY").code == 2
    assert bench.command("no-such-command").code == 2
    assert bench.run(key, DATABASE_URL="").code == 2
    assert bench.run(key, BATCH_PIPELINE_ROLE_ARN="not a role").code == 2
    assert bench.run(key, BATCH_PIPELINE_BUCKET="").code == 2
    away = bench.run(key, DATABASE_URL="postgresql://u:secret@127.0.0.1:1/none")
    assert away.code == 1
    assert "secret" not in away.said
    assert "Connection refused. Is it running" in " ".join(away.said.split())
    known = bench.stack.environment["DATABASE_URL"]
    at = psycopg.conninfo.conninfo_to_dict(known)
    for wrong in ({"user": "nobody"}, {"dbname": "no-such-database"}):
        refused = bench.run(key, DATABASE_URL=psycopg.conninfo.make_conninfo(**at | wrong))
        assert refused.code == 2, refused.said
        said = " ".join(refused.said.split())
        assert "answers and refuses it" in said
        assert "Is it running" not in said
    unnamed = bench.run(key, DATABASE_URL="postgresql://u:secret@no.such.host.invalid/none")
    assert unnamed.code == 1
    assert "secret" not in unnamed.said
    assert bench.command("status", "no-such-migration").code == 2
    fresh, _ = bench.small()
    assert "not started" in bench.command("status", fresh).said
    early = bench.command("dataset", fresh, "--to", str(bench.customers / "early"))
    assert early.code == 2
    assert "nothing of it is in schema" in early.said


@pytest.mark.parametrize("case", ["empty", "no zip", "broken"])
def test_an_export_that_cannot_be_used_is_wrong_input(bench: Bench, tmp_path: Path, case: str) -> None:
    export, _ = bench.sample(40)
    wrong = tmp_path / "export"
    if case == "no zip":
        wrong.write_bytes(b"no zip")
    elif case == "empty":
        wrong.mkdir()
    else:
        shutil.copytree(export, wrong)
        with (wrong / "candidates.csv").open("a") as file:
            file.write('7,"Open\n8,Next\n')
    key = bench.migration(wrong)
    assert bench.command("migration", "check", key).code == 2
    ended = bench.run(key)
    assert ended.code == 2, ended.said
    assert "Next" not in ended.said


def test_an_unreachable_provider_is_trouble_and_pays_nothing(bench: Bench) -> None:
    key, expected = bench.small()
    away = bench.run(key, AWS_ENDPOINT_URL_BEDROCK="http://127.0.0.1:1")
    assert away.code == 1
    assert "Bedrock" in away.said
    assert bench.run(key).code == 0
    assert_right(bench, key, expected)


def dump(bench: Bench, table: str, columns: str = "*") -> str:
    url = bench.stack.environment["DATABASE_URL"]
    text = io.StringIO()
    statement = f"copy (select {columns} from batch_ledger.{table}) to stdout"
    with (
        psycopg.connect(url) as connection,
        connection.cursor() as cursor,
        cursor.copy(statement.encode()) as copy,
    ):
        for data in copy:
            text.write(bytes(data).decode())
    return text.getvalue()


def test_nothing_personal_is_said_logged_or_kept_in_the_ledger(bench: Bench) -> None:
    """Looked for while the migration is held after refusals, and again when it is over."""
    export, expected = bench.sample(40)
    words = personal_words(export) | set(expected.markers) | set(expected.erased_markers)
    assert len(words) > 100
    person = next(word for word in sorted(words) if "@" in word)
    quoted = f"Invalid text: '{person} lives here' for {person}"
    bench.faults(records=[{"code": 400, "plane": "batch", "message": quoted}])
    key, _ = bench.small()
    held = bench.run(key)
    assert held.code == 3
    bench.faults()
    said = [held.said, bench.command("status", key).said, bench.command("resume", key, "--retry-failed").said]
    said.append(bench.run(key).said)
    tables = bench.query("select tablename as name from pg_tables where schemaname = 'batch_ledger'")
    said += [dump(bench, str(row["name"])) for row in tables]
    said += [path.read_text(errors="replace") for path in bench.stack.logs.rglob("*.log")]
    said.append((bench.stack.folder / "postgres" / "postgres.log").read_text(errors="replace"))
    for text in said:
        found = [word for word in words if word in text]
        assert not found, (len(found), text[:200])
    assert bench.query("select count(*) as n from batch_ledger.on_demand_call where line is not null") == [
        {"n": 0}
    ]
    work = bench.stack.folder / "work" / key
    assert not any(path.is_file() for path in work.rglob("*"))
