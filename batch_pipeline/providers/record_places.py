"""Answers that name no record but stand where their request stood.

A provider that keeps the order of a job's requests may lose their keys on the way back (google's
python-genai #1886, #2008). Its adapter then calls a line `#<place>/<how many>`, and whoever knows what was
sent gives it its record again: only where exactly as many came back.
"""

import re
from collections.abc import Sequence
from typing import Final

_PLACE: Final = re.compile(rb'\{"recordId":"#(\d+)/(\d+)"')


def place(at: int, of: int) -> str:
    """The record id of the answer at this place, counted from 1."""
    return f"#{at}/{of}"


def with_record(line: bytes, sent: Sequence[str]) -> bytes:
    """The line with its record's own id; as it is where it names one, or where the numbers differ: then
    nobody can say whose answer it is, and it is counted as one of an unknown record."""
    found = _PLACE.match(line)
    if found is None or int(found[2]) != len(sent) or not 1 <= int(found[1]) <= len(sent):
        return line
    return b'{"recordId":"' + sent[int(found[1]) - 1].encode() + b'"' + line[found.end() :]
