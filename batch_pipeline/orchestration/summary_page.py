"""What a migration came to, as a page a recruiter can read in the UI: counts and money, nobody's name."""

from collections.abc import Mapping
from typing import Any

from batch_pipeline.stages.summary import Tables


def page(key: str, tables: Tables) -> str:
    """Markdown: the story in a paragraph, then the figures behind it."""
    parts = [f"### Migration {key}", *_story(tables)]
    for title, figures in tables.items():
        shown = {name: value for name, value in figures.items() if value not in (0, "", None)}
        if shown:
            parts.append(f"#### {title.capitalize()}\n" + _table(shown))
    return "\n\n".join(parts)


def _story(tables: Tables) -> list[str]:
    export, documents = tables["export"], tables["documents"]
    files = sum(count for name, count in export.items() if name.startswith("attachments "))
    said = [
        f"**{export['applications']:,} applications** came with **{files:,} attached files**. Equal files are one "
        f"document: {documents['distinct documents']:,} were left, **{documents.get('cv', 0):,} of them CVs**, and "
        "each CV was read once."
    ]
    if "answers" in tables:
        answers = tables["answers"]
        said.append(
            f"**{answers['parsed']:,} CVs became structured profiles**; {answers['failed']:,} could not be read, "
            "each with its reason below."
        )
    if "rows in the database" in tables:
        rows = sum(tables["rows in the database"].values())
        said.append(f"**{rows:,} rows** of history and profiles are in the database, counted and compared.")
    if "cost" in tables:
        cost = tables["cost"]
        said.append(
            f"Reading them cost **{cost['total_cost']}**; batch prices saved "
            f"{cost['saved_by_batch_against_on-demand']}, reading equal files once saved about "
            f"{cost['saved_by_dedup_(estimate)']}."
        )
    if "erased" in tables:
        said.append(f"**{tables['erased']['objects left']:,} files** are left in the bucket.")
    return said


def _table(figures: Mapping[str, Any]) -> str:
    rows = [f"| {_cell(name)} | {_cell(value)} |" for name, value in figures.items()]
    return "\n".join(["| | |", "|---|---|", *rows])


def _cell(value: object) -> str:
    shown = f"{value:,}" if isinstance(value, int) else str(value).replace("_", " ")
    return shown.replace("|", "\\|").replace("\n", " ")
