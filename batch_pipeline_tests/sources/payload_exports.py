"""Exports of API payloads: the shared samples, and small ones written on the fly."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from batch_pipeline.sources.base import SourceReport
from batch_pipeline.sources.greenhouse import Greenhouse, GreenhouseConfig
from batch_pipeline.sources.lever import Lever, LeverConfig
from batch_pipeline.sources.payload_source import PayloadSource
from batch_pipeline.sources.workable import Workable, WorkableConfig

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
SAMPLES = SHARED / "ats_samples"
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def write_lists(folder: Path, **lists: Any) -> Path:
    """Payload lists as `<name>.json`; a name with `__` is `<list>/<owner>.json`."""
    for name, content in lists.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def source(kind: str, now: datetime = NOW, **settings: Any) -> PayloadSource:
    if kind == "greenhouse":
        greenhouse = GreenhouseConfig.model_validate(settings)
        return PayloadSource(greenhouse, greenhouse.api, Greenhouse(greenhouse), now=lambda: now)
    if kind == "lever":
        lever = LeverConfig.model_validate(settings)
        return PayloadSource(lever, lever.api, Lever(lever), now=lambda: now)
    workable = WorkableConfig.model_validate(settings)
    return PayloadSource(workable, workable.api, Workable(workable), now=lambda: now)


def read_payloads(kind: str, path: Path, into: Path, **settings: Any) -> SourceReport:
    return source(kind, path=str(path), **settings).read(into)
