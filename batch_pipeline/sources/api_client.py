"""One API over HTTP: its key, its rate limits, and patience with what passes.

The key goes to the API's own origin and nowhere else. Links that open a file are credentials: no URL is
ever logged or put in a message, so httpx's own request log is silenced with everything below warning.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Final, Self

import httpx

from batch_pipeline.errors import ConfigurationError, SourceError, TransientError
from batch_pipeline.sources import json_text
from batch_pipeline.sources.payload_config import ApiConfig

ATTEMPTS: Final = 6
LONGEST_WAIT: Final = 900.0
"""Seconds one request may spend waiting for a rate limit before the reading gives up for now."""

_FIRST_BACKOFF: Final = 0.5
_LONGEST_BACKOFF: Final = 30.0
_WINDOW: Final = 10.0  # seconds; Greenhouse v1 and Workable count requests in windows of ten seconds
_REMAINING: Final = ("X-RateLimit-Remaining", "X-Rate-Limit-Remaining")
_RESET: Final = ("X-RateLimit-Reset", "X-Rate-Limit-Reset")

for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class ApiClient:
    """Thread-safe. `wait` sleeps; a caller may replace it to watch what is waited for."""

    def __init__(self, api: ApiConfig, auth: httpx.Auth) -> None:
        self.wait: Callable[[float], None] = time.sleep
        self._base = httpx.URL(api.base_url.rstrip("/"))
        self._key_env = api.key_env
        self._auth = auth
        self._pace = _Pace(api.requests_per_second)
        self._http = httpx.Client(
            timeout=api.timeout_seconds,
            limits=httpx.Limits(max_connections=api.concurrency + 1),
            headers={"Accept": "application/json"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def url(self, path: str) -> str:
        """The address of a path of the API."""
        return f"{self._base}/{path.lstrip('/')}"

    def get(self, where: str, params: Mapping[str, str], what: str) -> httpx.Response:
        """A page or an object, by path or by the API's own next link; `what` names it in messages.

        Raises:
            ConfigurationError: the key is refused, or may not read this.
            SourceError: the link leads to another host.
            TransientError: the API does not answer, or keeps limiting.
        """
        url = httpx.URL(where) if "://" in where else httpx.URL(self.url(where))
        if not self._own(url):
            raise SourceError(f"{what}: the next page lies on another host: refused")
        response = self._send(url, params, what)
        if response.status_code == httpx.codes.FORBIDDEN:
            raise ConfigurationError(
                "source.api.key_env",
                self._key_env,
                f"its key may not read {what}: grant that, or name it under source.api.without",
            )
        return response

    def look(self, path: str, params: Mapping[str, str], what: str) -> Any:
        """One object by path, None where the API does not give it (deleted, or hidden from this key).

        Raises ConfigurationError, TransientError as `get` does.
        """
        response = self._send(httpx.URL(self.url(path)), params, what)
        return decoded(response) if response.status_code == httpx.codes.OK else None

    def stream(self, link: str, take: Callable[[httpx.Response], None], what: str) -> int:
        """Fetch a file; `take` gets the response when its status is 200. Returns the status.

        Redirects are followed; the key stays with the API's own origin.

        Raises:
            httpx.InvalidURL: the link is none.
            TransientError: it does not come whole after ATTEMPTS tries.
        """
        url = httpx.URL(link)
        own = self._own(url)
        auth = self._auth if own else None

        def send() -> httpx.Response:
            request = self._http.build_request("GET", url, headers={"Accept": "*/*"})
            response = self._http.send(request, auth=auth, stream=True, follow_redirects=True)
            try:
                if response.status_code == httpx.codes.OK:
                    take(response)
            finally:
                response.close()
            return response

        # the limits are the API's: a store of files has none of them
        return self.patiently(what, send, paced=own).status_code

    def patiently(
        self, what: str, send: Callable[[], httpx.Response], *, paced: bool = True
    ) -> httpx.Response:
        """Send until the answer is neither 429, nor a server's failure, nor cut short."""
        failures, waited = 0, 0.0
        while True:
            if paced:
                self._pace.take(self.wait)
            try:
                response = send()
            except httpx.RequestError as error:
                cause, pause = type(error).__name__, None
            else:
                if paced:
                    self._pace.heed(response)
                pause = retry_after(response)
                if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
                    pause = _WINDOW if pause is None else pause
                    waited += pause
                    if waited > LONGEST_WAIT:
                        raise TransientError(
                            f"{what}: the API limits requests for {waited:.0f} s: go on later"
                        )
                    self.wait(pause)
                    continue
                if response.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
                    return response
                cause = f"status {response.status_code}"
            failures += 1
            if failures == ATTEMPTS:
                raise TransientError(f"{what}: {cause} in {failures} tries: go on later")
            backoff = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** (failures - 1))
            # full jitter: many readers must not come back together
            self.wait(backoff * random.random() if pause is None else min(pause, LONGEST_WAIT))  # noqa: S311

    def _send(self, url: httpx.URL, params: Mapping[str, str], what: str) -> httpx.Response:
        request = self._http.build_request("GET", url, params=params or None)
        response = self.patiently(what, lambda: self._http.send(request, auth=self._auth))
        if response.status_code == httpx.codes.UNAUTHORIZED:
            raise ConfigurationError("source.api.key_env", self._key_env, "the API refuses the key in it")
        return response

    def _own(self, url: httpx.URL) -> bool:
        return (url.scheme, url.host, url.port) == (self._base.scheme, self._base.host, self._base.port)


def decoded(response: httpx.Response) -> Any:
    """The JSON of an answer. Raises SourceError for an answer that is none."""
    try:
        return json_text.decode(response.content)
    except ValueError:
        raise SourceError(f"the API's answer is no JSON (status {response.status_code})") from None


def retry_after(response: httpx.Response) -> float | None:
    """Seconds to wait as the answer says: `Retry-After` in seconds or as a date, else the limit's reset."""
    told = response.headers.get("Retry-After")
    if told is not None:
        if told.strip().isdigit():
            return float(told)
        try:
            moment = parsedate_to_datetime(told)
        except ValueError:
            return None
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    return _reset(response) if response.status_code == httpx.codes.TOO_MANY_REQUESTS else None


def _reset(response: httpx.Response) -> float | None:
    """Seconds until a rate limit's next window; headers give a time or a number of seconds."""
    told = next((response.headers[name] for name in _RESET if name in response.headers), "")
    try:
        value = float(told)
    except ValueError:
        return None
    if value > 1e9:
        value -= time.time()
    return min(max(0.0, value), LONGEST_WAIT)


class _Pace:
    """Spaces requests evenly, and holds all of them when a window is used up."""

    def __init__(self, per_second: float) -> None:
        self._lock = threading.Lock()
        self._gap = 1 / per_second
        self._next = 0.0

    def take(self, wait: Callable[[float], None]) -> None:
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self._gap
        if start > now:
            wait(start - now)

    def heed(self, response: httpx.Response) -> None:
        told = next((response.headers[name] for name in _REMAINING if name in response.headers), None)
        if told is None or not told.strip().isdigit() or int(told) > 0:
            return
        reset = _reset(response)
        with self._lock:
            self._next = max(self._next, time.monotonic() + (_WINDOW if reset is None else reset))


class BearerKey(httpx.Auth):
    """`Authorization: Bearer <key>`."""

    def __init__(self, key: str) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._key}"
        yield request
