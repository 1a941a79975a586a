"""What all API sources do alike: payloads, saved or listed now, become canonical tables with their files.

An API is listed into payload files first and mapped from them, so both ways give the same rows.
"""

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import polars as pl

from batch_pipeline.errors import ConfigurationError, SourceError
from batch_pipeline.sources import attachment_files, relations
from batch_pipeline.sources.api_client import ApiClient
from batch_pipeline.sources.api_listing import ApiListing
from batch_pipeline.sources.attachment_fetching import FileFetcher
from batch_pipeline.sources.base import NOBODY, Notice, SourceReport, compared
from batch_pipeline.sources.canonical import ENTITIES, Entity
from batch_pipeline.sources.landing import attachment_rows, land, write_table
from batch_pipeline.sources.listing import ORPHANS, list_export
from batch_pipeline.sources.payload_config import ApiConfig, PayloadConfig
from batch_pipeline.sources.payload_folder import PayloadFolder
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import StagedRows
from batch_pipeline.workspace import write_parquet

LISTED: Final = "payloads"
"""Below the canonical folder: what a reading under way has listed. Gone once its tables are written."""
FILES: Final = "files"
"""Below the canonical folder: the files an API gave, under names of our own."""


class Dialect(Protocol):
    """What one system's module knows: its mapping, and how its API is walked."""

    def stage(self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload) -> None:
        """Map every payload to canonical rows; attachments carry their link in `_url`."""
        ...

    def connect(self, key: str) -> ApiClient:
        """A client for the API; raises ConfigurationError for a key of the wrong shape."""
        ...

    def list_everything(self, listing: ApiListing) -> None:
        """Page every list the mapping reads into payload files."""
        ...

    def fresh_link(self, client: ApiClient, handle: str) -> str | None:
        """A new link for a stored handle, None where the system has the file no more."""
        ...


class PayloadSource:
    """A source of payloads in one dialect.

    `now` and `wait` stand for the clock: consent is measured by the first, rate limits kept by the other.
    """

    def __init__(
        self,
        config: PayloadConfig,
        api: ApiConfig | None,
        dialect: Dialect,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.config = config
        self._api = api
        self._dialect = dialect
        self._now = now
        self._wait = wait

    def read(self, into: Path, erased: Mapping[str, datetime] = NOBODY) -> SourceReport:
        """Write the canonical tables. A live reading that was cut short goes on where it was.

        Raises:
            ConfigurationError: the environment holds no key, or a setting is wrong.
            SourceError: a payload is not as the dialect says.
            TransientError: the API does not answer; the next reading goes on from here.
        """
        into.mkdir(parents=True, exist_ok=True, mode=0o700)
        scratch = into / ".staged"
        shutil.rmtree(scratch, ignore_errors=True)
        try:
            if self._api is None:
                payloads = PayloadFolder(list_export(Path(str(self.config.path)), into / "export"))
                return self._written(payloads, into, scratch, None, [], erased)
            with self._dialect.connect(_key(self._api)) as client:
                client.wait = self._wait
                listing = ApiListing(into / LISTED, client, self._api, self._now)
                listing.begin()
                self._dialect.list_everything(listing)
                payloads = PayloadFolder(list_export(into / LISTED, into / "export"))
                report = self._written(payloads, into, scratch, client, listing.notices(), erased)
                totals = (*report.totals, *listing.totals())
                listing.end()
            return replace(report, totals=totals)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _written(
        self,
        payloads: PayloadFolder,
        into: Path,
        scratch: Path,
        client: ApiClient | None,
        notices: list[Notice],
        erased: Mapping[str, datetime],
    ) -> SourceReport:
        staged = StagedRows(scratch)
        raw = RawPayload(staged.findings, self.config.keep_fields)
        try:
            self._dialect.stage(payloads, staged, raw)
        except (KeyError, TypeError, AttributeError) as error:
            what = (
                f"field {error} is not there" if isinstance(error, KeyError) else "a value has another type"
            )
            raise SourceError(f"a payload is not as {self.config.kind} documents it: {what}") from error
        notices = [*notices, *staged.findings.notices()]
        if client is None:
            notices += [Notice("unused_file", f"{name}.json", "not read", 1) for name in payloads.unread()]
        now = self._now()
        notices += land(staged, into, now, erased, erase_expired=self.config.expired_consent == "erased")
        rows, found = attachment_rows(staged, into, now)
        notices += found
        rows, found = self._with_files(rows, into, client)
        notices += found
        write_table("attachment", rows.lazy(), into)
        notices += relations.dangling(into)
        counts: dict[Entity, int] = {
            entity: pl.scan_parquet(into / f"{entity}.parquet").select(pl.len()).collect().item()
            for entity in ENTITIES
        }
        return SourceReport(counts, tuple(notices), compared(self.config.totals, counts))

    def _with_files(
        self, rows: pl.DataFrame, into: Path, client: ApiClient | None
    ) -> tuple[pl.DataFrame, list[Notice]]:
        if client is None or self._api is None:
            placed, orphans, notices = attachment_files.place(
                rows, self.config.files_folder, self.config.attachment_path, into / "export"
            )
            write_parquet(orphans, into / ORPHANS)
            return placed, notices
        fetcher = FileFetcher(client, into / FILES, self._api, self._dialect.fresh_link)
        return fetcher.fetch_all(rows)


def _key(api: ApiConfig) -> str:
    key = os.environ.get(api.key_env, "")
    if not key:
        raise ConfigurationError("source.api.key_env", api.key_env, "set this variable to the API's key")
    return key
