"""A migration file proposed from a look at the export."""

from pathlib import Path

import yaml

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.migration import Catalogue, Migration
from batch_pipeline.sources.base import open_source
from batch_pipeline.sources.csv_folder import propose
from batch_pipeline.sources.recognition import propose_payloads
from batch_pipeline.workspace import atomic_path


def write_new(
    folder: Path, key: str, export: Path, tenant: str, system: str, model: str, timezone: str | None
) -> Path:
    """Write `<folder>/<key>.yaml`, valid and complete; return its path.

    Saved payloads of an API are recognised by the names of their files; everything else is read as CSV.

    Raises:
        ConfigurationError: the key is taken or no key, a person must state something first, or the
            files may be of two systems.
        SourceError: the export lacks a table every migration needs.
    """
    path = Catalogue(folder).path(key)
    if path.exists():
        raise ConfigurationError(
            "migration", key, f"{path.name} exists already: choose another key or edit it"
        )
    content = {
        "tenant": tenant,
        "source": _source_section(export.absolute(), system, timezone),
        "provider": {"kind": "bedrock", "model": model},
        "start": {"when": "by_hand", "timezone": timezone or "UTC"},
    }
    with atomic_path(path) as partial:
        partial.write_text(
            f"# Migration {key}. Every setting: docs/migration-file.md\n"
            + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        )
        # read as what it will be called: a proposal that cannot be loaded must not be left behind
        Migration.parse(partial.read_bytes(), path)
    return path


def _source_section(export: Path, system: str, timezone: str | None) -> dict[str, object]:
    payloads = propose_payloads(export, system)
    if payloads is not None:
        open_source(payloads)  # a setting that is wrong is named now, not when the migration starts
        return payloads
    source = propose(export, system=system, timezone=timezone)
    stated = source.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return stated | {"kind": "csv_folder", "path": str(export)}
