"""The embedded stack: PostgreSQL, S3, the Bedrock emulator and, where wanted, Dagster's own processes.

It only starts servers and names their addresses. Everything that uses them reads the same standard
variables it would read on AWS.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import httpx

from batch_pipeline.local.object_store import EmbeddedObjectStore
from batch_pipeline.local.ports import free_ports
from batch_pipeline.local.postgres import EmbeddedPostgres
from batch_pipeline.local.processes import ServerProcess

BUCKET: Final = "migrations"
ACCOUNT: Final = "123456789012"
ROLE: Final = f"arn:aws:iam::{ACCOUNT}:role/batch-pipeline"
EMULATED: Final = ("BEDROCK", "BEDROCK_RUNTIME", "STS", "IAM", "SERVICE_QUOTAS")
_LOCATION: Final = ("-m", "batch_pipeline.definitions", "-a", "definitions")


@dataclass(frozen=True)
class Stack:
    """Running servers: the environment that leads to them, and the UI's address if there is one."""

    folder: Path
    environment: Mapping[str, str]
    emulator: str
    ui: str | None
    servers: Sequence[ServerProcess] = ()

    def check(self) -> None:
        """Raises ServerFailed, naming its log, where one of Dagster's processes ended by itself."""
        for server in self.servers:
            server.check()

    @property
    def migrations(self) -> Path:
        return self.folder / "migrations"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"


@contextmanager
def running_stack(
    folder: Path,
    *,
    daemon: bool = False,
    ui_port: int | None = None,
    poll_seconds: float = 3.0,
    say: Callable[[str], None] | None = None,
) -> Iterator[Stack]:
    """Start everything below `folder`; stop it all when the block ends, in whatever way.

    `daemon` adds the Dagster daemon (sensors, schedules, run queue), `ui_port` the web UI (0: any).
    """
    tell = say or _silent
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with ExitStack() as servers:
        tell("starting PostgreSQL")
        database = servers.enter_context(EmbeddedPostgres(folder / "postgres"))
        tell("starting the S3 server")
        store = servers.enter_context(EmbeddedObjectStore(folder / "s3"))
        store.create_bucket(BUCKET)
        tell("starting the Bedrock emulator")
        emulator = servers.enter_context(_emulator(folder, store.environment()))
        environment = {
            **store.environment(),
            **{f"AWS_ENDPOINT_URL_{service}": emulator for service in EMULATED},
            "DATABASE_URL": database.url,
            "BATCH_PIPELINE_HOME": str(folder / "work"),
            "BATCH_PIPELINE_MIGRATIONS": str(folder / "migrations"),
            "BATCH_PIPELINE_BUCKET": BUCKET,
            "BATCH_PIPELINE_ROLE_ARN": ROLE,
            "BATCH_PIPELINE_POLL_SECONDS": str(poll_seconds),
            "DAGSTER_HOME": str(_dagster_home(folder)),
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }
        (folder / "migrations").mkdir(exist_ok=True)
        ui = None
        dagster = []
        if ui_port is not None:
            tell("starting the Dagster UI")
            ui = f"http://127.0.0.1:{ui_port or free_ports(1)[0]}"
            dagster.append(servers.enter_context(_ui(folder, environment, ui)))
        if daemon:
            tell("starting the Dagster daemon")
            command = ["-m", "dagster._daemon", "run", *_LOCATION]
            dagster.append(servers.enter_context(_server(folder, "dagster-daemon", command, environment)))
        yield Stack(folder, environment, emulator, ui, dagster)
        tell("stopping")


def _silent(_: str) -> None:
    pass


def _dagster_home(folder: Path) -> Path:
    home = folder / "dagster"
    home.mkdir(exist_ok=True)
    configuration = files("batch_pipeline.orchestration") / "dagster.yaml"
    (home / "dagster.yaml").write_text(configuration.read_text())
    return home


@contextmanager
def _emulator(folder: Path, store: Mapping[str, str]) -> Iterator[str]:
    port = free_ports(1)[0]
    command = [
        "-m",
        "batch_pipeline.local.emulator",
        "--port",
        str(port),
        "--state-dir",
        str(folder / "bedrock"),
    ]
    address = f"http://127.0.0.1:{port}"
    with _server(folder, "bedrock-emulator", command, store) as server:
        server.wait_ready(lambda: _answers(f"{address}/_emulator/health"), 60)
        yield address


@contextmanager
def _ui(folder: Path, environment: Mapping[str, str], address: str) -> Iterator[ServerProcess]:
    _, _, port = address.rpartition(":")
    command = ["-m", "dagster_webserver", "-h", "127.0.0.1", "-p", port, *_LOCATION]
    with _server(folder, "dagster-webserver", command, environment) as server:
        server.wait_ready(lambda: _answers(f"{address}/server_info"), 180)
        yield server


def _server(folder: Path, name: str, arguments: list[str], environment: Mapping[str, str]) -> ServerProcess:
    return ServerProcess(
        name=name,
        command=[sys.executable, *arguments],
        log=folder / "logs" / f"{name}.log",
        cwd=folder,
        environment={**environment, "PYTHONUNBUFFERED": "1", "PATH": os.environ.get("PATH", "")},
        stop_seconds=30.0,
    )


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2.0).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
