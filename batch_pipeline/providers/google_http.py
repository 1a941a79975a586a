"""JSON calls to Google's APIs: one attempt where a call costs money, a few where it may be repeated.

The batch endpoints are called as plain JSON and not through google-genai: for these it leaves out a job's
error and counters, turns every body into its own classes and back, and cannot ask for a part of an answer.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import IO, Any, Final

import httpx
import msgspec

from batch_pipeline.providers.google_errors import Answered, NoAnswer, retry_after

_READ_ATTEMPTS: Final = 5
_MAX_PAUSE: Final = 20.0
_CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 60.0
_PASSES: Final = frozenset({408, 429, 500, 502, 503, 504})


@cache
def connections() -> httpx.Client:
    """One pool for a process: a daemon opens a provider for every look at a migration."""
    return httpx.Client()


Headers = Callable[[], Mapping[str, str]]
Body = bytes | IO[bytes] | None
Params = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class GoogleApi:
    """One service at one address; `signed` gives the headers that say who asks."""

    base_url: str
    signed: Headers
    http: httpx.Client

    @property
    def host(self) -> str:
        return httpx.URL(self.base_url).netloc.decode()

    def once(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        content: Body = None,
        seconds: float = READ_SECONDS,
        kind: str = "application/json",
    ) -> bytes:
        """The bytes of one answer to one request.

        Raises:
            Answered: with an error.
            NoAnswer: none came whole.
        """
        with self._sent(method, path, params, content, seconds, kind) as response:
            return response.read()

    def often(self, method: str, path: str, *, params: Params | None = None) -> dict[str, Any]:
        """The JSON object of a call that may be repeated, tried a few times."""
        for attempt in range(1, _READ_ATTEMPTS):
            try:
                return json_object(self.once(method, path, params=params))
            except Answered as error:
                if error.status_code not in _PASSES:
                    raise
                pause = retry_after(error.body)
            except NoAnswer:
                pause = None
            time.sleep(min(0.5 * 2**attempt if pause is None else pause, _MAX_PAUSE))
        return json_object(self.once(method, path, params=params))

    def pages(self, path: str, params: Params, items: str) -> Iterator[dict[str, Any]]:
        """Every item of a list, page by page."""
        token = ""
        while True:
            page = self.often("GET", path, params={**params, **({"pageToken": token} if token else {})})
            yield from page.get(items) or ()
            token = page.get("nextPageToken") or ""
            if not token:
                return

    @contextmanager
    def streamed(self, path: str, params: Params) -> Iterator[httpx.Response]:
        """An answer that is read while it comes; a broken one raises NoAnswer where it breaks."""
        with self._sent("GET", path, params, None, READ_SECONDS, "") as response:
            yield response

    @contextmanager
    def _sent(
        self,
        method: str,
        path: str,
        params: Params | None,
        content: Body,
        seconds: float,
        kind: str,
    ) -> Iterator[httpx.Response]:
        headers = dict(self.signed())
        if content is not None:
            headers["content-type"] = kind
        try:
            with self.http.stream(
                method,
                f"{self.base_url}{path}",
                params=dict(params or {}),
                content=content,
                headers=headers,
                timeout=httpx.Timeout(seconds, connect=_CONNECT_SECONDS),
            ) as response:
                if response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
                    raise Answered(response.status_code, _decoded(response.read()))
                yield response
        except httpx.HTTPError as error:
            raise NoAnswer(type(error).__name__) from error


def json_object(answer: bytes) -> dict[str, Any]:
    """Raises NoAnswer where it is another thing: a proxy's page, a cut body."""
    found = _decoded(answer) if answer.strip() else {}
    if not isinstance(found, dict):
        raise NoAnswer("the answer is no JSON object")
    return found


def _decoded(answer: bytes) -> Any:
    try:
        return msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
