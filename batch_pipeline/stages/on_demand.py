"""`on_demand_answers`: has the courier make the calls that batch cannot take, and waits for it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

from batch_pipeline.errors import AmbiguousRequest, TransientError, WayOut
from batch_pipeline.ledger import migrations, on_demand
from batch_pipeline.stages.context import Context


@dataclass(frozen=True)
class OnDemandRound:
    """What one round of calls came to, over the whole migration."""

    asked: int
    answered: int
    failed: int


def answer_on_demand(context: Context) -> OnDemandRound:
    """Make every on-demand call that is owed.

    Raises:
        AmbiguousRequest: calls left whose end nobody saw; a person decides whether to pay again.
        TransientError: the provider was not reached; what was answered is kept, run again.
    """
    owed = len(on_demand.owed_calls(context.ledger, context.key))
    if owed:
        _run_courier(context)
    with context.ledger.exclusive(f"calls of {context.key}"):
        # the courier of a killed process may still be writing its last answers: those are no doubts
        _stop_at_doubts(context)
    row = context.ledger.sql.execute(
        "select count(*) filter (where answered_by_call is not null) as answered, "
        "count(*) filter (where state = 'failed') as failed "
        "from document where migration = %s and route = 'on_demand'",
        (context.key,),
    ).fetchone()
    assert row is not None
    if owed:
        migrations.progressed(context.ledger, context.key)
    return OnDemandRound(owed, row["answered"], row["failed"])


def _run_courier(context: Context) -> None:
    environment = {**os.environ, **context.settings.environment()}
    with subprocess.Popen(
        [sys.executable, "-m", "batch_pipeline.stages.courier", context.key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        start_new_session=True,
    ) as courier:
        assert courier.stdout is not None
        said: dict[str, object] = {}
        for line in courier.stdout:
            said = json.loads(line)
            if "total" in said:
                context.progress("on-demand answers", int(str(said["done"])), int(str(said["total"])))
    if courier.returncode:
        raise TransientError(
            f"migration {context.key}: on-demand calls stopped early: "
            f"{said.get('error', f'the courier ended with code {courier.returncode}')}"
        )


def _stop_at_doubts(context: Context) -> None:
    doubts = on_demand.open_calls(context.ledger, context.key)
    if not doubts:
        return
    raise AmbiguousRequest(
        f"migration {context.key}: {len(doubts)} on-demand calls left and their end was never seen "
        f"(first record {doubts[0][1]}). They may have been paid, and the provider cannot be asked.",
        (
            WayOut(
                "send them again",
                f"at most {len(doubts)} calls paid twice",
                f"batch-pipeline resolve {context.key} --send-again",
            ),
            WayOut(
                "count them as failed",
                f"at most {len(doubts)} paid answers lost",
                f"batch-pipeline resolve {context.key} --give-up",
            ),
        ),
    )
