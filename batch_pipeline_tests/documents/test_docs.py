"""docs/documents.md says what the code does; the generated parts are the code's own words."""

import re
from pathlib import Path

from batch_pipeline.documents import mime
from batch_pipeline.documents.bundles import BundleLimits
from batch_pipeline.documents.extraction_run import ExtractionLimits
from batch_pipeline.documents.raw_text import ReadLimits
from batch_pipeline.documents.reasons import MEANING, NOT_A_CV, QUARANTINE, Reason, State, Verdict
from batch_pipeline.requests.file_blocks import MAX_DOCUMENT_BYTES, MAX_IMAGE_BYTES, MAX_IMAGES
from batch_pipeline.stages.vision import SHOWN

PAGE = Path(__file__).resolve().parents[2] / "docs" / "documents.md"


def where(reason: Reason) -> str:
    if reason in QUARANTINE:
        return Verdict.QUARANTINED.value
    return Verdict.NOT_A_CV.value if reason in NOT_A_CV else State.DOWNLOAD_FAILED.value


def lists() -> str:
    lines = ["| state of an attachment | meaning |", "|---|---|"]
    lines += [f"| `{state.value}` | {MEANING[state]} |" for state in State]
    lines += ["", "| verdict on a document | meaning |", "|---|---|"]
    lines += [f"| `{verdict.value}` | {MEANING[verdict]} |" for verdict in Verdict]
    lines += ["", "| reason | where | meaning |", "|---|---|---|"]
    lines += [f"| `{reason.value}` | {where(reason)} | {MEANING[reason]} |" for reason in Reason]
    return "\n".join(lines)


def limits() -> str:
    text, process, bundle = ReadLimits(), ExtractionLimits(), BundleLimits()
    rows = [
        ("a file whose text is read", f"{text.file_bytes >> 20} MiB"),
        ("unpacked XML of one office file", f"{text.unpacked_bytes >> 20} MiB"),
        ("pages of a PDF", f"{text.pages}"),
        ("characters of a text", f"{text.text_chars:,}"),
        ("reading one file", f"{process.cpu_seconds} CPU seconds, {process.wall_seconds:.0f} seconds in all"),
        ("memory of the reading process", f"{process.memory_bytes >> 20} MiB"),
        ("a zip bundle", f"{bundle.members} members, {bundle.unpacked_bytes >> 20} MiB unpacked"),
        (
            "growth of a zip bundle",
            f"{bundle.growth} bytes for each packed one, above {bundle.small >> 20} MiB",
        ),
    ]
    return "\n".join(["| of | limit |", "|---|---|", *(f"| {what} | {limit} |" for what, limit in rows)])


def between(start: str, end: str) -> str:
    found = re.search(f"<!-- {start} -->\n(.*?)\n<!-- {end} -->", PAGE.read_text(encoding="utf-8"), re.S)
    assert found is not None
    return found.group(1)


def test_the_lists_are_those_of_the_code() -> None:
    assert between("generated from batch_pipeline/documents/reasons.py", "end") == lists()


def test_the_limits_are_those_of_the_code() -> None:
    assert between("limits generated from the code", "end limits") == limits()


def test_the_limits_of_a_message_are_those_of_the_code() -> None:
    said = PAGE.read_text(encoding="utf-8")
    assert SHOWN.images == MAX_IMAGES
    for number in (
        f"{MAX_DOCUMENT_BYTES:,}",
        f"{MAX_IMAGE_BYTES:,}",
        f"{MAX_IMAGES} images",
        f"{SHOWN.edge} pixels",
    ):
        assert number in said


def test_every_member_of_the_closed_lists_has_a_meaning_and_every_reason_one_place() -> None:
    assert set(MEANING) == {*State, *Verdict, *Reason}
    assert not QUARANTINE & NOT_A_CV
    assert set(Reason) - QUARANTINE - NOT_A_CV == {
        Reason.ERROR_PAGE,
        Reason.UNREADABLE_FILE,
        Reason.LINK_REFUSED,
        Reason.SERVER_FAILED,
        Reason.UNUSABLE_LINK,
        Reason.BAD_STATUS,
    }


def test_every_type_that_is_read_is_named() -> None:
    said = PAGE.read_text(encoding="utf-8")
    for kind in mime.IMAGES | {mime.PDF, mime.DOCX, mime.DOC, mime.RTF, mime.ODT, mime.HTML, mime.ZIP}:
        name = {mime.DOC: "DOC", mime.DOCX: "DOCX", mime.ODT: "ODT"}.get(
            kind, kind.rpartition("/")[2].upper()
        )
        assert re.search(rf"\b{name}\b", said), name


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    for start, end, made in (
        ("generated from batch_pipeline/documents/reasons.py", "end", lists()),
        ("limits generated from the code", "end limits", limits()),
    ):
        page = page.replace(between(start, end), made)
    PAGE.write_text(page, encoding="utf-8")
