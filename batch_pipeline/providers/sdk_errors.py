"""Errors of the SDKs that one generator makes (openai, anthropic) as ours: what each says about money.

They share their classes: an `APIStatusError` has a status and the decoded body, an `APIConnectionError` has
the transport's own error as its cause, and only that tells whether the request had left.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.providers.contract import LostAnswer, RefusedAnswer, ResultsGone

_MAX_CHARACTERS: Final = 300
# Names of httpx's and httpx2's errors for a connection that was never made.
_NEVER_LEFT: Final = frozenset(
    {
        "ConnectError",
        "ConnectTimeout",
        "PoolTimeout",
        "ProxyError",
        "UnsupportedProtocol",
        "LocalProtocolError",
    }
)
_CREDIT_CODES: Final = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
)
_CREDIT_WORDS: Final = re.compile(
    r"credit balance|exceeded your current quota|insufficient (quota|funds|credit|balance)|billing hard limit",
    re.IGNORECASE,
)
# What these SDKs let through where an answer calls itself JSON and is none.
_UNREADABLE: Final = (json.JSONDecodeError, UnicodeDecodeError)
_BUSY: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, 529})


@dataclass(frozen=True)
class Refusal:
    """An error the service answered with."""

    status: int
    code: str
    message: str

    @property
    def is_about_credit(self) -> bool:
        """An empty account may answer like bad input or like a full queue; its words tell."""
        said = self.code in _CREDIT_CODES or bool(_CREDIT_WORDS.search(self.message))
        return said or self.status == HTTPStatus.PAYMENT_REQUIRED

    @property
    def words(self) -> str:
        said = f"{self.code or 'error'} ({self.status}) {self.message}".strip()[:_MAX_CHARACTERS]
        if self.is_about_credit:
            return f"the account's credit or budget is used up: {said}"
        return said


def refusal_in(status: int, body: Any) -> Refusal:
    """From a decoded error body: `{"error": {...}}`, or what stands inside it."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        code = inner.get("code") or inner.get("type") or ""
        return Refusal(status, str(code), str(inner.get("message") or ""))
    return Refusal(status, "", "" if inner is None else str(inner))


@dataclass(frozen=True)
class SdkErrors:
    """The classes of one SDK, and how its error bodies are read."""

    title: str
    base: type[Exception]
    connection: type[Exception]
    status: type[Exception]
    refusal_in: Callable[[int, Any], Refusal] = refusal_in

    @contextmanager
    def repeatable(self, what: str) -> Iterator[None]:
        """For a call that changes nothing or may be repeated safely.

        Raises:
            TransientError: the same call may work later.
            ResultsGone: there is no such thing, or no longer.
            TerminalError: it was refused.
        """
        try:
            yield
        except (self.base, *_UNREADABLE) as error:
            refusal = self._refusal(error)
            if refusal is None:
                raise self._unanswered(error, what) from None
            words = f"{what}: {refusal.words}"
            if refusal.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
                raise ResultsGone(words) from None
            later = refusal.status >= 500 or refusal.status in {408, 409, 429}
            raise (TransientError if later and not refusal.is_about_credit else TerminalError)(
                words
            ) from None

    @contextmanager
    def creating(self, what: str) -> Iterator[None]:
        """For the one call that starts a paid job.

        Raises:
            TransientError: nothing was begun, it may work later.
            LostAnswer: it may have begun.
            TerminalError: refused for good.
        """
        try:
            yield
        except (self.base, *_UNREADABLE) as error:
            refusal = self._refusal(error)
            if refusal is None:
                raise self._lost(error, what) from None
            words = f"{what}: {refusal.words}"
            if refusal.is_about_credit:
                raise TerminalError(words) from None
            if refusal.status == HTTPStatus.TOO_MANY_REQUESTS:
                raise TransientError(words) from None
            if refusal.status >= 500 or refusal.status in {408, 409}:
                raise LostAnswer(words) from None
            raise TerminalError(words) from None

    @contextmanager
    def answering(self, what: str) -> Iterator[None]:
        """For one paid on-demand call.

        Raises:
            RefusedAnswer: answered with an error and not paid; 402 where the account is empty.
            TransientError: nothing was sent.
            LostAnswer: it may have been paid.
        """
        try:
            yield
        except (self.base, *_UNREADABLE) as error:
            refusal = self._refusal(error)
            if refusal is None:
                raise self._lost(error, what) from None
            if refusal.is_about_credit:
                raise RefusedAnswer(HTTPStatus.PAYMENT_REQUIRED, refusal.words) from None
            # whether a call that broke inside the service is billed is not documented
            doubtful = refusal.status >= 500 or refusal.status == HTTPStatus.REQUEST_TIMEOUT
            if doubtful and refusal.status not in _BUSY:
                raise LostAnswer(f"{what}: {refusal.words}") from None
            raise RefusedAnswer(refusal.status, refusal.words) from None

    def _refusal(self, error: Exception) -> Refusal | None:
        if not isinstance(error, self.status):
            return None
        return self.refusal_in(getattr(error, "status_code", 0), getattr(error, "body", None))

    def _lost(self, error: Exception, what: str) -> Exception:
        if self._never_left(error):
            return TransientError(f"{what}: {self.title} was not reached; nothing was sent")
        return LostAnswer(f"{what}: {type(error).__name__} after the request left")

    def _unanswered(self, error: Exception, what: str) -> Exception:
        if isinstance(error, self.connection):
            return TransientError(f"{what}: {type(error).__name__} ({type(error.__cause__).__name__})")
        # an answer of another shape than the API's: a proxy's page, a cut body
        return TransientError(f"{what}: {type(error).__name__}")

    def _never_left(self, error: Exception) -> bool:
        return isinstance(error, self.connection) and type(error.__cause__).__name__ in _NEVER_LEFT
