"""A function over chunks of items on a Dask cluster: bounded waiting, nothing left behind.

`distributed` is loaded only here, and only where a scheduler's address is named. Nothing personal
is in a task's key, its representation or its error: Dask shows and logs all three.
"""

import pickle
import platform
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

from batch_pipeline.documents.chunk_pool import CHUNK_FILES, chunked
from batch_pipeline.errors import BatchPipelineError, ConfigurationError, TerminalError, TransientError

if TYPE_CHECKING:
    from distributed import Client, Future

Item = TypeVar("Item")
Result = TypeVar("Result")

SETTING: Final = "BATCH_PIPELINE_DASK"
_DECIDING: Final = ("batch-pipeline", "charset-normalizer", "lxml", "pillow", "pypdfium2")
"""Packages that decide what a file comes to."""
_CHUNKS_PER_THREAD: Final = 2  # one at work, one waiting: no thread waits for this machine
_CONNECT_SECONDS: Final = 5.0
_WORKER_SECONDS: Final = 30.0  # a nanny starts its worker again in a few
_TICK: Final = 1.0


def map_on_cluster(
    scheduler: str,
    function: Callable[[list[Item]], Result],
    items: Iterable[Item],
    *,
    in_order: bool,
    chunk: int = CHUNK_FILES,
) -> Iterator[Result]:
    """What `function` makes of each chunk, in order or as it comes. Without items nobody is asked.

    `function` is one of this package's own, for workers load it by its name. A chunk whose worker
    dies is given to another by Dask. When this ends, however it ends, the cluster holds none of it;
    only a chunk a worker has begun runs to its end there, for nobody.

    Raises:
        ConfigurationError: `distributed` is missing here, or scheduler or workers run other versions.
        TransientError: no scheduler, no workers, or every worker that took a chunk died.
        BatchPipelineError: what `function` raised; of an error that is not ours only the class.
    """
    chunks = enumerate(chunked(items, chunk))
    upcoming = next(chunks, None)
    if upcoming is None:
        return
    waiting: dict[str, int] = {}
    landed: SimpleQueue[Future[Any]] = SimpleQueue()
    held: dict[int, Result] = {}
    turn = 0
    known: set[str] = set()
    with _connected(scheduler) as client:
        seen = time.monotonic()
        while upcoming is not None or waiting:
            threads = _threads(client, scheduler, known)
            if threads:
                seen = time.monotonic()
            elif time.monotonic() - seen > _WORKER_SECONDS:
                raise TransientError(
                    f"the Dask cluster at {scheduler} has no worker: start some with `dask worker {scheduler}`, "
                    "then run again"
                )
            while upcoming is not None and len(waiting) + len(held) < threads * _CHUNKS_PER_THREAD:
                number, some = upcoming
                key = f"batch-pipeline-{uuid.uuid4().hex}"
                waiting[key] = number
                # packed: a worker that cannot load a task logs what it was given
                packed = zlib.compress(pickle.dumps((function, some)))
                future = client.submit(_run, packed, key=key, pure=False)
                future.add_done_callback(landed.put)
                upcoming = next(chunks, None)
            try:
                future = landed.get(timeout=_TICK)
            except Empty:
                continue
            held[waiting.pop(str(future.key))] = _result(future, scheduler)
            future.release()
            if not in_order:
                yield held.popitem()[1]
            while turn in held:
                yield held.pop(turn)
                turn += 1


def not_shared(scheduler: str) -> ConfigurationError:
    """A worker did not see a file that is here: it must not count as missing."""
    return ConfigurationError(
        SETTING,
        scheduler,
        "a worker cannot read a file that this machine can: mount the export and BATCH_PIPELINE_HOME at the "
        "same paths on every worker, readable for the account it runs under, or leave the variable empty",
    )


@cache
def versions() -> str:
    """What of a machine's software decides the outcome of a file, as a person reads it."""
    python = ".".join(platform.python_version_tuple()[:2])
    return ", ".join([*(f"{name} {_version(name)}" for name in _DECIDING), f"Python {python}"])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _run(packed: bytes) -> "tuple[str, Any]":
    """On a worker. An error is an answer: raised, its text would be in the worker's log."""
    function, items = pickle.loads(zlib.decompress(packed))  # noqa: S301 - our own, over Dask's connection
    try:
        return versions(), function(items)
    except BatchPipelineError as error:
        kind = TransientError if isinstance(error, TransientError) else TerminalError
        return versions(), kind(str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, its text may name a file
        return versions(), TerminalError(f"a chunk of files failed on a Dask worker: {type(error).__name__}")


@contextmanager
def _connected(scheduler: str) -> "Iterator[Client]":
    try:
        from distributed import Client, Security  # noqa: PLC0415 - an optional extra, and slow to load
    except ModuleNotFoundError:
        raise ConfigurationError(
            SETTING, scheduler, "Dask is not installed: pip install 'batch-pipeline[dask]'"
        ) from None
    security = Security()
    if scheduler.startswith("tls:") and security.get_connection_args("client")["ssl_context"] is None:
        raise ConfigurationError(
            SETTING,
            scheduler,
            "name Dask's certificates: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ...__CLIENT__CERT",
        )
    try:
        client = Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False, security=security)
    except OSError as error:
        raise _gone(scheduler) from error
    with client:
        try:
            found: object = client.run_on_scheduler(versions)
        except OSError as error:
            raise _gone(scheduler) from error
        except Exception as error:  # noqa: BLE001 - of whatever class Dask makes it on the way
            found = error
        _require_same(found, scheduler, "its scheduler")  # it loads tasks too
        yield client


def _gone(scheduler: str) -> TransientError:
    return TransientError(
        f"the Dask scheduler at {scheduler} does not answer: start it with `dask scheduler`, or mend {SETTING}, "
        "then run again; what was read is kept"
    )


def _threads(client: "Client", scheduler: str, known: set[str]) -> int:
    """Threads of all workers; those not `known` are asked first what they run, and are known then."""
    try:
        found = client.nthreads()
        new = sorted(set(found) - known)
        answers = client.run(versions, workers=new, on_error="return") if new else {}
    except OSError as error:
        raise _gone(scheduler) from error
    for answer in answers.values():
        if not isinstance(answer, OSError):  # a worker that is gone again
            _require_same(answer, scheduler, "a worker")
    known.update(new)
    return sum(found.values())


def _require_same(found: object, scheduler: str, who: str) -> None:
    if found != versions():
        theirs = found if isinstance(found, str) else "no batch_pipeline that can be loaded"
        raise ConfigurationError(
            SETTING,
            scheduler,
            f"{who} has {theirs}; this machine has {versions()}: install from the same lock on every machine",
        )


def _result(future: "Future[Any]", scheduler: str) -> Any:
    from distributed import KilledWorker  # noqa: PLC0415 - see above

    try:
        theirs, result = future.result()
    except KilledWorker:
        raise TransientError(
            f"a chunk of files ended every worker of the Dask cluster at {scheduler} that took it: look at their "
            "memory and logs, then run again; what was read is kept"
        ) from None
    except (CancelledError, OSError) as error:
        raise _gone(scheduler) from error
    _require_same(theirs, scheduler, "a worker")
    if isinstance(result, BatchPipelineError):
        raise result
    return result
