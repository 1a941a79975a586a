"""A migration file proposed from a look at the export."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from batch_pipeline.errors import ConfigurationError, NeedsPerson
from batch_pipeline.migration import Catalogue, Migration
from batch_pipeline.provider_settings import Kind
from batch_pipeline.sources.base import open_source
from batch_pipeline.sources.csv_folder import propose
from batch_pipeline.sources.recognition import propose_payloads
from batch_pipeline.workspace import atomic_path


@dataclass(frozen=True)
class NewFile:
    """The file that was written; each of `unused` names a file of the export that no table is made of."""

    path: Path
    unused: tuple[str, ...]


def write_new(
    folder: Path,
    key: str,
    export: Path,
    tenant: str,
    system: str,
    model: str,
    timezone: str | None,
    kind: Kind = "bedrock",
) -> NewFile:
    """Write `<folder>/<key>.yaml`, complete but for what only a person knows.

    Saved payloads of an API are recognised by the names of their files; everything else is read as CSV.

    Raises:
        ConfigurationError: the key is taken or no key, the zone is not stated, or the files may be of
            two systems; nothing was written.
        SourceError: the export cannot be read; nothing was written.
        NeedsPerson: the file is written, with a `?` at every place the error names.
    """
    path = Catalogue(folder).path(key)
    if path.exists():
        raise ConfigurationError(
            "migration", key, f"{path.name} exists already: choose another key or edit it"
        )
    proposed = _source_section(export.absolute(), system, timezone)
    content = {
        "tenant": tenant,
        "source": proposed.source,
        "provider": {"kind": kind, "model": model},
        "start": {"when": "by_hand", "timezone": timezone or "UTC"},
    }
    with atomic_path(path) as partial:
        partial.write_text(
            f"# Migration {key}. Every setting: docs/migration-file.md\n"
            + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        )
        # read as what it will be called: a proposal that cannot be loaded must not be left behind
        Migration.parse(partial.read_bytes(), path)
    if proposed.questions:
        open_places = [f"  - {question.field}: {question.fix}" for question in proposed.questions]
        raise NeedsPerson(
            "\n".join(
                [
                    f"wrote {path} with a `?` at each place that only you can fill in; then "
                    f"`batch-pipeline migration check {key}`:",
                    *open_places,
                ]
            )
        )
    return NewFile(path, proposed.unused)


@dataclass(frozen=True)
class _Proposed:
    source: dict[str, object]
    questions: tuple[ConfigurationError, ...] = ()
    unused: tuple[str, ...] = ()


def _source_section(export: Path, system: str, timezone: str | None) -> _Proposed:
    payloads = propose_payloads(export, system)
    if payloads is not None:
        open_source(payloads)  # a setting that is wrong is named now, not when the migration starts
        return _Proposed(payloads)
    proposal = propose(export, system=system, timezone=timezone)
    stated = proposal.config.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return _Proposed(
        stated | {"kind": "csv_folder", "path": str(export)},
        proposal.questions,
        tuple(f"{notice.table}: {notice.detail}" for notice in proposal.unused),
    )
