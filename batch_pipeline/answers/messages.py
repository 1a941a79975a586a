"""A provider's error message without what it may quote of a request."""

import re
from typing import Final

MAX_CHARACTERS: Final = 300
_QUOTED: Final = re.compile(r"(['\"`“])(?P<inside>[^'\"`“”]*)(['\"`”])")
_NAME: Final = re.compile(r"[A-Za-z0-9_.\[\]:#/-]{1,64}")
_ADDRESS: Final = re.compile(r"\S+@\S+")


def without_content(message: str) -> str:
    """The message, shortened; quoted names of fields stay, quoted sentences and addresses do not."""
    masked = _QUOTED.sub(lambda found: found.group() if _NAME.fullmatch(found["inside"]) else "'…'", message)
    return _ADDRESS.sub("…", masked)[:MAX_CHARACTERS]
