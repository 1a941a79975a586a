"""The in-flight quota of one account and model is shared between the migrations that wait for it."""

import pytest

from batch_pipeline.ledger import jobs, migrations
from batch_pipeline.ledger.connection import LedgerConnection

pytestmark = pytest.mark.servers


def jobs_of(ledger: LedgerConnection, key: str, *, intents: int = 0, running: int = 0) -> None:
    migrations.record(ledger, key, "tenant", "digest")
    for number in range(intents + running):
        name = f"{key}-{number}"
        under_way = number >= intents
        ledger.sql.execute(
            "insert into job (migration, shard_digest, attempt, state, account, name, token, model, "
            "invocation_type, input_uri, output_uri, timeout_hours, records, bytes, sent_at, provider_id) "
            "values (%s, %s, 1, 'intent', 'a', %s, %s, 'm', 'InvokeModel', 'i', 'o', 24, 100, 1, now(), null)",
            (key, name, name, name),
        )
        if under_way:
            ledger.sql.execute(
                "update job set state = 'accepted', provider_id = %s where name = %s", (name, name)
            )


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        ({"running": 0}, {}, 20),  # alone: all of it
        ({"running": 20}, {}, 0),
        ({"running": 10}, {"intents": 5}, 0),  # the other waits: half is enough
        ({"running": 4}, {"intents": 5}, 6),
        ({"running": 4}, {"running": 16}, 0),  # full, whoever fills it
        ({"running": 4}, {"running": 6}, 10),  # nobody waits: the rest is free
        ({"running": 10}, {"intents": 1, "running": 9}, 0),
    ],
)
def test_a_migration_takes_its_even_part_while_others_wait(
    postgres_url: str, own: dict[str, int], other: dict[str, int], expected: int
) -> None:
    with LedgerConnection.open(postgres_url) as ledger:
        jobs_of(ledger, "own", **own)
        jobs_of(ledger, "other", **other)
        assert jobs.room(ledger, "own", "a", "m", 20) == expected


def test_a_held_migration_waits_for_nobodys_room(postgres_url: str) -> None:
    with LedgerConnection.open(postgres_url) as ledger:
        jobs_of(ledger, "own", running=10)
        jobs_of(ledger, "other", intents=5)
        migrations.hold(ledger, "other", "a person looks at it")
        assert jobs.room(ledger, "own", "a", "m", 20) == 10
        assert jobs.room(ledger, "own", "another account", "m", 20) == 20
