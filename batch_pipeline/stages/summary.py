"""What a migration came to, as a few small tables of figures: the ledger's report, for people."""

from typing import Any

from batch_pipeline.ledger import documents, escalation, migrations
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.stages.report import FIGURES

Tables = dict[str, dict[str, Any]]


def summary(ledger: LedgerConnection, key: str) -> Tables:
    """Title -> figures; only what is known is there."""
    kept = migrations.report(ledger, key)
    raw, deduped = kept.get("raw_cvs", {}), kept.get("deduped_cvs", {})
    rows = raw.get("rows", {})
    attempts = ledger.sql.execute(
        "select count(*) as jobs, (select coalesce(max(attempts), 0) from document where migration = %(key)s) "
        "as attempts from job where migration = %(key)s and state <> 'void'",
        {"key": key},
    ).fetchone()
    assert attempts is not None
    tables: Tables = {
        "export": {
            "applications": rows.get("application", 0),
            **{f"attachments {state}": count for state, count in raw.get("states", {}).items()},
            "files that no row names": raw.get("orphans", 0),
            **{
                f"{what}: read, of as many as the source states": f"{found['read']:,} of {found['stated']:,}"
                for what, found in raw.get("totals", {}).items()
            },
        },
        "documents": {
            "references": deduped.get("references", 0),
            "distinct documents": deduped.get("documents", 0),
            **{f"{verdict}": count for verdict, count in deduped.get("verdicts", {}).items()},
            **{f"not sent: {reason}": count for reason, count in deduped.get("reasons", {}).items()},
            "equal in text, other bytes": deduped.get("near_duplicates", 0),
            **({"scans read on this machine": deduped["read_by_ocr"]} if deduped.get("read_by_ocr") else {}),
            **{
                f"taken out before sending: {kind}": count
                for kind, count in (kept.get("jsonl_shards", {}).get("redacted") or {}).items()
            },
        },
        "provider": {"jobs": attempts["jobs"], "most attempts": attempts["attempts"]},
    }
    parsed = kept.get("parsed_cvs")
    if parsed:
        tables["answers"] = {
            "parsed": parsed["parsed"],
            "of these read by an earlier migration": parsed.get("reused", 0),
            "answered by an equal text": parsed.get("copied", 0),
            "failed": parsed["failed"],
            **{f"failed: {reason}": count for reason, count in parsed["reasons"].items()},
            **_by_model(ledger, key, parsed.get("models", {})),
        }
    for failure in documents.failures(ledger, key):
        code = f" ({failure.code})" if failure.code is not None else ""
        tables["provider"][f"failed: {failure.reason}{code} {failure.message or ''}".strip()] = (
            failure.documents
        )
    rolled_back = migrations.rolled_back_at(ledger, key)
    if rolled_back is not None:
        tables["rows in the database"] = {"rolled back, UTC": f"{rolled_back:%Y-%m-%d %H:%M}"}
    elif "imported_records" in kept:
        imported = kept["imported_records"]
        tables["rows in the database"] = {table: counts["staged"] for table, counts in imported.items()}
        missed = {table: counts["not_named"] for table, counts in imported.items() if counts.get("not_named")}
        if missed:
            tables["kept from earlier exports, not named by this one"] = missed
    if "cost" in kept:
        tables["cost"] = {name: kept["cost"][name] for name in FIGURES if name in kept["cost"]}
    models = kept.get("cost_by_model", [])
    if len({(one["model"], one["cascade"]) for one in models}) > 1:
        tables["cost by model"] = {
            f"{_named(one['model'], one['cascade'])}, {one['route']}": f"{one['answers']:,} answers, {one['input_tokens']:,} + "
            f"{one['output_tokens']:,} tokens, {one['cost']}"
            for one in models
        }
    if "sums" in kept:
        tables["sums"] = {
            one["says"]: f"{one['left']} = {one['right']}" + ("" if one["left"] == one["right"] else " OPEN")
            for one in kept["sums"]
        }
    if "erased" in kept:
        erased = kept["erased"]
        tables["erased"] = {
            "objects deleted": erased["deleted"],
            "objects left": erased["left"],
            **{f"kept by the provider ({n})": what for n, what in enumerate(erased.get("kept", ()), start=1)},
        }
    return tables


def _by_model(ledger: LedgerConnection, key: str, parsed: dict[str, int]) -> dict[str, int]:
    """Which model read how many, and what it left to the next; nothing where one model read everything."""
    risen = escalation.risen(ledger, key)
    if len(parsed) < 2 and not risen:
        return {}
    return {
        **{f"parsed by {model}": count for model, count in parsed.items()},
        **{
            f"left to the next by {_named(one.model, one.from_tier)}: {one.reason}": one.documents
            for one in risen
        },
    }


def _named(model: str, tier: int) -> str:
    """One model may stand at several places of a cascade."""
    return f"{model} (cascade {tier})" if tier else model
