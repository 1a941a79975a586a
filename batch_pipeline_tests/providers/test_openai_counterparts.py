"""The OpenAI adapter against two servers that know nothing of us: aimock and OGX.

`make counterparts` installs both beside our own environment, each where what it runs on is there; they are
no dependencies of ours. OGX runs the lines of a batch for real and has aimock answer them.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import httpx
import pytest

from batch_pipeline.answers.envelope import Answer, RecordError
from batch_pipeline.errors import TransientError
from batch_pipeline.local.ports import free_ports
from batch_pipeline.local.processes import ServerProcess
from batch_pipeline.providers.contract import LostAnswer
from batch_pipeline.providers.job_names import job_name
from batch_pipeline.providers.openai import OpenAIBatch
from batch_pipeline_tests.providers.fakes.openai import MODEL
from batch_pipeline_tests.providers.openai_place import (
    BODY,
    LONG_AGO,
    ended,
    lines_of,
    provider,
    ready,
    record_id,
    request,
    sent,
    shard,
    shard_of,
)
from batch_pipeline_tests.providers.silent_server import cutting_relay

FOLDER: Final = Path(os.environ.get("COUNTERPARTS", Path(sys.prefix) / "counterparts"))
AIMOCK: Final = FOLDER / "aimock/node_modules/@copilotkit/aimock/dist/cli.js"
OGX: Final = FOLDER / "ogx/bin/ogx"
REFUSED: Final = "To be refused"
FIXTURES: Final = [
    {
        "match": {"userMessage": REFUSED},
        "response": {"error": {"message": "No.", "type": "invalid_request_error"}, "status": 400},
    },
    {"match": {"model": MODEL}, "response": {"content": '{"basics": {}}'}},
]

pytestmark = pytest.mark.servers


@dataclass(frozen=True)
class Aimock:
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def provider(self, key: str, **headers: str) -> OpenAIBatch:
        """The adapter; headers say what this server is to do: `batch_outcome="failed"`, `chaos_drop="1"`."""
        of = provider(f"{self.url}/v1", key)
        named = {f"X-AIMock-{name.replace('_', '-')}": value for name, value in headers.items()}
        return replace(of, client=of.client.with_options(default_headers=named))

    def creates(self) -> int:
        """How many create calls reached it, whatever it answered."""
        asked = {"method": "POST", "path": "/v1/batches"}
        found = httpx.get(f"{self.url}/__aimock/journal", params=asked).raise_for_status()
        return sum(entry["path"] == "/v1/batches" for entry in found.json())

    def slow(self, milliseconds: int) -> None:
        """Every answer from now on takes so long."""
        chaos = {"latencyMs": milliseconds}
        httpx.post(f"{self.url}/__aimock/chaos", json=chaos).raise_for_status()


@pytest.fixture(scope="module")
def key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "any")
        for name in ("OPENAI_PROJECT_ID", "OPENAI_ORG_ID", "OPENAI_BASE_URL"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def aimock(key: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    node = shutil.which("node")
    if node is None or not AIMOCK.exists():
        pytest.skip(
            "aimock is not installed (`make counterparts`, with node and npm): "
            "ends of jobs, lost answers and erasure were not tried there"
        )
    folder = tmp_path_factory.mktemp("aimock")
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    made = Aimock(free_ports(1)[0])
    command = [node, str(AIMOCK), "--port", str(made.port), "--fixtures", str(fixtures)]
    with ServerProcess("aimock", command, folder / "log", folder, stop_seconds=5) as server:
        server.wait_ready(lambda: ready(f"{made.url}/v1/models"), 60)
        yield made


@pytest.fixture(scope="module")
def ogx(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address."""
    if not OGX.exists():
        pytest.skip(
            "OGX is not installed (`make counterparts`, with python3.12): "
            "batches that a server really runs, good and bad lines mixed, were not tried there"
        )
    aimock: Aimock = request.getfixturevalue("aimock")
    folder = tmp_path_factory.mktemp("ogx")
    config = folder / "ogx.yaml"
    config.write_text(json.dumps(_ogx_config(folder, f"{aimock.url}/v1")))
    port = free_ports(1)[0]
    # without --insecure it does not start unless it is told who may call
    command = [str(OGX), "run", str(config), "--port", str(port), "--insecure"]
    with ServerProcess("ogx", command, folder / "log", folder, stop_seconds=5) as server:
        server.wait_ready(lambda: ready(f"http://127.0.0.1:{port}/v1/health"), 90)
        yield f"http://127.0.0.1:{port}/v1"


def _ogx_config(folder: Path, answers: str) -> dict[str, object]:
    def table(name: str) -> dict[str, str]:
        return {"table_name": name, "backend": "sql"}

    def service(kind: str, **config: object) -> list[dict[str, object]]:
        return [{"provider_id": kind.rpartition(":")[2], "provider_type": kind, "config": config}]

    return {
        "version": 2,
        "distro_name": "counterpart",
        "apis": ["batches", "files", "inference"],
        "providers": {
            "inference": service("remote::openai", api_key="any", base_url=answers),
            "files": service(
                "inline::localfs", storage_dir=str(folder / "files"), metadata_store=table("files")
            ),
            "batches": service("inline::reference", sqlstore=table("batches")),
        },
        "storage": {
            "backends": {
                "kv": {"type": "kv_sqlite", "db_path": str(folder / "kv.db")},
                "sql": {"type": "sql_sqlite", "db_path": str(folder / "sql.db")},
            },
            "stores": {
                "metadata": {"namespace": "registry", "backend": "kv"},
                "inference": table("inference"),
                "connectors": table("connectors"),
                "conversations": table("conversations"),
                "prompts": table("prompts"),
            },
        },
        "server": {"host": "127.0.0.1"},
    }


def test_aimock_runs_a_job_from_upload_to_erasure(aimock: Aimock) -> None:
    of = aimock.provider("whole")
    assert all(check.passed for check in of.preflight(MODEL, {}))
    job = sent(of, "whole", "0", 1, 2, 3)
    assert of.report(job).phase == "running"
    report = ended(of, job)
    assert (report.status, report.counts.succeeded, report.counts.errored) == ("Completed", 3, 0)
    answers = lines_of(of, job)
    assert [answer.record_id for answer in answers] == [record_id(n) for n in (1, 2, 3)]
    assert all(isinstance(answer, Answer) and answer.output_tokens == 1 for answer in answers)
    assert of.answer(MODEL, "chat_completions", BODY)["choices"]
    done = of.erase([job], LONG_AGO)
    assert (done.deleted, done.left) == (2, 0)
    assert of.erase([job], LONG_AGO).deleted == 0


@pytest.mark.parametrize(
    ("outcome", "status", "errors"),
    [("failed", "Failed", 2), ("expired", "Expired", 0), ("cancelled", "Stopped", 0)],
)
def test_aimock_ends_a_job_early(aimock: Aimock, outcome: str, status: str, errors: int) -> None:
    """Where it failed every record has its error; in the other ends this server writes no file at all."""
    of = aimock.provider(outcome, batch_outcome=outcome)
    job = sent(of, outcome, "0", 1, 2)
    report = ended(of, job)
    assert report.status == status
    assert (report.message or "").startswith("mock_failure") == (outcome == "failed")
    lines = lines_of(of, job)
    assert [type(line) for line in lines] == [RecordError] * errors
    assert of.erase([job], LONG_AGO).left == 0


def test_aimock_stops_a_job(aimock: Aimock) -> None:
    of = aimock.provider("stopped")
    job = sent(of, "stopped")
    of.stop(job)
    assert of.report(job).status == "Stopped"
    of.stop(job)  # it has ended: nothing to do


def test_aimock_shows_a_job_by_its_stamp_behind_a_page_of_others(aimock: Aimock) -> None:
    of = aimock.provider("stamp")
    first = sent(of, "stamp")
    wanted = request(of, job_name("stamp", "0" * 64, 1))
    other = job_name("stamp", "1" * 64, 1)
    of.upload(other, shard(1), 0)
    later = [of.create(request(of, other)) for _ in range(101)]
    # of another process: it knows no id
    found = aimock.provider("stamp").find(wanted, LONG_AGO)
    assert found is not None
    assert (found.provider_id, found.name) == (first, wanted.name)
    assert {first, *later} <= {report.provider_id for report in of.reports(LONG_AGO)}
    assert of.find(request(of, job_name("stamp", "2" * 64, 1)), LONG_AGO) is None


def test_aimock_counts_one_create_though_its_answer_was_lost(aimock: Aimock) -> None:
    of = aimock.provider("lost")
    name = job_name("lost", "0" * 64, 1)
    of.upload(name, shard(1), 0)
    before = aimock.creates()
    with cutting_relay(aimock.port) as url:
        cut_off = replace(of, client=of.client.with_options(base_url=f"{url}/v1"))
        with pytest.raises(LostAnswer):
            cut_off.create(request(of, name))
    assert aimock.creates() == before + 1
    found = aimock.provider("lost").find(request(of, name), LONG_AGO)
    assert found is not None
    assert len(lines_of(of, ended(of, found.provider_id).provider_id)) == 1
    assert of.erase([], LONG_AGO).deleted == 2


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("chaos_drop", LostAnswer),
        ("chaos_disconnect", LostAnswer),
        ("chaos_malformed", LostAnswer),
        ("chaos_ratelimit", TransientError),
    ],
)
def test_aimock_counts_one_create_whatever_it_answers(
    aimock: Aimock, fault: str, said: type[Exception]
) -> None:
    of = aimock.provider(fault.replace("_", "-"))
    name = job_name(fault.replace("_", "-"), "0" * 64, 1)
    of.upload(name, shard(1), 0)
    before = aimock.creates()
    faulty = replace(of, client=aimock.provider("any", **{fault: "1"}).client)
    with pytest.raises(said):
        faulty.create(request(of, name))
    assert aimock.creates() == before + 1
    assert of.find(request(of, name), LONG_AGO) is None
    of.discard(name)


def test_ogx_runs_a_job_of_good_and_bad_lines_from_upload_to_erasure(ogx: str) -> None:
    """It writes an answer's body as text, and an error without a response or a code."""
    of = provider(ogx, "mixed", model=f"openai/{MODEL}")
    assert all(check.passed for check in of.preflight(of.section.model, {}))
    name = job_name("mixed", "0" * 64, 1)
    of.upload(name, shard_of("Ada Example", REFUSED, "Grace Example"), 0)
    job = of.create(request(of, name))
    report = ended(of, job)
    assert (report.status, report.counts.succeeded, report.counts.errored) == ("Completed", 2, 1)
    assert (of.totals(name, job).succeeded, of.totals(name, job).errored) == (2, 1)
    lines = lines_of(of, job)
    good = {line.record_id: line for line in lines if isinstance(line, Answer)}
    bad = [line for line in lines if isinstance(line, RecordError)]
    assert sorted(good) == [record_id(1), record_id(3)]
    assert {answer.text for answer in good.values()} == {'{"basics": {}}'}
    assert [error.record_id for error in bad] == [record_id(2)]
    assert "400" in bad[0].message
    assert of.answer(of.section.model, "chat_completions", BODY)["choices"]
    done = of.erase([job], LONG_AGO)
    assert (done.deleted, done.left) == (3, 0)


def test_ogx_completes_a_job_no_line_of_which_was_answered(ogx: str) -> None:
    of = provider(ogx, "refused", model=f"openai/{MODEL}")
    name = job_name("refused", "0" * 64, 1)
    of.upload(name, shard_of(REFUSED, REFUSED), 0)
    job = of.create(request(of, name))
    report = ended(of, job)
    assert (report.status, report.counts.succeeded, report.counts.errored) == ("Completed", 0, 2)
    assert [type(line) for line in lines_of(of, job)] == [RecordError] * 2


def test_ogx_fails_a_job_whose_model_it_does_not_have(ogx: str) -> None:
    of = provider(ogx, "nowhere", model="openai/nowhere")
    job = sent(of, "nowhere")
    report = ended(of, job)
    assert report.status == "Failed"
    assert (report.message or "").startswith("model_not_found (line 1)")
    assert of.outputs("", job) == []
    assert of.erase([job], LONG_AGO).left == 0


def test_ogx_stops_a_job_and_shows_it_by_its_stamp(ogx: str, aimock: Aimock) -> None:
    of = provider(ogx, "slow", model=f"openai/{MODEL}")
    aimock.slow(20_000)
    try:
        job = sent(of, "slow")
        again = provider(ogx, "slow", model=f"openai/{MODEL}")
        wanted = request(again, job_name("slow", "0" * 64, 1))
        found = again.find(wanted, LONG_AGO)
        assert found is not None
        assert (found.provider_id, found.phase) == (job, "running")
        with pytest.raises(TransientError, match="still under way"):
            again.erase([], LONG_AGO)
        assert ended(again, job).status == "Stopped"
    finally:
        aimock.slow(0)
    assert again.erase([], LONG_AGO).deleted == 1
    assert again.find(request(again, job_name("slow", "1" * 64, 1)), LONG_AGO) is None
