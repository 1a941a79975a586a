"""How much of what a CV says is still there in its extracted text.

    python -m benchmarks.accuracy [--losses]

On every file of `../shared/data/cvs` that has an expected JSON Resume or rendercv YAML and a text
layer: the share of expected values found in the text, by field, by language and by format. A value
counts as found only in one piece: its words in their order, not inside a longer word. Compared after
NFC, case folding, folding of blanks and hyphens, and without bidirectional controls. A date counts
in any of the usual spellings of its year and month. Where the files are not beside the checkout it
says so and gives no figure.
"""

import argparse
import csv
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from batch_pipeline.documents.hashing import fingerprint
from batch_pipeline.documents.text import extract_text

CVS: Final = Path(__file__).resolve().parents[2] / "shared" / "data" / "cvs"
FIELDS: Final = (
    *("contacts", "names", "companies", "positions", "institutions", "degrees", "dates"),
    *("highlights", "skills", "languages"),
)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_HYPHENS = re.compile("[\u00ad\u2010-\u2015\u2212\ufe63\uff0d]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60"
# layout engines set a thin gap, or break the line, between such a sign and anything else
_WIDE_GAP = re.compile(rf"(?<=[{_WIDE}])\s+|\s+(?=[{_WIDE}])")
_MARKDOWN = re.compile(r"\[([^]]*)\]\([^)]*\)|\*{1,2}([^*]+)\*{1,2}")


@dataclass(frozen=True)
class Value:
    """One expected value: any of its spellings will do."""

    field: str
    spellings: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What came of one file's values."""

    path: str
    language: str
    format: str
    field: str
    value: str
    found: bool


def measure(cvs: Path = CVS) -> list[Found]:
    """Every expected value of every file with a text layer; empty where there are no files."""
    index = cvs / "index.csv"
    if not index.exists():
        return []
    rows = csv.DictReader(index.read_text(encoding="utf-8").splitlines())
    return [found for row in rows for found in _of_file(cvs, row)]


def _of_file(cvs: Path, row: Mapping[str, str]) -> Iterator[Found]:
    expected = cvs / row["expected"]
    if row["kind"] != "cv" or expected.suffix not in (".json", ".yaml"):
        return
    path = cvs / row["path"]
    text = extract_text(path, str(fingerprint(str(path)).mime)).text
    if text is None:
        return  # a scan, or locked: the index test holds that these are the right ones
    said = yaml.safe_load(expected.read_text(encoding="utf-8"))
    values = _of_rendercv(said["cv"]) if "cv" in said else _of_json_resume(said)
    for value in values:
        hit = any(holds(text, spelling) for spelling in value.spellings)
        yield Found(row["path"], row["language"], row["format"], value.field, value.spellings[0], hit)


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """Text as two writings of the same words compare equal."""
    text = unicodedata.normalize("NFC", _BIDI.sub("", text)).casefold()
    text = " ".join(_HYPHENS.sub("-", text).split())
    return _WIDE_GAP.sub("", text)


def holds(text: str, value: str) -> bool:
    """Whether the value stands in the text in one piece and not inside a longer word."""
    text, value = folded(text), folded(value)
    start, end = (rf"(?:(?<![^\W_])|(?<=[{_WIDE}]))", rf"(?:(?![^\W_])|(?=[{_WIDE}]))")
    if re.match(f"[{_WIDE}]", value):
        start = ""
    if re.search(f"[{_WIDE}]$", value):
        end = ""
    return re.search(start + re.escape(value) + end, text) is not None


def _date(written: str) -> tuple[str, ...]:
    year, _, month = written.partition("-")
    if not month:
        return (year,)
    name = _MONTHS[int(month) - 1]
    return (
        written,
        *(f"{month}{sign}{year}" for sign in "/.-"),
        *(f"{short} {year}" for short in (name, name[:3], name[:4])),
    )


def _values(field: str, found: Iterable[Any]) -> Iterator[Value]:
    for value in found:
        if value:
            yield Value(field, (_MARKDOWN.sub(r"\1\2", str(value)),))


def _dates(entries: Iterable[Mapping[str, Any]], names: tuple[str, ...]) -> Iterator[Value]:
    for entry in entries:
        for name in names:
            if re.match(r"\d{4}", written := str(entry.get(name) or "")):
                yield Value("dates", _date(written))


def _of_json_resume(resume: Mapping[str, Any]) -> Iterator[Value]:
    basics = resume["basics"]
    work, education = resume.get("work", []), resume.get("education", [])
    yield from _values("contacts", (basics.get("email"), basics.get("phone"), basics["location"].get("city")))
    yield from _values("names", [basics["name"]])
    yield from _values("companies", (job["name"] for job in work))
    yield from _values("positions", (job["position"] for job in work))
    yield from _values("institutions", (school["institution"] for school in education))
    yield from _values("degrees", (school[part] for school in education for part in ("studyType", "area")))
    yield from _dates([*work, *education], ("startDate", "endDate"))
    yield from _values("highlights", (line for job in work for line in job["highlights"]))
    yield from _values("highlights", [basics.get("summary")])
    for skill in resume.get("skills", []):
        yield from _values("skills", [skill.get("name"), *skill["keywords"]])
    yield from _values(
        "languages", (word for spoken in resume.get("languages", []) for word in spoken.values())
    )


def _of_rendercv(cv: Mapping[str, Any]) -> Iterator[Value]:
    sections = cv["sections"]
    experience, education = sections.get("experience", []), sections.get("education", [])
    projects, skills = sections.get("projects", []), sections.get("skills", [])
    yield from _values("contacts", (cv.get("email"), cv.get("phone"), cv.get("location")))
    yield from _values("contacts", (network["username"] for network in cv.get("social_networks", [])))
    yield from _values("names", [cv["name"]])
    yield from _values("companies", (job["company"] for job in experience))
    yield from _values("positions", (job["position"] for job in experience))
    yield from _values("institutions", (school["institution"] for school in education))
    yield from _values("degrees", (school[part] for school in education for part in ("degree", "area")))
    dated = [*experience, *education, *projects, *sections.get("publications", [])]
    yield from _dates(dated, ("start_date", "end_date", "date"))
    for entry in (*experience, *education, *projects):
        # a nested list is written below its first line
        lines = (part for line in entry["highlights"] for part in re.split(r"\s*\n?\s+- ", str(line)))
        yield from _values("highlights", lines)
    yield from _values("highlights", (entry["summary"] for entry in projects))
    for skill in skills:
        yield from _values("skills", [skill["label"], *skill["details"].split(", ")])


def share(found: Iterable[Found]) -> float:
    """The share of values found, 1.0 of none."""
    hits = Counter(one.found for one in found)
    return hits[True] / hits.total() if hits else 1.0


def table(found: list[Found], by: str) -> str:
    """Shares in percent: a row for each language or format, a column for each field."""
    rows = [["", "files", "values", "all", *FIELDS]]
    for group in (*sorted({getattr(one, by) for one in found}), "total"):
        mine = [one for one in found if group in (getattr(one, by), "total")]
        cells = [[one for one in mine if one.field == field] for field in FIELDS]
        rows.append(
            [
                group,
                str(len({one.path for one in mine})),
                str(len(mine)),
                f"{100 * share(mine):.1f}",
                *(f"{100 * share(cell):.1f}" if cell else "-" for cell in cells),
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--losses", action="store_true", help="list every value that was not found")
    parser.add_argument("--cvs", type=Path, default=CVS, help="the folder of the labelled files")
    given = parser.parse_args()
    found = measure(given.cvs)
    if not found:
        print("no figure: the labelled CV files (../shared/data/cvs) are not beside this checkout")
        return
    print("share of expected values found in the extracted text, in percent, by format")
    print(table(found, "format"))
    print("\nby language")
    print(table(found, "language"))
    if given.losses:
        for one in found:
            if not one.found:
                print(json.dumps([one.path, one.field, one.value], ensure_ascii=False))


if __name__ == "__main__":
    main()
