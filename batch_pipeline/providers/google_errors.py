"""Errors of Google's APIs (google.rpc.Status) as ours: what each says about money.

A call's error has an HTTP status and `{"error": {code, message, status, details}}`; an item of a batch has a
Status whose code is one of gRPC's.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from batch_pipeline.providers.sdk_errors import Refusal, SdkErrors


class GoogleError(Exception):
    """Raised by a call; `google_errors.errors` makes ours of it."""


class NoAnswer(GoogleError):
    """No whole answer came; the transport's own error is the cause where there is one."""


class Answered(GoogleError):
    """An error the service answered with."""

    def __init__(self, status_code: int, body: Any) -> None:
        self.status_code = status_code
        # an error alone in a list is how a streaming front end writes it
        self.body = body[0] if isinstance(body, list) and body else body
        super().__init__(str(status_code))


# gRPC's codes as HTTP's. ABORTED is a conflict between calls, nothing about the record: as busy.
_HTTP_OF: Final[Mapping[int, int]] = {
    2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 503, 11: 400, 12: 501, 13: 500,
    14: 503, 15: 500, 16: 401,
}  # fmt: skip
_CANCELLED: Final = 1
_NAMES: Final[Mapping[str, int]] = {
    "CANCELLED": 1, "UNKNOWN": 2, "INVALID_ARGUMENT": 3, "DEADLINE_EXCEEDED": 4, "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6, "PERMISSION_DENIED": 7, "RESOURCE_EXHAUSTED": 8, "FAILED_PRECONDITION": 9,
    "ABORTED": 10, "OUT_OF_RANGE": 11, "UNIMPLEMENTED": 12, "INTERNAL": 13, "UNAVAILABLE": 14,
    "DATA_LOSS": 15, "UNAUTHENTICATED": 16,
}  # fmt: skip
# "You exceeded your current quota, please check your plan and billing details" is what Google says to
# everybody who is a little too fast; only these words mean that there is nothing left to pay with.
_CREDIT_WORDS: Final = re.compile(
    r"credits? (is|are|has been|have been) (depleted|exhausted|used up)|billing_disabled|"
    r"billing (account )?\S* ?(is|has been|not) (disabled|closed|enabled|active|delinquent)|"
    r"requires billing|enable billing|spend(ing)? (cap|limit)",
    re.IGNORECASE,
)


class GoogleRefusal(Refusal):
    @property
    def is_about_credit(self) -> bool:
        return bool(_CREDIT_WORDS.search(f"{self.code} {self.message}"))


def refusal(status: int, body: Any) -> GoogleRefusal:
    """From a call's decoded error body, or from the Status inside it."""
    inner = body.get("error", body) if isinstance(body, dict) else {}
    inner = inner if isinstance(inner, dict) else {"message": inner}
    code = str(inner.get("status") or inner.get("code") or "")
    reasons = [str(one["reason"]) for one in _details(inner) if one.get("reason")]
    words = " ".join([str(inner.get("message") or ""), *reasons]).strip()
    return GoogleRefusal(status, code, words)


def http_code(status: Mapping[str, Any]) -> int | None:
    """The HTTP code of an item's Status; 402 for an empty account; None where it was never begun."""
    given = status.get("code")
    code = given if isinstance(given, int) else _NAMES.get(str(status.get("status")), 2)
    if code == _CANCELLED:
        return None
    found = _HTTP_OF.get(code, code if code >= HTTPStatus.BAD_REQUEST else 500)
    return HTTPStatus.PAYMENT_REQUIRED if refusal(found, dict(status)).is_about_credit else found


def retry_after(body: Any) -> float | None:
    """Seconds the service asks to wait (google.rpc.RetryInfo)."""
    inner = body.get("error") if isinstance(body, dict) else None
    for detail in _details(inner):
        try:
            return float(str(detail["retryDelay"]).removesuffix("s"))
        except (KeyError, ValueError):
            continue
    return None


def _details(inner: Any) -> list[dict[str, Any]]:
    found = inner.get("details") if isinstance(inner, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def errors(title: str) -> SdkErrors:
    """What a call's failure means for money, in the words of one service."""
    return SdkErrors(title, GoogleError, NoAnswer, Answered, refusal)
