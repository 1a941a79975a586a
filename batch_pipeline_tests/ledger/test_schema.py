"""The ledger's schema: forward only, once, by whoever comes first."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.rows import dict_row

from batch_pipeline.errors import ConfigurationError, LedgerConflict, TransientError
from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.erased_people import ErasedPeople
from batch_pipeline.ledger.schema import SCHEMA, migrate, versions
from batch_pipeline_tests.ledger.rows import states

pytestmark = pytest.mark.servers


def connect(url: str) -> psycopg.Connection[dict[str, object]]:
    return psycopg.connect(url, autocommit=True, row_factory=dict_row)


def test_migrating_twice_is_harmless(postgres_url: str) -> None:
    with connect(postgres_url) as connection:
        assert migrate(connection) == [name for name, _ in versions()]
        assert migrate(connection) == []


def test_four_processes_migrate_once_between_them(postgres_url: str) -> None:
    def once(_: int) -> int:
        with connect(postgres_url) as connection:
            return len(migrate(connection))

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(once, range(4))) == [0, 0, 0, len(versions())]


def test_an_older_ledger_keeps_its_rows(postgres_url: str) -> None:
    """A ledger of the first version, with a job under way, is brought forward, not made anew."""
    name, statements = versions()[0]
    with connect(postgres_url) as old:
        old.execute(f"create schema {SCHEMA}".encode())
        old.execute(f"set search_path to {SCHEMA}".encode())
        old.execute(
            "create table schema_version (name text primary key, applied_at timestamptz default now())"
        )
        old.execute(statements.encode())
        old.execute("insert into schema_version values (%s)", (name,))
        old.execute("insert into migration (key, tenant, file_digest) values ('acme', 'acme', 'd')")
        old.execute(
            "insert into document (migration, record_id, md5, request_digest, route, state, attempts) "
            "values ('acme', 'r-a', 'm', 'd', 'batch', 'sent', 1)"
        )
    with LedgerConnection.open(postgres_url) as ledger:
        assert states(ledger) == {"a": ("sent", 1)}
        applied = ledger.sql.execute("select name from schema_version order by name").fetchall()
    assert [row["name"] for row in applied] == [name for name, _ in versions()]


def test_what_a_call_used_stays_with_it_when_an_older_ledger_is_brought_forward(postgres_url: str) -> None:
    earlier = [version for version in versions() if version[0] < "m007"]
    with connect(postgres_url) as old:
        old.execute(f"create schema {SCHEMA}".encode())
        old.execute(f"set search_path to {SCHEMA}".encode())
        old.execute(
            "create table schema_version (name text primary key, applied_at timestamptz default now())"
        )
        for name, statements in earlier:
            old.execute(statements.encode())
            old.execute("insert into schema_version values (%s)", (name,))
        old.execute("insert into migration (key, tenant, file_digest) values ('acme', 'acme', 'd')")
        old.execute(
            "insert into document (migration, record_id, md5, request_digest, route, state) "
            "values ('acme', 'r-a', 'm', 'd', 'on_demand', 'sent')"
        )
        old.execute(
            "insert into on_demand_call (migration, record_id, attempt, model) values ('acme', 'r-a', 1, 'm')"
        )
        old.execute("update on_demand_call set state = 'answered'")
        old.execute(
            "update document set state = 'answered', answered_by_call = 1, input_tokens = 7, output_tokens = 5, "
            "cached_tokens = 3, cache_written_tokens = 2"
        )
    with LedgerConnection.open(postgres_url) as ledger:
        rows = ledger.sql.execute(
            "select tier, input_tokens, output_tokens, cached_tokens, cache_written_tokens from on_demand_call"
        ).fetchall()
    assert [tuple(row.values()) for row in rows] == [(0, 7, 5, 3, 2)]


def test_a_ledger_of_a_newer_program_is_refused(postgres_url: str) -> None:
    with LedgerConnection.open(postgres_url) as ledger:
        ledger.sql.execute("insert into schema_version (name) values ('m999_from_the_future')")
    with pytest.raises(LedgerConflict, match="m999_from_the_future"):
        LedgerConnection.open(postgres_url)


def test_a_failed_version_leaves_nothing_behind(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [*versions()[:1], ("m002_broken", "create table half (a int); select 1/0")]
    monkeypatch.setattr("batch_pipeline.ledger.schema.versions", lambda: broken)
    with connect(postgres_url) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            migrate(connection)
        found = connection.execute(
            "select count(*) as n from information_schema.tables where table_schema = %s", (SCHEMA,)
        ).fetchone()
    assert found == {"n": 0}


def test_an_address_that_is_none_and_a_server_that_is_away_are_told_apart(postgres_url: str) -> None:
    with pytest.raises(ConfigurationError, match="DATABASE_URL"):
        LedgerConnection.open("not a url")
    with pytest.raises(TransientError) as away:
        LedgerConnection.open("postgresql://someone:secret@127.0.0.1:1/nowhere")
    assert "secret" not in str(away.value)
    known = psycopg.conninfo.conninfo_to_dict(postgres_url)
    for wrong in ({"user": "somebody-else"}, {"dbname": "another"}):
        with pytest.raises(ConfigurationError, match="answers and refuses it") as refused:
            LedgerConnection.open(psycopg.conninfo.make_conninfo(**known | wrong))
        assert not any(value in str(refused.value) for value in wrong.values())


def test_a_key_belongs_to_one_customer(postgres_url: str) -> None:
    with LedgerConnection.open(postgres_url) as ledger:
        migrations.record(ledger, "acme", "acme", "one")
        migrations.record(ledger, "acme", "acme", "two")
        migrations.record(ledger, "acme", "mended before anything is planned", "three")
        migrations.record(ledger, "acme", "acme", "four")
        migrations.mark_planned(ledger, "acme")
        with pytest.raises(ConfigurationError, match="another customer"):
            migrations.record(ledger, "acme", "globex", "three")


def test_erasures_of_an_older_ledger_hold_for_their_tenant(postgres_url: str) -> None:
    """Which system they were of is known of what was imported; else they count for all of the tenant's."""
    before = [one for one in versions() if one[0] < "m008"]
    with connect(postgres_url) as old:
        old.execute(f"create schema {SCHEMA}".encode())
        old.execute(f"set search_path to {SCHEMA}".encode())
        old.execute(
            "create table schema_version (name text primary key, applied_at timestamptz default now())"
        )
        for name, statements in before:
            old.execute(statements.encode())
            old.execute("insert into schema_version values (%s)", (name,))
        old.execute(
            "insert into migration (key, tenant, file_digest, report) values ('read', 'acme', 'd', null), "
            """('imported', 'acme', 'd', '{"target": {"schema": "recruiting", "system": "oldats"}}')"""
        )
        old.execute(
            "insert into erased_person (migration, source_id) values ('read', '1'), ('imported', '2')"
        )
    with LedgerConnection.open(postgres_url) as ledger:
        assert ErasedPeople(ledger, "later", "acme", "oldats").since().keys() == {"1", "2"}
        assert ErasedPeople(ledger, "later", "acme", "another").since().keys() == {"1"}
        assert not ErasedPeople(ledger, "later", "globex", "oldats").since()
        ErasedPeople(ledger, "read", "acme", "oldats").follow_the_file()
        assert ErasedPeople(ledger, "later", "acme", "oldats").since().keys() == {"1", "2"}
        assert not ErasedPeople(ledger, "later", "acme", "another").since()
