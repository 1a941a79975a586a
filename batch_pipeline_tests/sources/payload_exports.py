"""Exports of API payloads: the shared samples, and small ones written on the fly."""

import json
import time
from collections.abc import Callable
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


def source(
    kind: str, now: datetime = NOW, wait: Callable[[float], None] = time.sleep, **settings: Any
) -> PayloadSource:
    config: GreenhouseConfig | LeverConfig | WorkableConfig
    dialect: Greenhouse | Lever | Workable
    if kind == "greenhouse":
        config = GreenhouseConfig.model_validate(settings)
        dialect = Greenhouse(config)
    elif kind == "lever":
        config = LeverConfig.model_validate(settings)
        dialect = Lever(config)
    else:
        config = WorkableConfig.model_validate(settings)
        dialect = Workable(config)
    return PayloadSource(config, config.api, dialect, now=lambda: now, wait=wait)


def read_payloads(kind: str, path: Path, into: Path, **settings: Any) -> SourceReport:
    return source(kind, path=str(path), **settings).read(into)
