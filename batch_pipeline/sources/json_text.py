"""JSON as exports hold it: any Unicode form with or without a mark, and halves of emoji."""

import json
import re
from typing import Any

import msgspec

_HALF = re.compile("[\ud800-\udfff]")


def decode(data: bytes) -> Any:
    """The value; a lone surrogate becomes U+FFFD, for no table can hold it. Raises ValueError."""
    try:
        return msgspec.json.decode(data)
    except msgspec.MsgspecError:
        # slower, and takes what the other refuses: marks, UTF-16, lone surrogates (programs that cut text
        # by UTF-16 units write them), numbers beyond a double
        return _storable(json.loads(data))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    return value
