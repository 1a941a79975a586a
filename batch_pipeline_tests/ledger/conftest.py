"""A migrated ledger in a fresh database."""

from collections.abc import Iterator

import pytest

from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.connection import LedgerConnection


@pytest.fixture
def ledger(postgres_url: str) -> Iterator[LedgerConnection]:
    """Holds one migration, `acme`, of tenant `acme`."""
    with LedgerConnection.open(postgres_url) as opened:
        migrations.record(opened, "acme", "acme", "digest")
        yield opened
