"""Where migrations stand, in the words `status` and the demo show."""

from dataclasses import dataclass

from batch_pipeline.ledger import documents, migrations
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.documents import Settlement
from batch_pipeline.ledger.states import Step
from batch_pipeline.stages.unaccounted import unaccounted


@dataclass(frozen=True)
class Status:
    """One migration: its next step, its documents, its jobs by state."""

    key: str
    tenant: str
    state: str
    step: Step
    hold: str | None
    documents: Settlement
    jobs: dict[str, int]
    rolled_back: bool
    open_calls: int
    unaccounted: dict[str, int]  # files that somebody has to acknowledge

    @property
    def line(self) -> str:
        """One line for a person."""
        if self.rolled_back:
            return "rolled back: none of its rows are in the database"
        if self.state == "erased":
            return self._done
        parts = [_WORDS[self.step]]
        if self.state in {"paused", "cancelled"}:
            parts = [f"{self.state}, what is under way goes on" if self.step == "wait" else self.state]
        if self.open_calls:
            parts.append(f"{self.open_calls} on-demand calls whose end was not seen yet: `run` tells")
        if self.documents.total:
            settled = self.documents.answered + self.documents.failed
            parts.append(f"{settled} of {self.documents.total} documents settled")
        if self.jobs:
            parts.append(", ".join(f"{count} jobs {state}" for state, count in self.jobs.items()))
        if self.hold:
            parts.append(f"held: {self.hold}")
        return "; ".join(parts)

    @property
    def _done(self) -> str:
        if not self.unaccounted:
            return "done: imported, verified, erased"
        files = " and ".join(f"{count} {what}" for what, count in self.unaccounted.items())
        return (
            f"done: imported, erased; verified when somebody knows of {files} files "
            f"(`batch-pipeline report {self.key}`): `batch-pipeline acknowledge {self.key}`"
        )


_WORDS: dict[Step, str] = {
    "prepare": "to be read and planned",
    "submit": "jobs to settle or to send",
    "wait": "waiting for the provider",
    "answer": "on-demand answers to fetch",
    "finish": "to be parsed, imported and erased",
    "done": "done",
    "held": "held",
    "paused": "paused",
}


def status(ledger: LedgerConnection, key: str) -> Status | None:
    """None where the ledger has never heard of the migration."""
    row = ledger.sql.execute("select tenant, state, hold from migration where key = %s", (key,)).fetchone()
    if row is None:
        return None
    jobs = ledger.sql.execute(
        "select state, count(*) as n from job where migration = %s and state <> 'void' group by 1 order by 1",
        (key,),
    )
    standing = migrations.standing(ledger, key)
    return Status(
        key=key,
        tenant=row["tenant"],
        state=row["state"],
        step=standing.next_step(),
        hold=row["hold"],
        documents=documents.settlement(ledger, key),
        jobs={job["state"]: job["n"] for job in jobs},
        rolled_back=migrations.rolled_back_at(ledger, key) is not None,
        open_calls=standing.open_calls,
        unaccounted=unaccounted(ledger, key),
    )


def all_keys(ledger: LedgerConnection) -> list[str]:
    return [row["key"] for row in ledger.sql.execute("select key from migration order by created_at, key")]
