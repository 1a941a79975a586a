"""`batch-pipeline audit`: the audit trail of one migration as a file."""

import csv
from datetime import UTC, datetime
from pathlib import Path

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.ledger.audit import COLUMNS, transfers
from batch_pipeline.ledger.connection import LedgerConnection


def write_audit(ledger: LedgerConnection, key: str, out: Path) -> int:
    """Write it as CSV, times in UTC; return how many requests left for a model.

    Raises:
        ConfigurationError: the file is there already: a trail is never overwritten.
    """
    if out.exists():
        raise ConfigurationError("--to", str(out), "give a file that is not there yet")
    count = 0
    partial = out.with_name(f".{out.name}.partial")
    with partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for row in transfers(ledger, key):
            writer.writerow([_written(value) for value in row])
            count += 1
    partial.replace(out)
    return count


def _written(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, bool):
        return str(value).lower()
    return value
