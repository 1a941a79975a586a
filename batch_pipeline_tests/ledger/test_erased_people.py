"""Erasures on request are of a tenant's person, whichever migration they were asked of."""

import pytest

from batch_pipeline.ledger import migrations
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.erased_people import ErasedPeople

pytestmark = pytest.mark.servers


def test_an_erasure_holds_for_every_migration_of_tenant_and_system(ledger: LedgerConnection) -> None:
    assert ErasedPeople(ledger, "acme", "acme", "oldats").remember("1")
    assert not ErasedPeople(ledger, "acme", "acme", "oldats").remember("1")
    assert ErasedPeople(ledger, "later", "acme", "oldats").since().keys() == {"1"}
    assert not ErasedPeople(ledger, "later", "acme", "another").since()
    assert not ErasedPeople(ledger, "later", "globex", "oldats").since()


def test_a_mended_customer_or_system_keeps_its_erasures(ledger: LedgerConnection) -> None:
    ErasedPeople(ledger, "acme", "acme", "oldats").remember("1")
    migrations.record(ledger, "acme", "acme-ltd", "mended")
    mended = ErasedPeople(ledger, "acme", "acme-ltd", "old-ats")
    assert mended.since().keys() == {"1"}
    mended.follow_the_file()
    assert ErasedPeople(ledger, "later", "acme-ltd", "old-ats").since().keys() == {"1"}
    assert ErasedPeople(ledger, "later", "acme", "oldats").since().keys() == {"1"}


def test_what_is_taken_back_is_not_remembered(ledger: LedgerConnection) -> None:
    people = ErasedPeople(ledger, "acme", "acme", "oldats")
    people.remember("1")
    people.remember("2")
    people.forget("2")
    assert people.since().keys() == {"1"}
