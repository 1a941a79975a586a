"""`manifest.json.out`: the provider's own counts of a job, to hold ours against.

New fields appear in it without notice, so what is not known here is passed over; a count it does not
give is None. It may be missing altogether: the lines are the truth, the manifest is a witness.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from batch_pipeline.providers.contract import Totals

_MAX_BYTES = 1_000_000


def read_manifest(data: bytes) -> Totals:
    """The sums; all unknown where the bytes are no JSON object."""
    if len(data) > _MAX_BYTES:
        return Totals()
    try:
        found = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Totals()
    used_in = _count(found, "inputTokenCount")
    if used_in is not None:
        for name in ("cacheReadInputTokenCount", "cacheWriteInputTokenCount"):
            used_in += _count(found, name) or 0
    return Totals(
        _count(found, "successRecordCount"),
        _count(found, "errorRecordCount"),
        used_in,
        _count(found, "outputTokenCount"),
    )


def _count(found: Mapping[str, Any], name: str) -> int | None:
    value = found.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
