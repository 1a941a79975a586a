"""What redaction by rules finds in real CVs, and what it costs.

    python -m benchmarks.redaction [--losses]

On every file of `../shared/data/cvs` whose person is written down beside it: of their e-mail address, phone number,
web addresses and handles, and name, as far as they stand in the text, how many are not in the redacted text any
more. The name is known, as an export knows it; everything else is found by rules alone. Where the files are not
beside the checkout it says so and gives no figure.
"""

import argparse
import csv
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from batch_pipeline.documents.hashing import fingerprint
from batch_pipeline.documents.text import extract_text
from batch_pipeline.privacy.known import Known
from batch_pipeline.privacy.placeholders import KINDS
from batch_pipeline.privacy.redaction import redact
from benchmarks.accuracy import CVS, folded


@dataclass
class Measured:
    """Values that stood in the texts, by kind, and those that were left there."""

    texts: int = 0
    characters: int = 0
    seconds: float = 0.0
    there: Counter[str] = field(default_factory=Counter)
    left: list[tuple[str, str, str]] = field(default_factory=list)  # path, kind, value


def measure(cvs: Path = CVS) -> Measured:
    found = Measured()
    index = cvs / "index.csv"
    if not index.exists():
        return found
    for row in csv.DictReader(index.read_text(encoding="utf-8").splitlines()):
        path, expected = cvs / row["path"], cvs / row["expected"]
        if row["kind"] != "cv" or expected.suffix not in (".json", ".yaml"):
            continue
        text = extract_text(path, str(fingerprint(str(path)).mime)).text
        if text is None:
            continue
        values = list(_values(yaml.safe_load(expected.read_text(encoding="utf-8"))))
        known = Known(tuple(value for kind, value in values if kind == "name"))
        began = time.process_time()
        sent = redact(text, KINDS, known).text
        found.seconds += time.process_time() - began
        found.texts += 1
        found.characters += len(text)
        for kind, value in values:
            if _holds(text, kind, value):
                found.there[kind] += 1
                if _holds(sent, kind, value):
                    found.left.append((row["path"], kind, value))
    return found


def _values(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    person = said["cv"] if "cv" in said else said["basics"]
    yield "name", person["name"]
    for kind in ("email", "phone"):
        if person.get(kind):
            yield kind, person[kind].removeprefix("tel:")
    networks = person.get("profiles") or person.get("social_networks") or ()
    for written in (person.get("url"), person.get("website"), *(one.get("username") for one in networks)):
        if written:
            yield "url", re.sub(r"^https?://|/$", "", str(written))


def _holds(text: str, kind: str, value: str) -> bool:
    if kind == "phone":
        return re.sub(r"\D", "", value)[-8:] in re.sub(r"\D", "", text)
    return folded(value) in folded(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--losses", action="store_true", help="list every value that was left")
    parser.add_argument("--cvs", type=Path, default=CVS, help="the folder of the labelled files")
    given = parser.parse_args()
    found = measure(given.cvs)
    if not found.texts:
        print("no figure: the labelled CV files (../shared/data/cvs) are not beside this checkout")
        return
    left = Counter(kind for _, kind, _ in found.left)
    print(f"{found.texts} texts, {found.characters / found.seconds:,.0f} characters a CPU-second")
    for kind, count in sorted(found.there.items()):
        print(f"{kind}: {count - left[kind]} of {count} taken out")
    if given.losses:
        for one in found.left:
            print(json.dumps(one, ensure_ascii=False))


if __name__ == "__main__":
    main()
