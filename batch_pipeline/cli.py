"""The `batch-pipeline` command: only wiring. What it does is in `stages/`, `local/` and below.

Exit codes: 0 done and every sum closes; 1 stopped by an error, run again after mending it; 2 wrong
usage, configuration or export; 3 a person must choose; 130 interrupted.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.table import Table

from batch_pipeline.console import TerminalProgress, console, errors
from batch_pipeline.errors import BatchPipelineError, ConfigurationError, NeedsPerson, SourceError
from batch_pipeline.ledger import documents, migrations, on_demand
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.migration import Catalogue
from batch_pipeline.provider_settings import KINDS, Kind
from batch_pipeline.settings import Settings
from batch_pipeline.stages.context import Context, open_context

EXIT_ERROR = 1
EXIT_CONFIGURATION = 2
EXIT_PERSON = 3
EXIT_INTERRUPTED = 130

_FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".batch_pipeline"),
    show_default=True,
    help="Where the embedded servers keep their data.",
)


@contextmanager
def _opened(key: str, progress: TerminalProgress | None = None) -> Iterator[Context]:
    with open_context(Settings.from_environment(), key, progress or TerminalProgress()) as context:
        yield context


@contextmanager
def _ledger() -> Iterator[LedgerConnection]:
    with LedgerConnection.open(Settings.from_environment().database_url.get_secret_value()) as ledger:
        yield ledger


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="batch-pipeline")
def cli() -> None:
    """Move every CV of a customer migration once through a language model at batch price."""


@cli.command()
@_FOLDER
@click.option("--applications", type=click.IntRange(10), default=1000, show_default=True)
@click.option(
    "--documents", "cvs", type=click.IntRange(1), default=300, show_default=True, help="Distinct CVs."
)
def demo(folder: Path, applications: int, cvs: int) -> None:
    """The whole flow on embedded servers, with an invented customer, driven by Dagster's daemon."""
    from batch_pipeline.local.demo import run_demo

    if not run_demo(folder, applications, cvs):
        sys.exit(EXIT_ERROR)


@cli.command()
@_FOLDER
@click.option(
    "--port", type=click.IntRange(0, 65535), default=3000, show_default=True, help="Of the UI; 0: any."
)
def up(folder: Path, port: int) -> None:
    """The same servers with the Dagster UI, until Ctrl-C."""
    from batch_pipeline.local.demo import stay_up

    stay_up(folder, port)


@cli.command()
@click.argument("key")
def run(key: str) -> None:
    """Take one migration from its file to its end, without Dagster."""
    from batch_pipeline.stages.headless import run as run_headless
    from batch_pipeline.stages.report import cost_report

    with TerminalProgress() as progress, _opened(key, progress) as context:
        outcome = run_headless(context)
        if outcome.step == "paused":
            state = migrations.standing(context.ledger, key).state
            cost = cost_report(context)["total_cost"]
            raise NeedsPerson(
                f"migration {key} is {state}, and has cost {cost} so far: `batch-pipeline resume {key}` goes on"
            )
        _print_report(context)


@cli.group()
def migration() -> None:
    """Migration files: make, list, show, check."""


@migration.command("new")
@click.argument("key")
@click.option("--export", "export", required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--tenant", required=True, help="The customer, as the product names it.")
@click.option("--system", required=True, help="The system the export comes from.")
@click.option("--model", required=True, help="The model's id, as its provider names it.")
@click.option(
    "--provider", "kind", type=click.Choice(KINDS), default="bedrock", show_default=True, help="Who answers."
)
@click.option(
    "--timezone", help="IANA zone of times the export states without one; asked for where there are any."
)
def migration_new(
    key: str, export: Path, tenant: str, system: str, model: str, kind: Kind, timezone: str | None
) -> None:
    """Look at an export and write the migration file it needs."""
    from batch_pipeline.stages.new_migration import write_new

    new = write_new(
        Settings.from_environment().migrations, key, export, tenant, system, model, timezone, kind
    )
    for line in new.unused:
        console.print(f"not read: {line}", markup=False)
    console.print(f"wrote {new.path}: look it over, then `batch-pipeline migration check {key}`")


@migration.command("list")
def migration_list() -> None:
    """All migration files, and where each stands."""
    from batch_pipeline.stages.status import status as status_of

    catalogue = Catalogue(Settings.from_environment().migrations)
    with _ledger() as ledger:
        for key in catalogue.migration_keys():
            known = status_of(ledger, key)
            console.print(f"{key}: {known.line if known else 'not started'}")
    for name in catalogue.misnamed():
        console.print(f"{name}: no key; rename it to lower-case letters, digits and dashes")


@migration.command("show")
@click.argument("key")
def migration_show(key: str) -> None:
    """A migration's settings with every default filled in."""
    import yaml

    loaded = Catalogue(Settings.from_environment().migrations).load(key)
    console.print(yaml.safe_dump(loaded.model_dump(mode="json", by_alias=True), sort_keys=False).rstrip())


@migration.command("check")
@click.argument("key")
def migration_check(key: str) -> None:
    """Read the whole export as the file says; send nothing."""
    from batch_pipeline.stages.dedup import dedup
    from batch_pipeline.stages.raw import nobody_there, read_raw

    with TerminalProgress() as progress, _opened(key, progress) as context:
        with context.ledger.exclusive(f"files of {key}"):
            raw, deduped = read_raw(context), dedup(context)
        if nobody := nobody_there(raw.rows):
            console.print(nobody)
        _table("rows", raw.rows)
        _table("attachments", raw.states)
        for what, found in raw.totals.items():
            _table(f"{what}, by the source's own word", found)
        _table("documents", {**deduped.verdicts, **deduped.routes})
        for notice in raw.notices:
            console.print(f"{notice.table}: {notice.kind}: {notice.detail} ({notice.count})")


@cli.command()
@click.argument("key")
def estimate(key: str) -> None:
    """What a migration will come to, before anything is sent."""
    from batch_pipeline.stages.estimate import estimate as estimate_of

    with TerminalProgress() as progress, _opened(key, progress) as context:
        _table("estimate", estimate_of(context))


@cli.command()
@click.argument("key", required=False)
def status(key: str | None) -> None:
    """Where one migration stands, or all of them."""
    from batch_pipeline.stages.status import all_keys
    from batch_pipeline.stages.status import status as status_of

    with _ledger() as ledger:
        for one in [key] if key else all_keys(ledger):
            known = status_of(ledger, one)
            if known is None:  # not begun, or not there at all
                Catalogue(Settings.from_environment().migrations).require(one)
            console.print(f"{one}: {known.line if known else 'not started'}")
            for failure in documents.failures(ledger, one):
                code = f" {failure.code}" if failure.code is not None else ""
                console.print(
                    f"  {failure.documents} failed: {failure.reason}{code} {failure.message or ''}".rstrip()
                )


@cli.command()
@click.argument("key")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the page for recruiters here.",
)
def report(key: str, page: Path | None) -> None:
    """What came over, what did not, why, and what to do: counts and ids, nobody's name."""
    from batch_pipeline.stages.migration_report import html_report

    with _opened(key) as context:
        if page is None:
            _print_report(context)
        else:
            page.write_text(html_report(context), encoding="utf-8")
            console.print(f"wrote {page}")


@cli.command()
@click.argument("key")
def acknowledge(key: str) -> None:
    """Say that you know of the missing and orphan files of an export; without it nothing is called verified."""
    from batch_pipeline.stages.unaccounted import acknowledge as write_down

    with _ledger() as ledger:
        if not migrations.standing(ledger, key).known:
            Catalogue(Settings.from_environment().migrations).require(key)
        _table("acknowledged", write_down(ledger, key) or {"files missing or orphan": 0})


@cli.command()
@click.argument("key")
def doctor(key: str) -> None:
    """Look at everything a paid call needs; each line passes or says what to do."""
    from batch_pipeline.stages.headless import checks as checks_of

    with _opened(key) as context:
        checks = checks_of(context)
        for check in checks:
            console.print(f"{'ok  ' if check.passed else 'FAIL'} {check.subject}: {check.detail}")
        if not all(check.passed for check in checks):
            sys.exit(EXIT_ERROR)


@cli.command()
@click.argument("key")
def pause(key: str) -> None:
    """Send no further job; what is under way goes on and is kept."""
    with _opened(key) as context:
        migrations.set_state(context.ledger, key, "paused")
        console.print(f"{key} is paused; `batch-pipeline resume {key}` goes on")


@cli.command()
@click.argument("key")
def cancel(key: str) -> None:
    """Send nothing more and stop the jobs under way; their finished answers are kept."""
    from batch_pipeline.stages.cancel import cancel as cancel_jobs

    with _opened(key) as context:
        cancelled = cancel_jobs(context)
        console.print(f"{key}: {cancelled}; `batch-pipeline run {key}` settles what they left")


@cli.command()
@click.argument("key")
@click.option("--retry-failed", is_flag=True, help="Owe again what failed at the provider.")
def resume(key: str, retry_failed: bool) -> None:
    """Go on with a paused, cancelled or held migration."""
    from batch_pipeline.stages.resume import resume as go_on

    with _opened(key) as context:
        again = go_on(context, retry_failed=retry_failed)
        console.print(f"{key} goes on; {again} failed documents are owed again")


@cli.command()
@click.argument("key")
@click.option("--send-again", "choice", flag_value="again", help="Pay for these calls once more.")
@click.option("--give-up", "choice", flag_value="give-up", help="Count them as failed.")
def resolve(key: str, choice: str | None) -> None:
    """Decide about on-demand calls whose end nobody saw."""
    if choice is None:
        raise click.UsageError("give --send-again or --give-up")
    with _opened(key) as context, context.ledger.exclusive(f"calls of {key}"):
        calls = on_demand.open_calls(context.ledger, key)
        for call, _ in calls:
            if choice == "again":
                on_demand.unsent(context.ledger, call)
            else:
                on_demand.given_up(context.ledger, call)
        console.print(f"{len(calls)} calls resolved")


@cli.command()
@click.argument("key")
@click.option("--to", "folder", required=True, type=click.Path(path_type=Path, file_okay=False))
def dataset(key: str, folder: Path) -> None:
    """Write an imported migration's rows as a Parquet dataset, a folder a table."""
    from batch_pipeline.records.dataset import write_dataset
    from batch_pipeline.stages.load import target_of

    with _opened(key) as context:
        url = context.settings.database_url.get_secret_value()
        _table("rows written", write_dataset(url, target_of(context), folder))


@cli.command()
@click.argument("key")
@click.option("--to", "file", required=True, type=click.Path(path_type=Path, dir_okay=False))
def audit(key: str, file: Path) -> None:
    """Write who was sent what, when, under which job, and when it was erased, as CSV: digests and ids alone."""
    from batch_pipeline.stages.audit import write_audit

    with _ledger() as ledger:
        if not migrations.standing(ledger, key).known:
            Catalogue(Settings.from_environment().migrations).require(key)
        count = write_audit(ledger, key, file)
    console.print(f"wrote {file}: {count:,} requests that left for a model", markup=False)


@cli.command("erase-person")
@click.argument("key")
@click.argument("source_id")
@click.confirmation_option(prompt="Erase this person wherever the migration holds them?")
def erase_person(key: str, source_id: str) -> None:
    """Erase one person, by the id the source gave them, at any stage of the migration."""
    from batch_pipeline.stages.erase_person import erase_person as erase_one

    with TerminalProgress() as progress, _opened(key, progress) as context:
        erased = erase_one(context, source_id)
        if not erased.known:
            console.print(
                f"{key}: this person is not known yet: remembered, and left out when the export is read",
                markup=False,
            )
            return
        figures = {f"rows of {table}": count for table, count in erased.rows.items() if count}
        figures |= {"texts": erased.forgotten.texts, "kept answers": erased.forgotten.kept_answers}
        figures["at the provider, erased with the bucket"] = erased.at_provider
        _table("erased", figures)


@cli.command()
@click.argument("key")
@click.confirmation_option(
    prompt="Remove every row this migration brought? Once its answers are erased, reading them again is paid again."
)
@click.option("--with-later", is_flag=True, help="And the rows of every later migration of its system.")
def rollback(key: str, with_later: bool) -> None:
    """Remove exactly this migration's rows from the target database."""
    from batch_pipeline.stages.rollback import rollback as take_out

    with _opened(key) as context:
        done = take_out(context, with_later=with_later)
        _table(f"rows removed, of {', '.join(done.keys)}", done.removed)
        if done.kept_changes:
            console.print(
                f"{done.kept_changes} rows of earlier migrations keep the values it gave them: "
                "run a file of the export they should have again"
            )


@cli.command()
@click.argument("key")
def erase(key: str) -> None:
    """Erase the files of an imported migration; refused while a sum is open."""
    from batch_pipeline.stages.finish import erase_when_imported

    with _opened(key) as context:
        erased = erase_when_imported(context)
        _table("erased", {**vars(erased.objects), "intermediate files": erased.intermediate_files})


@cli.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
)
@click.pass_context
def emulator(arguments: click.Context) -> None:
    """A strict Bedrock batch server of our own, on any S3 server."""
    from batch_pipeline.local.emulator.__main__ import settings_from
    from batch_pipeline.local.emulator.server import serve

    serve(settings_from(arguments.args))


def _print_report(context: Context) -> None:
    from batch_pipeline.stages.finish import is_imported
    from batch_pipeline.stages.report import cost_report
    from batch_pipeline.stages.summary import summary

    if not is_imported(context):
        cost_report(context)  # the figures of a migration at work move with every answer
    for title, rows in summary(context.ledger, context.key).items():
        _table(title, rows)


def _table(title: str, rows: object) -> None:
    assert isinstance(rows, dict)
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value in rows.items():
        table.add_row(str(name).replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
    console.print(table)


def main() -> None:
    """Entry point: every error of ours is words and an exit code, never a traceback."""
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_CONFIGURATION)
    except (click.Abort, KeyboardInterrupt):
        errors.print("interrupted; running it again goes on from here")
        sys.exit(EXIT_INTERRUPTED)
    except (ConfigurationError, SourceError) as error:
        errors.print(str(error), markup=False)
        sys.exit(EXIT_CONFIGURATION)
    except NeedsPerson as error:
        errors.print(str(error), markup=False)
        sys.exit(EXIT_PERSON)
    except BatchPipelineError as error:
        errors.print(str(error), markup=False)
        sys.exit(EXIT_ERROR)
    except OSError as error:
        errors.print(f"{error.filename or 'a file'}: {error.strerror or error}", markup=False)
        sys.exit(EXIT_ERROR)
