"""The audit trail has a row for every request that left, and none for what did not."""

from typing import Any

import pytest

from batch_pipeline.ledger import jobs, on_demand
from batch_pipeline.ledger.audit import COLUMNS, transfers
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.migrations import note
from batch_pipeline.ledger.settlement import RecordOutcome, settle
from batch_pipeline_tests.ledger.rows import ACCOUNT, KEY, MODEL, ended, plan, reserved

pytestmark = pytest.mark.servers


def trail(ledger: LedgerConnection) -> list[dict[str, Any]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in transfers(ledger, KEY)]


def test_what_never_left_is_no_transfer(ledger: LedgerConnection) -> None:
    plan(ledger, "a")
    reserved(ledger, "s", "a")
    assert trail(ledger) == []


def test_a_job_says_who_was_asked_about_what_and_what_came_of_it(ledger: LedgerConnection) -> None:
    plan(ledger, "ab")
    job = ended(ledger, "s", "ab")
    (open_one, _) = trail(ledger)
    assert (open_one["outcome"], open_one["used"], open_one["erased_at"]) == ("open", False, None)
    outcomes = [
        RecordOutcome("r-a", "answered", input_tokens=10, output_tokens=3),
        RecordOutcome("r-b", "permanent", 400, "bad"),
    ]
    settle(ledger, job, outcomes, max_attempts=3)
    note(ledger, KEY, "objects erased", {})
    a, b = trail(ledger)
    assert (a["document_md5"], a["sent_to"], a["model"], a["job"]) == ("md5-a", ACCOUNT, MODEL, job.name)
    assert (a["provider_id"], a["outcome"], a["used"]) == (f"arn:{job.name}", "answered", True)
    assert (a["input_tokens"], a["output_tokens"]) == (10, 3)
    assert (b["outcome"], b["error_code"], b["used"]) == ("error", 400, False)
    assert a["sent_at"] is not None and a["erased_at"] is not None


def test_a_refused_job_left_and_ran_nothing(ledger: LedgerConnection) -> None:
    plan(ledger, "a")
    job = reserved(ledger, "s", "a")
    jobs.mark_sent(ledger, job)
    jobs.void(ledger, job)
    assert [(row["outcome"], row["provider_id"]) for row in trail(ledger)] == [("unsent", None)]


def test_every_single_call_is_a_row_with_its_account(ledger: LedgerConnection) -> None:
    plan(ledger, "a", "on_demand")
    on_demand.refused(ledger, on_demand.intend(ledger, KEY, "r-a", "m", 0, ACCOUNT), 503, "busy", 3)
    on_demand.answered(ledger, on_demand.intend(ledger, KEY, "r-a", "m", 0, ACCOUNT), b"{}", 5, 2)
    first, second = trail(ledger)
    assert (first["outcome"], first["error_code"], first["used"]) == ("error", 503, False)
    assert (second["outcome"], second["sent_to"], second["used"]) == ("answered", ACCOUNT, True)
    assert (second["attempt"], second["input_tokens"], second["job"]) == (2, 5, None)
