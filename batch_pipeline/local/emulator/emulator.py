"""The emulated service as one object: parts put together, started, stopped, reset."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from batch_pipeline.local.emulator.clock import Clock, ManualClock, RealClock
from batch_pipeline.local.emulator.control_plane import ControlPlane
from batch_pipeline.local.emulator.daemon_pool import DaemonPool
from batch_pipeline.local.emulator.engines.contract import Engine
from batch_pipeline.local.emulator.engines.fixed import FixedEngine
from batch_pipeline.local.emulator.engines.openai import OpenAIEngine
from batch_pipeline.local.emulator.engines.reader.engine import ReaderEngine
from batch_pipeline.local.emulator.faults import FaultBook
from batch_pipeline.local.emulator.inference import Inference
from batch_pipeline.local.emulator.objects import Objects
from batch_pipeline.local.emulator.rules import Rules
from batch_pipeline.local.emulator.runner import Runner
from batch_pipeline.local.emulator.runtime_plane import RuntimePlane
from batch_pipeline.local.emulator.settings import EmulatorSettings
from batch_pipeline.local.emulator.store import Store

_HTTP_THREADS = 8


def build_engine(settings: EmulatorSettings) -> Engine:
    """The engine the settings name."""
    match settings.engine:
        case "reader":
            return ReaderEngine()
        case "fixed":
            return FixedEngine()
        case "openai":
            assert settings.base_url is not None and settings.model_name is not None
            return OpenAIEngine(
                base_url=settings.base_url,
                model_name=settings.model_name,
                api_key=settings.api_key.get_secret_value() if settings.api_key else None,
                concurrency=settings.engine_concurrency,
                timeout_seconds=settings.engine_timeout_seconds,
            )


class Emulator:
    """State and behaviour behind the HTTP routes."""

    def __init__(self, settings: EmulatorSettings) -> None:
        self.settings = settings
        self.store = Store(settings.state_dir)
        self.clock = self._clock()
        self.faults = FaultBook(settings.faults)
        self.objects = Objects(settings.region)
        self.inference = Inference(build_engine(settings), self.faults)
        self._scratch = (
            tempfile.TemporaryDirectory(prefix="emulator-") if settings.state_dir is None else None
        )
        root = Path(self._scratch.name) if self._scratch else settings.state_dir or Path()
        self.runner = Runner(
            self.store, self.clock, self.faults, self.inference, self.objects, root / "spool", settings.phases
        )
        self.control = ControlPlane(
            self.store, self.clock, self.faults, settings.account_id, self.objects.count_lines
        )
        self.runtime = RuntimePlane(self.store, self.faults, self.inference)
        self.pool = DaemonPool(_HTTP_THREADS, "http")
        self.set_rules(settings.rules)

    @property
    def rules(self) -> Rules:
        return self.control.rules

    def set_rules(self, rules: Rules) -> None:
        self.control.rules = self.runner.rules = self.runtime.rules = rules

    def start(self) -> None:
        if self.settings.clock == "real":
            self.runner.start()

    def stop(self) -> None:
        self.runner.stop()
        self.pool.stop()
        self.store.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    def advance(self, seconds: float) -> datetime:
        """Move a manual clock and every job with it; ValueError with the real clock."""
        if not isinstance(self.clock, ManualClock):
            raise ValueError("the clock is real: start the emulator with --clock manual to move it")
        now = self.clock.advance(seconds)
        self.store.set_state("clock", now.isoformat())
        self.runner.settle()
        return now

    def reset(self) -> None:
        """Forget jobs, tokens, meter and events; faults and rules as at the start."""
        self.runner.forget()
        self.faults.replace(self.settings.faults)
        self.set_rules(self.settings.rules)

    def health(self) -> dict[str, Any]:
        return {
            "status": "ok",
            "engine": self.settings.engine,
            "clock": self.settings.clock,
            "time": self.clock.now().isoformat(),
            "jobs": len(self.store.jobs()),
        }

    def _clock(self) -> Clock:
        if self.settings.clock == "real":
            return RealClock()
        kept = self.store.get_state("clock")
        return ManualClock(datetime.fromisoformat(kept) if kept else datetime.now(UTC))
