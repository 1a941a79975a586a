"""The four calls of Vercel's AI Gateway batch protocol (contracts/providers.md section 2.5), all POST.

Errors are of three classes, as an SDK's are, so that `sdk_errors.py` says what each means for money. Nothing
here is logged: the answer to `start` holds the secret that webhooks are signed with.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Any, Final, TypeVar

import httpx

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.providers.sdk_errors import SdkErrors

ADDRESS: Final = "https://ai-gateway.vercel.sh/v4/ai"
_PROTOCOL: Final = "0.0.1"
_READ_SECONDS: Final = 60.0
_READ_TRIES: Final = 5
_LONGEST_PAUSE: Final = 60.0
_START_SECONDS: Final = 120.0


_T = TypeVar("_T")


class GatewayError(Exception):
    """An answer that is none of the protocol's."""


class Unreached(GatewayError):
    """No whole answer; the transport's own error is the cause."""


class Refused(GatewayError):
    """An error the gateway answered with."""

    def __init__(self, status_code: int, body: Any, retry_after: str | None = None) -> None:
        self.status_code = status_code
        self.body = body
        self.retry_after = retry_after
        super().__init__(str(status_code))

    @property
    def may_pass(self) -> bool:
        return self.status_code >= 500 or self.status_code == HTTPStatus.TOO_MANY_REQUESTS


ERRORS: Final = SdkErrors("Vercel AI Gateway", GatewayError, Unreached, Refused)


def credential() -> tuple[str, str]:
    """How the gateway is told who asks, and the secret itself.

    Raises:
        ConfigurationError: neither variable is set.
    """
    for method, name in (("api-key", "AI_GATEWAY_API_KEY"), ("oidc", "VERCEL_OIDC_TOKEN")):
        if secret := os.environ.get(name):
            return method, secret
    raise ConfigurationError("AI_GATEWAY_API_KEY", "(not set)", "set it, or VERCEL_OIDC_TOKEN on Vercel")


@dataclass(frozen=True)
class Gateway:
    """One account at one gateway."""

    http: httpx.Client

    @classmethod
    def at(cls, address: str, team: str | None) -> "Gateway":
        method, secret = credential()
        headers = {
            "Authorization": f"Bearer {secret}",
            "Content-Type": "application/json",
            "ai-gateway-protocol-version": _PROTOCOL,
            "ai-gateway-auth-method": method,
        }
        if team:
            headers["x-vercel-ai-gateway-team"] = team
        timeout = httpx.Timeout(_READ_SECONDS, connect=10.0)
        return cls(httpx.Client(base_url=address, headers=headers, timeout=timeout))

    def __del__(self) -> None:
        self.http.close()

    def start(self, body: IO[bytes], model: str, idempotency_key: str) -> Mapping[str, Any]:
        """The first job of this key: a key that is used again answers with it, for the same bytes alone.

        Paid, so never repeated here.
        """
        headers = {"ai-model-id": model, "idempotency-key": idempotency_key}
        return self._post("start", content=body.read(), headers=headers, timeout=_START_SECONDS)

    def status(self, batch_id: str) -> Mapping[str, Any]:
        return _repeated(lambda: self._post("status", json={"batchId": batch_id}))

    def cancel(self, batch_id: str) -> Mapping[str, Any]:
        return _repeated(lambda: self._post("cancel", json={"batchId": batch_id}))

    def results(self, batch_id: str) -> httpx.Response:
        """The answer with its body still to be read; the caller closes it."""
        return _repeated(lambda: self._unread_results(batch_id))

    def _unread_results(self, batch_id: str) -> httpx.Response:
        request = self.http.build_request("POST", "batch/results", json={"batchId": batch_id})
        with _reached():
            response = self.http.send(request, stream=True)
            if response.is_error:
                response.read()
                response.close()
        _require_no_error(response)
        return response

    def _post(self, call: str, **more: Any) -> Mapping[str, Any]:
        with _reached():
            response = self.http.post(f"batch/{call}", **more)
        _require_no_error(response)
        answer = _json(response)
        if not isinstance(answer, dict):
            raise GatewayError("no JSON object")
        return answer


def _repeated(call: Callable[[], _T]) -> _T:
    """A call that may be made again, as often as the SDKs of other providers do."""
    for attempt in range(1, _READ_TRIES):
        try:
            return call()
        except Unreached:
            time.sleep(0.25 * 2**attempt)
        except Refused as refused:
            if not refused.may_pass:
                raise
            time.sleep(_pause(refused.retry_after, 0.25 * 2**attempt))
    return call()


def _pause(retry_after: str | None, else_seconds: float) -> float:
    try:
        return min(_LONGEST_PAUSE, max(0.0, float(retry_after or "")))
    except ValueError:
        return else_seconds


@contextmanager
def _reached() -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise Unreached(type(error).__name__) from error


def _require_no_error(response: httpx.Response) -> None:
    if response.is_error:
        raise Refused(response.status_code, _json(response), response.headers.get("retry-after"))


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
