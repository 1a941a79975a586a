"""The last steps of a migration, in the order that never loses a paid answer.

parse -> sums -> import -> sums -> imported -> erase -> erased. Of a cascade, what a model failed to answer
goes to the next one after the first sums, and everything is parsed again when that one has answered. Once
the ledger says `imported`, only erasing is left: answers that may already be gone are not read again.
"""

from batch_pipeline.errors import LedgerConflict, NeedsPerson, WayOut
from batch_pipeline.ledger import jobs, migrations
from batch_pipeline.stages import sums
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.erase import Erased, erase
from batch_pipeline.stages.escalate import escalate
from batch_pipeline.stages.load import Imported, load
from batch_pipeline.stages.parse import ParsedCvs, parse
from batch_pipeline.stages.report import cost_report


def is_imported(context: Context) -> bool:
    """Whether every sum closed and the rows are in the target."""
    return migrations.standing(context.ledger, context.key).state in {"imported", "erased"}


def parse_and_check(context: Context) -> bool:
    """Parse every answer and require that each document has exactly one.

    Returns:
        Whether these are the final ones: not, where some are owed to the next model of a cascade.
    """
    if is_imported(context):
        return True
    parsed = parse(context)
    sums.require(
        context, [*sums.document_sums(context), *sums.answer_sums(context), *sums.parsed_sums(context)]
    )
    if escalate(context):
        return False
    stop_where_nothing_was_read(context, parsed)
    _stop_where_attempts_ran_out(context, parsed)
    return True


def stop_where_nothing_was_read(context: Context, parsed: ParsedCvs) -> None:
    """An import of failures alone would end in erasing every answer: a person looks at it first, once."""
    if parsed.parsed or not parsed.failed:
        return
    reasons = ", ".join(f"{count} x {reason}" for reason, count in sorted(parsed.reasons.items()))
    why = f"none of {parsed.failed} CVs could be read ({reasons}); nothing was imported and nothing erased"
    if migrations.hold_once(context.ledger, context.key, "nothing was read", why):
        raise NeedsPerson(
            f"migration {context.key}: {why}",
            (
                WayOut(
                    "import the history without any CV and erase the answers",
                    "nothing is paid again",
                    f"batch-pipeline resume {context.key}",
                ),
                WayOut(
                    "send again what failed at the provider",
                    "those records are paid again where the provider charges for them",
                    f"batch-pipeline resume {context.key} --retry-failed",
                ),
            ),
        )


def _stop_where_attempts_ran_out(context: Context, parsed: ParsedCvs) -> None:
    """Documents no model ever answered are no failures of their own: before they are given up, a person says so."""
    count = parsed.reasons.get("attempts_exhausted", 0)
    if not count:
        return
    why = (
        f"{count} of {parsed.parsed + parsed.failed} CVs got no answer in {context.migration.limits.attempts} "
        "attempts, for passing errors or because their jobs ran out of time; nothing was imported and nothing erased"
    )
    if migrations.hold_once(context.ledger, context.key, "attempts ran out", why):
        raise NeedsPerson(
            f"migration {context.key}: {why}",
            (
                WayOut(
                    "send them again",
                    "paid where the provider answers this time",
                    f"batch-pipeline resume {context.key} --retry-failed",
                ),
                WayOut(
                    "import without them and erase the answers",
                    "nothing is paid again",
                    f"batch-pipeline resume {context.key}",
                ),
            ),
        )


def load_and_check(context: Context) -> Imported | None:
    """Import, require that every sum closes, and only then call the migration imported."""
    if is_imported(context):
        return None
    sums.require(context, sums.all_sums(context))
    imported = load(context)
    with context.ledger.transaction():
        jobs.advance(context.ledger, context.key, "collected", "imported")
        migrations.keep_report(
            context.ledger,
            context.key,
            {
                "sums": [
                    {"name": one.name, "says": one.says, "left": one.left, "right": one.right}
                    for one in sums.all_sums(context)
                ]
            },
        )
        migrations.set_state(context.ledger, context.key, "imported")
    return imported


def erase_when_imported(context: Context) -> Erased:
    """Erase, unless the import is not verified.

    Raises:
        LedgerConflict: the migration is not imported; nothing was touched.
    """
    if not is_imported(context):
        raise LedgerConflict(
            f"migration {context.key} is not imported and verified, so nothing was erased: "
            f"`batch-pipeline run {context.key}` takes it there and erases by itself"
        )
    return erase(context)


def finish(context: Context) -> None:
    """All of it, unless something is owed to the next model first; safe to repeat after any crash."""
    with context.ledger.exclusive(f"files of {context.key}"):
        standing = migrations.standing(context.ledger, context.key)
        if standing.state == "erased" or standing.next_step() in {"submit", "wait", "answer"}:
            return  # another process took it to its end meanwhile, or to the next model
        if not parse_and_check(context):
            return
        load_and_check(context)
        cost_report(context)
        erase_when_imported(context)
