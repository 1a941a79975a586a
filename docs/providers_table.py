"""The table of `docs/providers.md`, from what the code itself goes by.

python -m docs.providers_table          # writes the page
python -m docs.providers_table --check  # exit code 1 where it is stale
"""

import sys
from pathlib import Path
from typing import Final

from batch_pipeline.providers.capabilities import CAPABILITIES, Capabilities

PAGE: Final = Path(__file__).parent / "providers.md"

_RECOVERY: Final = {
    "token": "an idempotency token: sent again, it is the same job",
    "stamp": "a stamp in the job, found by listing",
    "self-identifying ids": "record ids that name their job, read from the first result",
    "replay": "the same key and the same bytes answer with the first job",
}


def page() -> str:
    """The whole page."""
    providers = list(CAPABILITIES.values())
    head = ["", *(one.title for one in providers)]
    rows = [[name, *values] for name, values in _rows(providers)]
    lines = [
        "# Providers",
        "",
        "One line of the migration file chooses: `provider: {kind: openai, model: gpt-5-mini}`, every setting in",
        "[the migration file](migration-file.md). The same guarantees hold for all of them "
        "([guarantees](guarantees.md)).",
        "",
        "This table is made from `batch_pipeline/providers/capabilities.py` by `python -m docs.providers_table`.",
        "",
        *(_line(row) for row in (head, ["---"] * len(head), *rows)),
        "",
        "## What the adapters are tested against",
        "Fakes of our own, over HTTP, written from recorded wire shapes; and servers that know nothing of us, where",
        "there are any: llmock for Anthropic and OpenAI, and for OpenAI also aimock (every end of a job, answers lost",
        "or broken, how many create calls came) and OGX (runs the lines of a batch, good and bad). `make counterparts`,",
        "a step of `make providers`, installs the last two where Node and Python 3.12 are there; else their tests are",
        "skipped and say so. No such server is known for Gemini, Vertex AI and Vercel's gateway. OGX never lets a job",
        "expire; an expired job of aimock has no files, where OpenAI's has both. The providers themselves were not called.",
        "",
    ]
    return "\n".join(lines)


def _rows(providers: list[Capabilities]) -> list[tuple[str, list[str]]]:
    return [
        ("`kind`", [f"`{one.kind}`" for one in providers]),
        (
            "records of a job",
            [f"{one.limits.min_records:,} to {one.limits.max_records:,}" for one in providers],
        ),
        ("bytes of a job", [f"{one.limits.max_bytes / 1_000_000:,.1f} MB" for one in providers]),
        ("jobs at once", [f"{one.limits.max_jobs_in_flight}" for one in providers]),
        ("deadline", [one.deadline for one in providers]),
        ("results stay", [one.retention for one in providers]),
        ("a lost job is found by", [_RECOVERY[one.recovery] for one in providers]),
        ("sent again after a lost answer", [_resend(one) for one in providers]),
        ("a job of wrong parameters", [_wrong(one) for one in providers]),
        ("can be erased", [one.deletable for one in providers]),
        ("cannot be erased", [one.kept or "nothing" for one in providers]),
        ("repeats the request in its answer", [_yes(one.echoes_input) for one in providers]),
        ("keeps the order", [_yes(one.keeps_order) for one in providers]),
        ("structured output", [one.structured_output for one in providers]),
        ("prompt caching", [one.caching for one in providers]),
        ("batch discount", [one.batch_discount for one in providers]),
        ("needs a bucket", [_yes(one.needs_bucket) for one in providers]),
        ("record ids", [one.id_rule for one in providers]),
        ("source, seen", [f"{one.source}, {one.seen.isoformat()}" for one in providers]),
    ]


def _resend(one: Capabilities) -> str:
    if one.resend == "token":
        return "at once"
    return f"when it was looked for over {one.shown_within.seconds // 60} minutes"


def _wrong(one: Capabilities) -> str:
    return "fails as a whole" if one.fails_as_a_whole else "ends with an error for every record"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(PAGE.read_text() != page())
    PAGE.write_text(page())
