"""Lists of an API as payload files, page by page, with a note of where each list goes on.

A page is written before its cursor is: a killed reading repeats at most one page, under the same name.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec

from batch_pipeline.errors import ConfigurationError, SourceError
from batch_pipeline.sources.api_client import ApiClient, decoded
from batch_pipeline.sources.base import Notice, Total
from batch_pipeline.sources.listing import list_export
from batch_pipeline.sources.payload_config import ApiConfig
from batch_pipeline.sources.payload_folder import Payload, PayloadFolder
from batch_pipeline.workspace import atomic_path

_STATE: Final = "cursors.state"
_STALE: Final = timedelta(days=6)  # signed links of the first pages die on the seventh day (Greenhouse)
_CURSOR_GONE: Final = frozenset({400, 404, 410, 422})
_OWNERS_AT_ONCE: Final = 200
_OWNER: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True)
class Paging:
    """How a list says that it goes on: `next_of` an answer is a link, or the value of `parameter`."""

    next_of: Callable[[httpx.Response], str | None]
    parameter: str | None = None
    pages_of: Callable[[httpx.Response], int | None] | None = None  # how many there are, where it says so


def _link_header(response: httpx.Response) -> str | None:
    return response.links.get("next", {}).get("url")


def _last_page(response: httpx.Response) -> int | None:
    """The page that `rel="last"` names (Greenhouse v1)."""
    page = httpx.URL(response.links.get("last", {}).get("url", "")).params.get("page", "")
    return int(page) if page.isdecimal() else None


def _next_token(response: httpx.Response) -> str | None:
    content = decoded(response)
    return content.get("next") if isinstance(content, dict) and content.get("hasNext") else None


def _paging_next(response: httpx.Response) -> str | None:
    content = decoded(response)
    return (content.get("paging") or {}).get("next") if isinstance(content, dict) else None


LINK_HEADER: Final = Paging(_link_header, pages_of=_last_page)
"""RFC 8288 `Link: <...>; rel="next"`; the link carries everything (Greenhouse v1 pages, v3 cursors)."""
OFFSET_TOKEN: Final = Paging(_next_token, "offset")
"""`hasNext` and an opaque `next`, given back as `offset` (Lever)."""
PAGING_NEXT: Final = Paging(_paging_next)
"""`paging.next` in the answer (Workable)."""


class ApiListing:
    """One reading of an API, below `folder`."""

    def __init__(self, folder: Path, client: ApiClient, api: ApiConfig, now: Callable[[], datetime]) -> None:
        self._folder = folder
        self._client = client
        self._api = api
        self._now = now
        self._lists: dict[str, dict[str, Any]] = {}
        self._asked: set[str] = set()
        self._vanished: dict[str, int] = {}
        self._began = now()

    def begin(self) -> None:
        """Go on with a reading of this API that was cut short, unless its links have died meanwhile."""
        path = self._folder / _STATE
        if path.exists():
            state = json.loads(path.read_text())
            began = datetime.fromisoformat(state["began"])
            if state["api"] == self._api.base_url and self._now() - began < _STALE:
                self._began, self._lists = began, state["lists"]
                return
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, mode=0o700)
        self._save()

    def end(self) -> None:
        """The tables are written: the payloads, with their links, are not needed any more."""
        shutil.rmtree(self._folder)

    def rows(self, name: str) -> Iterator[Payload]:
        """Objects of a list that has been listed."""
        return PayloadFolder(list_export(self._folder, self._folder)).rows(name)

    def flat(self, name: str, path: str, params: Mapping[str, str], paging: Paging) -> None:
        """Save every page of a list as `<name>/<number>.json`."""
        if self._left_out(name):
            return
        state = self._lists.setdefault(name, {"pages": 0, "next": None, "done": False})
        resumed = state["next"] is not None
        while not state["done"]:
            response = self._page(name, path, params, paging, state["next"])
            if resumed and response.status_code in _CURSOR_GONE:
                state |= {"pages": 0, "next": None}
                shutil.rmtree(self._folder / name, ignore_errors=True)
                resumed = False
                continue
            resumed = False
            _checked(response, name)
            if state["pages"] == 0 and paging.pages_of is not None:
                state["stated"] = paging.pages_of(response)
            following = paging.next_of(response)
            if following is not None and following == state["next"]:
                raise SourceError(f"{name}: page {state['pages'] + 1} names itself as the next one")
            self._write(f"{name}/{state['pages']:06}", response.content)
            state |= {"pages": state["pages"] + 1, "next": following, "done": following is None}
            self._save()

    def owned(
        self,
        name: str,
        owners: Iterable[str],
        path_of: Callable[[str], str],
        params: Mapping[str, str],
        paged: tuple[str, Paging] | None = None,
    ) -> None:
        """Save what belongs to each owner as `<name>/<owner>.json`; what is there already is kept.

        `paged` names the array of a list that may have several pages, and how it goes on.
        """
        if self._left_out(name):
            return
        one = partial(self._owned, name, path_of, params, paged)
        with ThreadPoolExecutor(self._api.concurrency) as pool:
            for some in _batches(owners, _OWNERS_AT_ONCE):
                gone = sum(pool.map(one, some))
                self._vanished[name] = self._vanished.get(name, 0) + gone

    def notices(self) -> list[Notice]:
        """When this was listed, what was left out, what was deleted meanwhile.

        Raises ConfigurationError where `without` names a list the source does not read.
        """
        unknown = sorted(set(self._api.without) - self._asked)
        if unknown:
            raise ConfigurationError(
                "source.api.without", unknown, f"the lists are {', '.join(sorted(self._asked))}"
            )
        pages = sum(state["pages"] for state in self._lists.values())
        span = f"listed from {self._began:%Y-%m-%dT%H:%M:%SZ} to {self._now():%Y-%m-%dT%H:%M:%SZ}"
        return [
            Notice("snapshot", "api", span, pages),
            *(Notice("no_table", name, "source.api.without", 0) for name in sorted(self._api.without)),
            *(Notice("vanished", name, "the owner is gone", n) for name, n in self._vanished.items() if n),
        ]

    def totals(self) -> list[Total]:
        """Pages that a list's first answer said there are, beside those that came."""
        return [
            Total(f"pages of {name}", state["stated"], state["pages"])
            for name, state in sorted(self._lists.items())
            if state.get("stated") is not None
        ]

    def _left_out(self, name: str) -> bool:
        self._asked.add(name)
        return name in self._api.without

    def _page(
        self, name: str, path: str, params: Mapping[str, str], paging: Paging, cursor: str | None
    ) -> httpx.Response:
        if cursor is None:
            return self._client.get(path, params, name)
        if paging.parameter is None:
            # the link says all: Greenhouse v3 refuses a cursor with any other parameter
            return self._client.get(cursor, {}, name)
        return self._client.get(path, {**params, paging.parameter: cursor}, name)

    def _owned(
        self,
        name: str,
        path_of: Callable[[str], str],
        params: Mapping[str, str],
        paged: tuple[str, Paging] | None,
        owner: str,
    ) -> int:
        """1 where the owner is gone."""
        if not _OWNER.fullmatch(owner):
            raise SourceError(f"{name}: an id of the API holds more than letters, digits, - and _")
        if (self._folder / name / f"{owner}.json").exists():
            return 0
        items: list[Any] = []
        cursor: str | None = None
        while True:
            response = self._page(name, path_of(owner), params, paged[1] if paged else LINK_HEADER, cursor)
            if response.status_code in (404, 410):
                return 1
            _checked(response, name)
            if paged is None:
                self._write(f"{name}/{owner}", response.content)
                return 0
            content = decoded(response)
            if not isinstance(content, dict) or not isinstance(content.get(paged[0]), list):
                raise SourceError(f"{name}: an answer holds no array {paged[0]!r}")
            items += content[paged[0]]
            following = paged[1].next_of(response)
            if following is None or following == cursor:
                break
            cursor = following
        self._write(f"{name}/{owner}", msgspec.json.encode({paged[0]: items}))
        return 0

    def _write(self, place: str, content: bytes) -> None:
        with atomic_path(self._folder / f"{place}.json") as unfinished:
            unfinished.write_bytes(content)

    def _save(self) -> None:
        with atomic_path(self._folder / _STATE) as unfinished:
            state = {"api": self._api.base_url, "began": self._began.isoformat(), "lists": self._lists}
            unfinished.write_text(json.dumps(state))


def _checked(response: httpx.Response, name: str) -> None:
    if response.status_code != httpx.codes.OK:
        raise SourceError(f"{name}: the API answers {response.status_code}")
    decoded(response)


def _batches(owners: Iterable[str], size: int) -> Iterator[list[str]]:
    """itertools.batched is of Python 3.12."""
    rest = iter(owners)
    while some := list(islice(rest, size)):
        yield some
