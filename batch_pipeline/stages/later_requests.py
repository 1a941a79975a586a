"""Requests to a later model of a cascade, in its own words: written when the first document comes to it.

The first model's are written with the plan. A later one is asked about a few documents only, and nobody
knows which before the one before it has answered.
"""

import polars as pl

from batch_pipeline.requests.jsonl import write_requests
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.redact import parts_to_send


def have_requests(context: Context) -> None:
    """Make sure that the workspace holds every batch request that is owed or reserved at this tier."""
    if not context.tier:
        return
    rows = context.ledger.sql.execute(
        "select md5 from document where migration = %s and tier = %s and route = 'batch' "
        "and state in ('owed', 'sent') and withdrawn_at is null",
        (context.key, context.tier),
    )
    wanted = pl.DataFrame({"md5": [row["md5"] for row in rows]}, schema={"md5": pl.String})
    workspace = context.workspace
    if workspace.request_lines.exists():
        held = pl.scan_parquet(workspace.request_lines).select("md5")
        if wanted.lazy().join(held, on="md5", how="anti").collect().is_empty():
            return
    # lines and index are two files: a process killed between them must not leave an old index
    workspace.request_lines.unlink(missing_ok=True)
    write_requests(
        parts_to_send(context),
        wanted.sort("md5"),
        context.batch_requests,
        workspace.requests,
        workspace.request_lines,
    )
