"""What Bedrock checks while a job is Validating: reach, format, counts and sizes, never the prompts."""

from pathlib import Path
from typing import Final

import msgspec

from batch_pipeline.local.emulator.control_plane import too_few
from batch_pipeline.local.emulator.job import InputFile, Job
from batch_pipeline.local.emulator.objects import ObjectError, Objects
from batch_pipeline.local.emulator.rules import Rules
from batch_pipeline.local.emulator.spool import Spool, records


class RecordLine(msgspec.Struct):
    """One input line. Other members are ignored."""

    modelInput: dict[str, object]  # noqa: N815 -- the wire's name
    recordId: str | None = None  # noqa: N815


DECODER: Final = msgspec.json.Decoder(RecordLine)


class JobRefused(Exception):
    """The job fails validation; the message is what Get shows."""


def validate(job: Job, objects: Objects, spool: Spool, rules: Rules) -> list[InputFile]:
    """Download and check every input file; JobRefused or ObjectError where the job must fail."""
    limits = rules.limits
    sources = objects.inputs(job)
    if not sources:
        raise ObjectError("The input location holds no file that ends in .jsonl.")
    if sum(source.bytes for source in sources) > limits.max_job_bytes:
        raise JobRefused(f"The input files exceed the job size limit of {limits.max_job_bytes} bytes.")
    seen: set[str] | None = set() if rules.unknowns.duplicate_record_ids == "fail_job" else None
    files: list[InputFile] = []
    for index, source in enumerate(sources):
        if source.bytes > limits.max_file_bytes:
            raise JobRefused(f"An input file exceeds the size limit of {limits.max_file_bytes} bytes.")
        objects.download(source, spool.input(index), job)
        count = _check_lines(spool.input(index), rules, seen)
        files.append(InputFile(key=source.key, bytes=source.bytes, records=count))
    total = sum(file.records for file in files)
    if total < limits.min_records_per_job:
        raise JobRefused(too_few(total, limits.min_records_per_job))
    if total > limits.max_records_per_job:
        raise JobRefused(
            f"Batch job contains more records ({total}) than the maximum of: {limits.max_records_per_job}."
        )
    return files


def _check_lines(path: Path, rules: Rules, seen: set[str] | None) -> int:
    most, longest = rules.limits.max_records_per_file, rules.unknowns.record_id_max_length
    count = 0
    for count, line in enumerate(records(path), 1):
        if count > most:
            raise JobRefused(f"An input file contains more records than the maximum of: {most}.")
        try:
            record = DECODER.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise JobRefused(
                f"Line {count} of an input file is not a JSON object with a modelInput object."
            ) from error
        if record.recordId is None:
            continue
        if longest is not None and len(record.recordId) > longest:
            raise JobRefused(f"Line {count} of an input file has a recordId longer than {longest}.")
        if seen is not None:
            if record.recordId in seen:
                raise JobRefused(f"Line {count} of an input file repeats a recordId.")
            seen.add(record.recordId)
    return count
