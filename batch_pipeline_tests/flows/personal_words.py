"""What nobody may read outside the customer's own files."""

import csv
from pathlib import Path


def personal_words(export: Path) -> set[str]:
    """Names, addresses and numbers of the sample's people; markers come on top."""
    words = set()
    with (export / "candidates.csv").open(encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            if row["Email"]:
                words |= {row["Email"], row["Phone"], f"{row['First Name']} {row['Last Name']}"}
    return {word for word in words if len(word) > 6}
