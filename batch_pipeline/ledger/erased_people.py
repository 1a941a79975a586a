"""People erased on request, by tenant, source system and the id the source gave them: ids only, and kept, so
that no later reading of that tenant and system brings them back, whichever migration reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from batch_pipeline.ledger.connection import LedgerConnection


@dataclass(frozen=True)
class ErasedPeople:
    """Those that a migration of this tenant and system leaves out."""

    ledger: LedgerConnection
    migration: str
    tenant: str
    source_system: str

    def remember(self, source_id: str) -> bool:
        """Write down that this person is erased; return whether it was not known before."""
        new = source_id not in self.since()
        self.ledger.sql.execute(
            "insert into erased_person (migration, tenant, source_system, source_id) values (%s, %s, %s, %s) "
            "on conflict do nothing",
            (self.migration, self.tenant, self.source_system, source_id),
        )
        return new

    def forget(self, source_id: str) -> None:
        """Take back what `remember` wrote: there is no such person."""
        self.ledger.sql.execute(
            "delete from erased_person where (migration, tenant, source_system, source_id) = (%s, %s, %s, %s)",
            (self.migration, self.tenant, self.source_system, source_id),
        )

    def since(self) -> dict[str, datetime]:
        """Source id -> since when."""
        rows = self.ledger.sql.execute(
            "select source_id, min(at) as at from erased_person where migration = %s "
            "or (tenant = %s and (source_system = %s or source_system is null)) group by source_id",
            (self.migration, self.tenant, self.source_system),
        )
        return {row["source_id"]: row["at"] for row in rows}

    def follow_the_file(self) -> None:
        """Whom this migration was asked to erase is erased under the tenant and system its file names now."""
        with self.ledger.transaction():
            self.ledger.sql.execute(
                "insert into erased_person (migration, tenant, source_system, source_id, at) "
                "select migration, %s, %s, source_id, min(at) from erased_person where migration = %s "
                "group by migration, source_id on conflict do nothing",
                (self.tenant, self.source_system, self.migration),
            )
            self.ledger.sql.execute(
                "delete from erased_person where migration = %s and source_system is null",
                (self.migration,),
            )


def forget_withdrawn_answers(ledger: LedgerConnection, key: str, held: Sequence[str]) -> int:
    """Empty the kept on-demand answers of withdrawn documents, but of those whose MD5 is `held` by somebody;
    return how many there were."""
    return ledger.sql.execute(
        "update on_demand_call c set line = null from document d where c.migration = %s "
        "and (d.migration, d.record_id) = (c.migration, c.record_id) and d.withdrawn_at is not null "
        "and c.line is not null and d.md5 <> all(%s)",
        (key, list(held)),
    ).rowcount
