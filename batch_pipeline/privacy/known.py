"""What an export says of the people a document hangs on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """Names and phone numbers as the export writes them."""

    names: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
