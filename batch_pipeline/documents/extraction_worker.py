"""The child process that reads documents: `python -m batch_pipeline.documents.extraction_worker`.

It reads frames (4 bytes length, then MessagePack) from standard input and answers each with one on
standard output. It knows no secret and keeps no file. Whatever a hostile document does to it, the
parent loses one document. It imports nothing of Dagster, polars or a provider, to start quickly.
"""

import os
import resource
import struct
import sys
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from batch_pipeline.documents.classify import judge
from batch_pipeline.documents.page_images import PageImage, ShowLimits
from batch_pipeline.documents.raw_text import ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused
from batch_pipeline.documents.text import extract_text

FRAME: Final = struct.Struct("<I")


class Limits(msgspec.Struct, frozen=True):
    """Of one process (`memory_bytes` of address space) and of one file (`cpu_seconds`)."""

    memory_bytes: int
    cpu_seconds: int
    file_bytes: int
    files_per_process: int


class Task(msgspec.Struct, frozen=True, array_like=True):
    """`show` asks for page images in place of text."""

    path: str
    mime: str
    show: ShowLimits | None = None


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """`unreadable`: the operating system refused the file. `last`: this process ends after it."""

    text: str | None = None
    text_sha: str | None = None
    pages: int | None = None
    needs_vision: bool = False
    reason: str | None = None
    encoding: str | None = None
    kind: str | None = None
    cv_score: float | None = None
    unreadable: bool = False
    last: bool = False
    images: list[PageImage] = []


def show_document(path: Path, kind: str, limits: ShowLimits) -> Answer:
    """One file's page images, or the reason there are none."""
    from batch_pipeline.documents.page_drawing import draw_pages  # noqa: PLC0415 - loads image decoders

    try:
        return Answer(images=draw_pages(path, kind, limits))
    except Refused as refused:
        return Answer(reason=refused.reason.value)
    except MemoryError:
        return Answer(reason=Reason.PARSE_MEMORY.value, last=True)
    except OSError:
        return Answer(unreadable=True)


def read_document(task: Task, limits: ReadLimits) -> Answer:
    """One file's answer. Running out of memory is an answer; any other error ends the process."""
    try:
        found = extract_text(Path(task.path), task.mime, limits)
        judged = judge(found.text) if found.text is not None else None
    except MemoryError:
        return Answer(reason=Reason.PARSE_MEMORY.value, last=True)
    except OSError:
        return Answer(unreadable=True)
    return Answer(
        text=found.text,
        text_sha=found.text_sha,
        pages=found.pages,
        needs_vision=found.needs_vision,
        reason=None if found.reason is None else found.reason.value,
        encoding=found.encoding,
        kind=None if judged is None else judged.kind.value,
        cv_score=None if judged is None else judged.score,
    )


def serve(source: BinaryIO, sink: BinaryIO, limits: Limits) -> None:
    """Answer tasks until the input ends."""
    tasks = msgspec.msgpack.Decoder(Task)
    answers = msgspec.msgpack.Encoder()
    bounds = ReadLimits(file_bytes=limits.file_bytes)
    served = 0
    sink.write(FRAME.pack(0))  # ready: a death before this is no document's fault
    sink.flush()
    while head := source.read(FRAME.size):
        (length,) = FRAME.unpack(head)
        task = tasks.decode(source.read(length))
        _allow_cpu(limits.cpu_seconds)
        answer = (
            read_document(task, bounds)
            if task.show is None
            else show_document(Path(task.path), task.mime, task.show)
        )
        served += 1
        if served >= limits.files_per_process:
            answer = msgspec.structs.replace(answer, last=True)
        frame = answers.encode(answer)
        sink.write(FRAME.pack(len(frame)) + frame)
        sink.flush()
        if answer.last:
            return


def _allow_cpu(seconds: int) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(usage.ru_utime + usage.ru_stime) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, hard))


def main() -> None:
    limits = msgspec.json.decode(sys.argv[1].encode(), type=Limits)
    sink = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # a native library's chatter must not look like an answer
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    serve(sys.stdin.buffer, sink, limits)


if __name__ == "__main__":
    main()
