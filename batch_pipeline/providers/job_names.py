"""Names of jobs: what a job, its upload and its stamp are called at every provider.

A name says which migration and which shard it is of, in which attempt, and nothing personal.
"""

import hashlib
import re
from typing import Final

_LIMIT: Final = 63
_NAME: Final = re.compile(r"bp-.+-([0-9a-f]{16})-a([1-9]\d*)")


def job_name(key: str, digest: str, attempt: int) -> str:
    """At most 63 characters; where it must be cut, the key is cut, never the part that is unique.

    A cut key is marked by its own hash, so that two long keys with one beginning differ.
    """
    tail = f"-{digest[:16]}-a{attempt}"
    room = _LIMIT - len("bp-") - len(tail)
    if len(key) > room:
        key = f"{key[: room - 9].rstrip('-')}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    return f"bp-{key}{tail}"


def belongs_to(key: str, name: str) -> bool:
    """Whether `name` is a job of this very migration: `acme` has no part in what `acme-2026` sent."""
    found = _NAME.fullmatch(name)
    return found is not None and job_name(key, found[1], int(found[2])) == name
