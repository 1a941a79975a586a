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
    certificate = _erase_everywhere(context)
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


def _erase_everywhere(context: Context) -> ErasureCertificate:
    """At the provider of every model, each place once: models of one provider may share it."""
    providers = {(here.provider.account, here.provider.home): here.provider for here in context.tiers}
    ids: dict[tuple[str, str], list[str]] = {place: [] for place in providers}
    for job in jobs.jobs(context.ledger, context.key):
        if job.provider_id is not None:
            provider = context.of(job).provider
            ids[provider.account, provider.home].append(job.provider_id)
    since = migrations.created_at(context.ledger, context.key)
    found = [provider.erase(ids[place], since) for place, provider in providers.items()]
    return ErasureCertificate(
        listed=sum(one.listed for one in found),
        deleted=sum(one.deleted for one in found),
        bytes=sum(one.bytes for one in found),
        multipart_uploads_aborted=sum(one.multipart_uploads_aborted for one in found),
        left=sum(one.left for one in found),
        kept=tuple(dict.fromkeys(what for one in found for what in one.kept)),
    )
