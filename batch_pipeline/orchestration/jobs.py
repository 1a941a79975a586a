"""Jobs: one in-process run takes a migration from where it stands to the next wait."""

import dagster as dg

# Reads, plans and sends; ends when the provider has the jobs.
send = dg.define_asset_job(
    "send_migration",
    selection=["raw_cvs", "deduped_cvs", "jsonl_shards", "bedrock_jobs"],
    description="Read the export, plan the shards, send what is owed.",
)
# Settles ended jobs and sends what is owed again.
settle = dg.define_asset_job(
    "settle_jobs",
    selection=["bedrock_jobs"],
    description="Settle jobs that ended; send again what is owed.",
)
# All answers are there, or can be had one by one.
land = dg.define_asset_job(
    "land_migration",
    selection=["on_demand_answers", "parsed_cvs", "imported_records", "erased_files", "cost_report"],
    description="Answer what batch could not, parse, import, erase, report.",
)

JOBS = [send, settle, land]
