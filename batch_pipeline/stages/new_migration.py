"""A migration file proposed from a look at the export."""

from pathlib import Path

import yaml

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.migration import Catalogue, Migration
from batch_pipeline.sources.csv_folder import propose
from batch_pipeline.workspace import atomic_path


def write_new(
    folder: Path, key: str, export: Path, tenant: str, system: str, model: str, timezone: str | None
) -> Path:
    """Write `<folder>/<key>.yaml`, valid and complete; return its path.

    Raises:
        ConfigurationError: the key is taken or no key, or a person must state something first.
        SourceError: the export lacks a table every migration needs.
    """
    path = Catalogue(folder).path(key)
    if path.exists():
        raise ConfigurationError(
            "migration", key, f"{path.name} exists already: choose another key or edit it"
        )
    source = propose(export.absolute(), system=system, timezone=timezone)
    content = {
        "tenant": tenant,
        "source": source.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        | {"kind": "csv_folder", "path": str(export.absolute())},
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
