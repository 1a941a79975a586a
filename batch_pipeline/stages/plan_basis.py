"""What a plan was made from: where the file says something else now, the plan is made again."""

import hashlib
import json

from batch_pipeline.privacy.rules import rules
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.left_out import everybody_is_left_out

_NOTE = "plan"


def plan_basis(context: Context) -> str:
    """SHA-256 of every setting that shapes canonical files and requests."""
    migration = context.migration
    basis = {
        "source": migration.source,
        "provider": (migration.provider.kind, migration.on_demand_provider.kind),
        "model": migration.provider.model,
        "on_demand_model": context.on_demand_model,
        "max_output_tokens": migration.provider.max_output_tokens,
        "on_demand_max_output_tokens": migration.on_demand_provider.max_output_tokens,
        "limits": context.limits.model_dump(),
        "prompt": context.batch_requests.prompt_version,
        "cache_prompt": context.batch_requests.cache_prompt,
        "ocr": None if migration.ocr is None else migration.ocr.model_dump(),
        "person_files": migration.person_files,
        "reuse_identical_text": migration.reuse_identical_text,
        # absent where there is none: a plan of before there was any stays current
        **({"redaction": (migration.redaction, rules())} if migration.redaction else {}),
        **({"cascade": [section.model_dump() for section in migration.cascade]} if migration.cascade else {}),
    }
    return hashlib.sha256(json.dumps(basis, sort_keys=True, default=str).encode()).hexdigest()


def keep_plan_basis(context: Context) -> None:
    context.workspace.write_note(_NOTE, {"basis": plan_basis(context)})


def forget_plan_basis(context: Context) -> None:
    """The plan is made again before the next step."""
    context.workspace.write_note(_NOTE, {"basis": None})


def plan_is_current(context: Context) -> bool:
    """Whether the workspace holds the requests this migration's file asks for now, of nobody who was erased."""
    note = context.workspace.read_note(_NOTE)
    return (
        note is not None
        and note["basis"] == plan_basis(context)
        and context.workspace.request_lines.exists()
        and everybody_is_left_out(context)
    )
