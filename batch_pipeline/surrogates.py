"""Halves of surrogate pairs in JSON text, which some writers emit where they cut a string."""

import re
from typing import Final, TypeVar

import msgspec

Read = TypeVar("Read")

_ESCAPES: Final = re.compile(
    rb"\\(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})(?P<low>\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    rb"|u(?P<alone>[dD][c-fC-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_REPLACED: Final = rb"\ufffd"


def decoded(decoder: "msgspec.json.Decoder[Read]", line: bytes) -> Read:
    """What a decoder reads; half of a surrogate pair is no JSON to it, and no reason to lose a paid answer.

    Raises msgspec.DecodeError or UnicodeDecodeError where the line is no such JSON anyhow.
    """
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return decoder.decode(without_lone_surrogates(line))


def without_lone_surrogates(line: bytes) -> bytes:
    """The line with each lone surrogate escape as U+FFFD; pairs and everything else stay."""
    return _ESCAPES.sub(_mend, line)


def _mend(found: re.Match[bytes]) -> bytes:
    lone = found["alone"] or (found["high"] and not found["low"])
    return _REPLACED if lone else found.group()
