"""Which record errors are worth another attempt (contracts/bedrock.md sections 3.1 and 9).

By code alone: the provider's own `retryable` is a hint it does not keep to.
"""

from typing import Final

# The names an on-demand call answers with, as the codes a batch record has for the same thing.
CODE_OF: Final[dict[str, int]] = {
    "ValidationException": 400,
    "ServiceQuotaExceededException": 400,
    "AccessDeniedException": 403,
    "ResourceNotFoundException": 404,
    "ModelTimeoutException": 408,
    "ModelErrorException": 424,
    "ThrottlingException": 429,
    "ModelNotReadyException": 429,
    "InternalServerException": 500,
    "ServiceUnavailableException": 503,
}
# The account's credit or budget is used up, in whatever words its provider said so: about no record at all.
PAYMENT_REQUIRED: Final = 402
# About the request itself: this model will always refuse it, and another one may not.
BAD_INPUT: Final = frozenset({400, 413, 422})
_RETRY: Final = frozenset({PAYMENT_REQUIRED, 408, 424, 429})


def code_of(code: object) -> int | None:
    """A code as a number, whether it came as 429, "429" or "ThrottlingException"; else None."""
    if isinstance(code, bool):
        return None
    if isinstance(code, int):
        return code
    if isinstance(code, float) and code.is_integer():
        return int(code)
    if isinstance(code, str):
        plain = code.strip()
        return int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 6 else CODE_OF.get(plain)
    return None


def worth_another_attempt(code: int | None, *, expired: bool) -> bool:
    """402, 408, 424, 429, 5xx and expired records are; 400, 403, 404 and the rest are not.

    An error without a code we can read is: it was not refused for what it says, and attempts are
    limited anyway.
    """
    return expired or code is None or code in _RETRY or 500 <= code <= 599
