"""`imported_records`: the migration's rows into the target database, in one verified transaction."""

from dataclasses import dataclass
from typing import Any

from batch_pipeline.errors import ConfigurationError, OpenSums, TransientError
from batch_pipeline.ledger import migrations
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.target import Target
from batch_pipeline.records.verify import verify
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.left_out import everybody_is_left_out


@dataclass(frozen=True)
class Imported:
    """Rows by table: staged, inserted, updated, unchanged; and how many were compared afterwards."""

    tables: dict[str, dict[str, int]]
    compared: int


def target_of(context: Context) -> Target:
    """Where the migration's rows go.

    Raises:
        ConfigurationError: the file names another place than the one its rows are in.
    """
    migration = context.migration
    target = Target(
        tenant=migration.tenant,
        source_system=str(migration.source.get("system", migration.source["kind"])),
        migration=migration.key,
        schema=migration.target.schema_name,
    )
    before = migrations.report(context.ledger, context.key).get("target")
    for name, field, now in (
        ("schema", "target.schema", target.schema),
        ("system", "source.system", target.source_system),
    ):
        if before and before[name] != now:
            raise ConfigurationError(
                f"{migration.key}.yaml: {field}",
                now,
                f"rows of this migration are in the database under {before[name]}: put the setting back",
            )
    return target


def load(context: Context) -> Imported:
    """Import and compare; running it again changes nothing.

    Raises:
        TransientError: somebody was erased since the export was read; reading it again leaves them out.
        OpenSums: rows in the database differ from the files they came from.
    """
    if not everybody_is_left_out(context):
        raise TransientError(
            f"migration {context.key}: a person was erased since the export was read; nothing was imported. "
            "Run again: it is read without them"
        )
    target = target_of(context)
    url = context.settings.database_url.get_secret_value()
    place = {"schema": target.schema, "system": target.source_system}
    migrations.keep_report(context.ledger, context.key, {"target": place})
    report = import_migration(url, target, context.workspace)
    verified = verify(url, target, context.workspace)
    if not verified.passed:
        raise OpenSums(
            f"migration {context.key}: rows in the database differ from what was imported; nothing was erased:\n"
            + "\n".join(verified.differences[:20])
        )
    figures: dict[str, Any] = report.as_dict()["tables"]
    result = Imported(figures, sum(verified.rows.values()))
    migrations.keep_report(context.ledger, context.key, {"imported_records": figures})
    return result
