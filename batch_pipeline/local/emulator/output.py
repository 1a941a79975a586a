"""A job's output objects: shuffled lines, manifest, and the faults that damage them."""

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from batch_pipeline.local.emulator.faults import Faults, OutputFaults
from batch_pipeline.local.emulator.inference import Outcome, RequestError
from batch_pipeline.local.emulator.job import Job
from batch_pipeline.local.emulator.objects import Objects, split_uri
from batch_pipeline.local.emulator.rules import Rules
from batch_pipeline.local.emulator.spool import Spool, records
from batch_pipeline.local.emulator.store import Store
from batch_pipeline.local.emulator.validation import DECODER


def output_line(record_id: str, body: Any, outcome: Outcome, faults: OutputFaults) -> bytes:
    """One line with its line feed. Non-ASCII stays as it is: U+2028 and U+0085 are not escaped."""
    line: dict[str, Any] = {} if faults.missing_echo else {"modelInput": body}
    if outcome.error is None:
        line["modelOutput"] = outcome.output
    else:
        line |= _error_members(outcome.error, faults)
    line["recordId"] = record_id
    return msgspec.json.encode(line) + b"\n"


def _error_members(error: RequestError, faults: OutputFaults) -> dict[str, Any]:
    code: int | str = str(error.code) if faults.text_error_codes else error.code
    if faults.errors_inside_output:
        return {"modelOutput": {"errorCode": code, "errorMessage": error.message}}
    members = {"errorCode": code, "errorMessage": error.message}
    return {"error": members | {"expired": error.expired, "retryable": error.retryable}}


def write_output(
    job: Job, spool: Spool, objects: Objects, store: Store, faults: Faults, rules: Rules
) -> None:
    """Upload what the job has answered so far, and its manifest. ObjectError when S3 refuses."""
    names = _names(job, nested=rules.unknowns.output_layout == "nested")
    if job.status == "PartiallyCompleted" and rules.unknowns.expired_lines == "error_lines":
        _add_expired(job, spool, faults.output)
    if not faults.output.missing_output_files:
        for index, name in enumerate(names):
            if not spool.output(index).exists():
                continue
            final = spool.scratch(f"final-{index}.jsonl")
            _write_final(spool.output(index), final, faults.output, seed=f"{job.id}/{index}")
            objects.upload(final, job, f"{name}.out")
            final.unlink()
    if not faults.output.missing_manifest:
        manifest = spool.scratch("manifest.json")
        manifest.write_bytes(msgspec.json.encode(_manifest(job, store, faults)))
        objects.upload(manifest, job, "manifest.json.out")


def _names(job: Job, *, nested: bool) -> list[str]:
    """Output names below the job folder; same file names of different folders stay apart."""
    _, prefix = split_uri(job.input["s3Uri"])
    folder = "" if prefix.endswith(".jsonl") else f"{prefix.rstrip('/')}/".lstrip("/")
    flat = [file.key.rsplit("/", 1)[-1] for file in job.files]
    if nested or len(set(flat)) < len(flat):
        return [
            file.key.removeprefix(folder) if folder else name
            for file, name in zip(job.files, flat, strict=True)
        ]
    return flat


def _manifest(job: Job, store: Store, faults: Faults) -> dict[str, int]:
    spent = store.rows(
        "SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM paid WHERE job_id = ?",
        job.id,
    )[0]
    manifest = {"inputTokenCount": spent[0], "outputTokenCount": spent[1]} | faults.output.manifest_extra
    if faults.jobs.counters == "missing":
        return manifest
    right = faults.jobs.counters == "right"
    return {
        "totalRecordCount": job.total if right else 0,
        "processedRecordCount": job.processed if right else 0,
        "successRecordCount": job.succeeded if right else 0,
        "errorRecordCount": job.failed if right else 0,
    } | manifest


def _add_expired(job: Job, spool: Spool, faults: OutputFaults) -> None:
    """Error lines for the records the job never reached."""
    done = job.processed
    for index, file in enumerate(job.files):
        skipped = min(done, file.records)
        done -= skipped
        with spool.output(index).open("ab") as sink:
            for number, line in enumerate(islice(records(spool.input(index)), skipped, None), skipped):
                record = DECODER.decode(line)
                expired = RequestError(408, "The job ran out of time before this record.", True, True)
                outcome = Outcome("", None, expired, 0, 0)
                record_id = record.recordId or invented_record_id(job, index, number)
                sink.write(output_line(record_id, record.modelInput, outcome, faults))


def invented_record_id(job: Job, file: int, line: int) -> str:
    """The id of a record that came without one."""
    return f"{job.id}{file:04d}{line:08d}"


def _write_final(source: Path, target: Path, faults: OutputFaults, seed: str) -> None:
    """Copy lines in their final order, damaged as asked; only their places are held in memory."""
    draw = random.Random(seed)  # noqa: S311 -- order, not a secret
    places = list(_places(source))
    if not faults.keep_order:
        draw.shuffle(places)
    order = places[faults.missing_lines :] if faults.missing_lines else places
    order = order + order[: faults.duplicate_lines]
    altered = range(faults.altered_echo)
    unknown = range(faults.altered_echo, faults.altered_echo + faults.unknown_record_ids)
    corrupt = range(unknown.stop, unknown.stop + faults.corrupt_lines)
    with source.open("rb") as lines, target.open("wb") as sink:
        for number, (offset, length) in enumerate(order):
            lines.seek(offset)
            line = lines.read(length)
            if number in altered:
                line = _changed(line, "modelInput", {"altered": True})
            elif number in unknown:
                line = _changed(line, "recordId", f"unknown-{number}")
            elif number in corrupt:
                line = b'{"modelInput": \xff\xfe not json\n'
            if faults.truncated_last_line and number == len(order) - 1:
                line = line[: len(line) // 2]
            sink.write(line)


def _changed(line: bytes, member: str, value: object) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(line) | {member: value}) + b"\n"


def _places(source: Path) -> Iterator[tuple[int, int]]:
    offset = 0
    with source.open("rb") as lines:
        for line in lines:
            yield offset, len(line)
            offset += len(line)
