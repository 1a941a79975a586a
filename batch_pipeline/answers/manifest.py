"""`manifest.json.out`: the provider's own counts of a job, to hold ours against.

New fields appear in it without notice, so what is not known here is passed over; a count it does not
give is None. It may be missing altogether: the lines are the truth, the manifest is a witness.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

_MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Manifest:
    """Records and tokens of one job; input tokens include those written to and read from a cache."""

    total: int | None
    processed: int | None
    succeeded: int | None
    errors: int | None
    input_tokens: int | None
    output_tokens: int | None


def read_manifest(data: bytes) -> Manifest | None:
    """The counts, or None where the bytes are no JSON object."""
    if len(data) > _MAX_BYTES:
        return None
    try:
        found = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    used_in = _count(found, "inputTokenCount")
    if used_in is not None:
        for name in ("cacheReadInputTokenCount", "cacheWriteInputTokenCount"):
            used_in += _count(found, name) or 0
    return Manifest(
        _count(found, "totalRecordCount"),
        _count(found, "processedRecordCount"),
        _count(found, "successRecordCount"),
        _count(found, "errorRecordCount"),
        used_in,
        _count(found, "outputTokenCount"),
    )


def _count(found: Mapping[str, Any], name: str) -> int | None:
    value = found.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
