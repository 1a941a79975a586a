"""Placeholders in the answer to a redacted text -> what they stand for."""

import json
import re
from collections.abc import Mapping

from batch_pipeline.privacy.placeholders import LOOKS_LIKE_ONE, meant


class UnknownPlaceholder(Exception):
    """An answer holds a placeholder that its document does not have."""


def restore(text: str, originals: Mapping[str, str]) -> str:
    """A redacted text as it was.

    Raises:
        UnknownPlaceholder: it holds one that `originals` does not.
    """

    def original(found: re.Match[str]) -> str:
        try:
            return originals[meant(found)]
        except KeyError:
            raise UnknownPlaceholder from None

    return LOOKS_LIKE_ONE.sub(original, text)


def restore_json(answer: str, originals: Mapping[str, str]) -> str:
    """An answer as the document itself would have given it: placeholders stand inside its JSON strings.

    Raises:
        UnknownPlaceholder: the model made one up.
    """
    escaped = {word: json.dumps(original, ensure_ascii=False)[1:-1] for word, original in originals.items()}
    return restore(answer, escaped)


def holds_placeholder(text: str) -> bool:
    return LOOKS_LIKE_ONE.search(text) is not None
