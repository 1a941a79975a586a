"""Files of an API: fetched in the reading that lists them, whole or not at all, each once.

A signed link dies within days (trap 1): when it is refused, the attachment is listed again by its handle
and fetched once more. A file lies under the digest of its handle, never under its own name (trap 21).
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import httpx
import polars as pl

from batch_pipeline.errors import BatchPipelineError, TransientError
from batch_pipeline.sources.api_client import ApiClient
from batch_pipeline.sources.base import Notice
from batch_pipeline.sources.canonical import UTC
from batch_pipeline.sources.payload_config import ApiConfig
from batch_pipeline.sources.staged_rows import URL
from batch_pipeline.workspace import atomic_path

Why = Literal["link_refused", "gone", "no_link", "too_large", "server_failed", "unusable_link", "bad_status"]

_REFUSED: Final = frozenset({400, 401, 403, 410})  # expired: S3 says 403, Google 400, others 401 or 410
_AT_ONCE: Final = 500
_OUTAGE: Final = 20  # so many failures and nothing else is a server that is down, not files that are lost
_SHOWN: Final = 20


class _TooLarge(BatchPipelineError):
    """The file is larger than the migration takes."""


@dataclass(frozen=True)
class _Outcome:
    state: Literal["pending", "missing", "download_failed"]
    path: str | None = None
    why: Why | None = None
    fetched_at: datetime | None = None
    status: int | None = None

    @property
    def reason(self) -> Why | None:
        """What is missing needs none: the system has no such file any more."""
        return self.why if self.state == "download_failed" else None


class FileFetcher:
    """Fetches into `folder`; `fresh_link` lists one handle again."""

    def __init__(
        self,
        client: ApiClient,
        folder: Path,
        api: ApiConfig,
        fresh_link: Callable[[ApiClient, str], str | None],
    ) -> None:
        self._client = client
        self._folder = folder
        self._api = api
        self._fresh_link = fresh_link

    def fetch_all(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Notice]]:
        """`local_path` and `state` of every attachment; a notice for each reason that kept files away.

        `rows` have `_url` and `_erased`; those of erased people are not asked for.

        Raises TransientError where the server gives nothing at all; what came is kept for the next try.
        """
        wanted = rows.filter(~pl.col("_erased")).select("source_id", "source_handle", URL)
        outcomes: dict[str, _Outcome] = {}
        with ThreadPoolExecutor(self._api.concurrency) as pool:
            for start in range(0, wanted.height, _AT_ONCE):
                some = wanted.slice(start, _AT_ONCE).to_dicts()
                found = list(pool.map(self._fetch, some))
                failed = sum(one.why == "server_failed" for one in found)
                if failed == len(found) and failed >= _OUTAGE:
                    raise TransientError(f"none of {failed} attachments came: go on later, the rest is kept")
                outcomes |= {row["source_id"]: one for row, one in zip(some, found, strict=True)}
        ids = pl.Series("source_id", list(outcomes), dtype=pl.String)
        fetched = pl.DataFrame(
            {
                "source_id": ids,
                "_path": pl.Series([one.path for one in outcomes.values()], dtype=pl.String),
                "_state": pl.Series([one.state for one in outcomes.values()], dtype=pl.String),
                "_why": pl.Series([one.reason for one in outcomes.values()], dtype=pl.String),
                "_at": pl.Series([one.fetched_at for one in outcomes.values()], dtype=UTC),
                "_status": pl.Series([one.status for one in outcomes.values()], dtype=pl.Int32),
            }
        )
        placed = rows.join(fetched, on="source_id", how="left", maintain_order="left").with_columns(
            local_path="_path",
            state=pl.coalesce("_state", pl.lit("erased")),
            state_reason="_why",
            fetched_at="_at",
            http_status="_status",
        )
        return placed, _notices(outcomes)

    def _fetch(self, row: dict[str, Any]) -> _Outcome:
        # two accounts may have one handle
        place = f"{self._api.base_url}\n{row['source_handle']}"
        digest = hashlib.sha256(place.encode()).hexdigest()
        target = self._folder / digest[:2] / digest
        status: int | Why = httpx.codes.OK
        if not target.exists():
            try:
                status = self._download(row, target)
            except _TooLarge:
                status = "too_large"
            except TransientError:
                status = "server_failed"
            except httpx.InvalidURL:
                status = "unusable_link"
        if status == httpx.codes.OK:
            # when it came, not when it was looked for again: a second reading says the same
            came = datetime.fromtimestamp(target.stat().st_mtime).astimezone()
            return _Outcome("pending", str(target.resolve()), fetched_at=came, status=status)
        why = status if isinstance(status, str) else _why(status)
        state: Literal["missing", "download_failed"] = (
            "missing" if why in ("gone", "no_link") else "download_failed"
        )
        return _Outcome(state, why=why, status=None if isinstance(status, str) else status)

    def _download(self, row: dict[str, Any], target: Path) -> int | Why:
        """The answer's status, 200 when the file is there."""
        what = f"attachment {row['source_id']}"
        handle, link = row["source_handle"], row[URL]
        listed_again = link is None
        if link is None:
            link = self._fresh_link(self._client, handle)
            if link is None:
                return "no_link"
        status = self._save(link, target, what)
        if status in _REFUSED and not listed_again:
            link = self._fresh_link(self._client, handle)
            return "gone" if link is None else self._save(link, target, what)
        return status

    def _save(self, link: str, target: Path, what: str) -> int:
        def take(response: httpx.Response) -> None:
            left = self._api.max_file_bytes
            if int(response.headers.get("Content-Length", "0")) > left:
                raise _TooLarge(what)
            with atomic_path(target) as unfinished, unfinished.open("wb") as file:
                for chunk in response.iter_bytes():
                    left -= len(chunk)
                    if left < 0:
                        raise _TooLarge(what)
                    file.write(chunk)

        return self._client.stream(link, take, what)


def _why(status: int) -> Why:
    if status == httpx.codes.NOT_FOUND:
        return "gone"
    return "link_refused" if status in _REFUSED else "bad_status"


def _notices(outcomes: dict[str, _Outcome]) -> list[Notice]:
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for source_id, one in outcomes.items():
        if one.why is not None:
            by_reason[one.state, one.why].append(source_id)
    return [
        Notice(
            "missing_files" if state == "missing" else "download_failed",
            "attachment",
            f"{why}: {', '.join(ids[:_SHOWN])}" + (", ..." if len(ids) > _SHOWN else ""),
            len(ids),
        )
        for (state, why), ids in sorted(by_reason.items())
    ]
