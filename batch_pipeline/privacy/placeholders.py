"""The words that stand in a redacted text for what was taken out, such as `[EMAIL_1]`."""

import re
from typing import Final, Literal, get_args

Kind = Literal["email", "phone", "url", "national_id", "iban", "name"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

# A text may hold a word that looks like one of ours: it is taken out too, so that every such word of a
# redacted text is ours.
LOOKALIKE: Final = "text"

_NAMES: Final = "|".join(kind.upper() for kind in (*KINDS, LOOKALIKE))
# In brackets also as models misspell it; without brackets only exactly, for `phone_2` is a key models use.
LOOKS_LIKE_ONE: Final = re.compile(
    rf"[\[［【][ \t]*(?P<kind>(?ai:{_NAMES}))[ \t_-]*(?P<number>[0-9]*)[ \t]*[\]］】]"
    rf"|(?P<bare>{_NAMES})_(?P<bare_number>[0-9]+)"
)


def placeholder(kind: str, number: int) -> str:
    return f"[{kind.upper()}_{number}]"


def meant(found: re.Match[str]) -> str:
    """The placeholder a match of `LOOKS_LIKE_ONE` stands for, in our spelling."""
    kind = found["kind"] or found["bare"]
    return f"[{kind.upper()}_{found['number'] if found['kind'] else found['bare_number']}]"
