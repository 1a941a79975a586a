"""Hashing and text extraction on a real Dask cluster: equal outcomes, and what goes wrong is said."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from distributed import Client, LocalCluster

from batch_pipeline.documents import cluster, mime
from batch_pipeline.documents.dedup import distinct_files
from batch_pipeline.documents.extraction import extract, read_outcomes
from batch_pipeline.documents.extraction_run import ExtractionLimits
from batch_pipeline.documents.hashing import fingerprint_files
from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.local.sample import make_sample
from batch_pipeline_tests.documents import made_files as made
from batch_pipeline_tests.documents.dask_tasks import tasks_done
from batch_pipeline_tests.documents.test_extraction import File, file, outcome, texts

FREE_SECONDS = 10.0


def notes(folder: Path, count: int) -> list[File]:
    """Files that are read in no time."""
    return [file(folder, f"Curriculum vitae of number {n}\n".encode() * 9, mime.TEXT) for n in range(count)]


def held(running: LocalCluster) -> int:
    return len(running.scheduler.tasks)


def let_go(running: LocalCluster) -> bool:
    deadline = time.monotonic() + FREE_SECONDS
    while held(running) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not held(running)


def kill_workers(running: LocalCluster) -> None:
    with Client(running, set_as_default=False) as client:
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)


@contextmanager
def empty_cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=0, dashboard_address=":0") as running:
        yield running


def test_a_cluster_finds_what_this_machine_finds(dask_cluster: LocalCluster, tmp_path: Path) -> None:
    make_sample(tmp_path / "export", 400, 300, 7)
    paths = sorted(str(path) for path in (tmp_path / "export").rglob("*") if path.is_file())
    paths.insert(3, str(tmp_path / "not-there.pdf"))
    assert len(paths) > 2 * cluster.CHUNK_FILES
    here = list(fingerprint_files(paths, 1))
    there = list(fingerprint_files(paths, 1, dask_cluster.scheduler_address))
    assert there == here
    fetched = pl.DataFrame(
        [(f.path, f.path, f.mime, "fetched", None, f.md5) for f in here if f.md5],
        schema=["source_id", "local_path", "sniffed_mime", "state", "reason", "document_md5"],
        orient="row",
    )
    files = list(distinct_files(fetched))
    alone = extract(files, tmp_path / "alone", 2)
    spread = extract(files, tmp_path / "spread", 2, scheduler=dask_cluster.scheduler_address)
    assert spread == alone
    assert spread.reasons
    for read in (lambda out: read_outcomes(out).collect(), texts):
        assert read(tmp_path / "spread").sort("md5").equals(read(tmp_path / "alone").sort("md5"))
    assert let_go(dask_cluster)


def test_a_worker_that_is_killed_costs_nothing_but_time(dask_cluster: LocalCluster, tmp_path: Path) -> None:
    slow = file(tmp_path / "in", made.pdf_that_takes_for_ever())
    many = notes(tmp_path / "in", 2 * cluster.CHUNK_FILES)
    files = [*many[:250], slow, *many[250:]]
    under_way: list[str] = []

    def progress(count: int) -> None:
        if count == 1:
            under_way.extend(task.state for task in list(dask_cluster.scheduler.tasks.values()))
            kill_workers(dask_cluster)

    limits = ExtractionLimits(cpu_seconds=1)
    report = extract(files, tmp_path / "texts", 1, limits, progress, dask_cluster.scheduler_address)
    assert "processing" in under_way
    assert (report.extracted, report.restarts) == (len(files), 1)
    assert report.reasons == {"parse_timeout": 1}
    assert outcome(tmp_path / "texts", slow[0])["reason"] == "parse_timeout"
    assert not read_outcomes(tmp_path / "texts").collect()["md5"].is_duplicated().any()
    assert let_go(dask_cluster)


def test_a_run_that_is_broken_off_leaves_nothing_in_the_cluster(
    dask_cluster: LocalCluster, tmp_path: Path
) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    files = notes(tmp_path / "in", 5 * cluster.CHUNK_FILES)
    with pytest.raises(KeyboardInterrupt):
        extract(files, tmp_path / "texts", 1, on_progress=stop, scheduler=dask_cluster.scheduler_address)
    assert let_go(dask_cluster)
    assert read_outcomes(tmp_path / "texts").collect().height == 1


def refuse(paths: list[str]) -> list[str]:
    raise ValueError(f"cannot read {paths[0]}")


def test_an_error_on_a_worker_names_its_class_and_nothing_of_the_files(dask_cluster: LocalCluster) -> None:
    work = cluster.map_on_cluster(dask_cluster.scheduler_address, refuse, ["Ada-Example.pdf"], in_order=True)
    with (
        tasks_done(dask_cluster) as keys,
        pytest.raises(TerminalError, match=r"^a chunk of files failed on a Dask worker: ValueError$"),
    ):
        list(work)
    assert len(keys) == 1
    assert re.fullmatch("batch-pipeline-[0-9a-f]{32}", keys[0])
    with Client(dask_cluster, set_as_default=False) as client:
        logs = [client.get_worker_logs(), client.get_worker_logs(nanny=True), client.get_scheduler_logs()]
    assert "Ada" not in str(logs)


def test_a_file_that_workers_do_not_see_is_not_missing(
    dask_cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (only_here,) = notes(tmp_path, 1)
    monkeypatch.chdir(tmp_path)  # the workers are elsewhere
    name = Path(only_here[1]).name
    address = dask_cluster.scheduler_address
    told = f"BATCH_PIPELINE_DASK = '{address}': a worker cannot read a file that this machine can: mount"
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        list(fingerprint_files(["gone.pdf", name], 1, address))
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        extract([(only_here[0], name, mime.TEXT)], tmp_path / "texts", 1, scheduler=address)


def test_a_scheduler_that_does_not_answer_is_named_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 1.0)
    started = time.monotonic()
    with pytest.raises(TransientError, match=r"scheduler at tcp://127\.0\.0\.1:1 does not answer"):
        list(fingerprint_files(["a.pdf"], 1, "tcp://127.0.0.1:1"))
    assert time.monotonic() - started < 10


def test_nobody_is_asked_where_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert list(fingerprint_files([], 1, "tcp://127.0.0.1:1")) == []
    assert extract([], tmp_path / "texts", 1, scheduler="tcp://127.0.0.1:1").extracted == 0


def test_an_encrypted_address_without_certificates_asks_for_them() -> None:
    with pytest.raises(ConfigurationError, match="CA_FILE"):
        list(fingerprint_files(["a.pdf"], 1, "tls://127.0.0.1:1"))


def test_a_cluster_without_workers_asks_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_WORKER_SECONDS", 0.5)
    with (
        empty_cluster() as running,
        pytest.raises(TransientError, match=f"has no worker: .*`dask worker {running.scheduler_address}`"),
    ):
        list(fingerprint_files(["a.pdf"], 1, running.scheduler_address))


@contextmanager
def worker_of(running: LocalCluster, first_on_path: Path) -> Iterator[None]:
    """A worker of `running` that finds modules and versions there before all others."""
    words = [sys.executable, "-m", "dask", "worker", running.scheduler_address, "--no-dashboard"]
    path = os.pathsep.join([str(first_on_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen([*words, "--nthreads", "1"], env=environment, cwd=first_on_path) as worker:
        try:
            yield
        finally:
            worker.terminate()


def test_a_worker_of_another_version_is_refused_by_both_names(tmp_path: Path) -> None:
    other = tmp_path / "batch_pipeline-0.0.7.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: batch-pipeline\nVersion: 0.0.7\n")
    mine = cluster.versions()
    theirs = re.sub(r"batch-pipeline [^,]+", "batch-pipeline 0.0.7", mine)
    told = f"a worker has {theirs}; this machine has {mine}: "
    with (
        empty_cluster() as running,
        worker_of(running, tmp_path),
        pytest.raises(ConfigurationError, match=re.escape(told)),
    ):
        list(fingerprint_files(["a.pdf"], 1, running.scheduler_address))


def test_a_worker_without_the_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "batch_pipeline").mkdir()
    (tmp_path / "batch_pipeline" / "__init__.py").touch()
    told = f"a worker has no batch_pipeline that can be loaded; this machine has {cluster.versions()}: "
    with (
        empty_cluster() as running,
        worker_of(running, tmp_path),
        pytest.raises(ConfigurationError, match=re.escape(told)),
    ):
        list(fingerprint_files(["a.pdf"], 1, running.scheduler_address))


def test_without_dask_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigurationError, match=re.escape("pip install 'batch-pipeline[dask]'")):
        list(fingerprint_files(["a.pdf"], 1, "tcp://127.0.0.1:1"))


def test_a_chunk_that_ends_every_worker_stops_the_run_and_keeps_what_was_read(
    dask_cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster.scheduler, "allowed_failures", 0)
    slow = file(tmp_path / "in", made.pdf_that_takes_for_ever())
    files = [*notes(tmp_path / "in", cluster.CHUNK_FILES), slow]

    def progress(count: int) -> None:
        if count == 1:
            kill_workers(dask_cluster)

    address = dask_cluster.scheduler_address
    with pytest.raises(TransientError, match=r"ended every worker .* run again") as raised:
        extract(files, tmp_path / "texts", 1, on_progress=progress, scheduler=address)
    assert str(tmp_path) not in str(raised.value)
    assert read_outcomes(tmp_path / "texts").collect().height == cluster.CHUNK_FILES
    assert let_go(dask_cluster)
