"""`erased_files`: the migration's objects, kept answers and intermediate files go, and are looked for again."""

from dataclasses import asdict, dataclass

from batch_pipeline.ledger import jobs, migrations, on_demand
from batch_pipeline.providers.contract import ErasureCertificate
from batch_pipeline.stages.context import Context


@dataclass(frozen=True)
class Erased:
    """The certificate: counts only."""

    objects: ErasureCertificate
    kept_answers: int
    intermediate_files: int


def erase(context: Context) -> Erased:
    """Erase everything of the migration but its rows in the target and in the ledger.

    Call only when the migration's sums close. Safe to repeat.
    """
    sent = jobs.jobs(context.ledger, context.key)
    certificate = context.provider.erase(
        [job.provider_id for job in sent if job.provider_id is not None],
        migrations.created_at(context.ledger, context.key),
    )
    before = migrations.report(context.ledger, context.key).get("erased")
    if before and not certificate.listed:
        # erased by a run that was killed before it could say so: what that one listed and deleted stands
        certificate = ErasureCertificate(**{**before, "left": certificate.left, "kept": certificate.kept})
    answers = on_demand.erase_lines(context.ledger, context.key)
    with context.ledger.transaction():
        jobs.advance(context.ledger, context.key, "imported", "erased")
        migrations.note(context.ledger, context.key, "objects erased", asdict(certificate))
        migrations.keep_report(context.ledger, context.key, {"erased": asdict(certificate)})
    files = context.workspace.erase()
    migrations.set_state(context.ledger, context.key, "erased")
    return Erased(certificate, answers, files)
