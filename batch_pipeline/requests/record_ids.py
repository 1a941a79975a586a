"""The name a document has in every request and answer: `cv-<md5>`.

It is made from content, so it is the same in every attempt and on every route; answers come back
in any order and are joined on it alone.
"""

import re
from typing import Final

from batch_pipeline.errors import TerminalError

PREFIX: Final = "cv-"
_MD5: Final = re.compile(r"[0-9a-f]{32}")
# The charset and length every provider is known to take (contracts/bedrock.md section 2).
_LEGAL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def record_id(md5: str) -> str:
    """The record id of a document. Raises TerminalError where `md5` is not 32 lower-case hex digits."""
    if not _MD5.fullmatch(md5):
        raise TerminalError(f"not an MD5 in lower-case hex: {len(md5)} characters")
    return PREFIX + md5


def check_record_id(value: str) -> str:
    """`value` itself. Raises TerminalError where a provider could refuse it."""
    if not _LEGAL.fullmatch(value):
        raise TerminalError(f"a record id is 1 to 64 of [A-Za-z0-9_-]; this one has {len(value)} characters")
    return value
