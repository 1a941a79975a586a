"""Lever: one opportunity a candidacy, one contact a person.

Shapes: contract, section C2, and Lever's API reference (score systems run from "1 - Strong No Hire" to
"4 - Strong Hire"). Payload lists read: postings, stages, archive_reasons, users, opportunities,
applications (unless expanded in the opportunities), and for each opportunity resumes, files, notes,
feedback, offers.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Final, Literal

import httpx
from pydantic import Field

from batch_pipeline.sources.api_client import ApiClient
from batch_pipeline.sources.api_listing import OFFSET_TOKEN, ApiListing
from batch_pipeline.sources.lever_mapping import LeverMapping
from batch_pipeline.sources.payload_config import ApiConfig, PayloadConfig, validated
from batch_pipeline.sources.payload_folder import PayloadFolder
from batch_pipeline.sources.payload_source import PayloadSource
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import StagedRows

FLAT: Final = ("postings", "stages", "archive_reasons", "users", "opportunities")
OWNED: Final = ("resumes", "files", "notes", "feedback", "offers")
"""Lists of the account, and lists of each opportunity."""

# unless told otherwise Lever lists what is not confidential, and says nothing of the rest
_ASKED: Final[Mapping[str, dict[str, str]]] = {
    "opportunities": {"expand": "applications", "confidentiality": "all"},
    "postings": {"confidentiality": "all"},
}


class LeverApi(ApiConfig):
    """`key_env` holds an API key with read access to everything, confidential postings included."""

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s?#]+$")] = "https://api.lever.co/v1"
    requests_per_second: Annotated[float, Field(gt=0, le=1000)] = 8  # ten in a steady state
    page_size: Annotated[int, Field(ge=1, le=100)] = 100


class LeverConfig(PayloadConfig):
    kind: Literal["lever"] = "lever"
    system: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")] = "lever"
    api: LeverApi | None = None


class Lever:
    """The dialect."""

    def __init__(self, config: LeverConfig) -> None:
        self._api = config.api

    def stage(self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload) -> None:
        LeverMapping(payloads, rows, raw, self._api.base_url if self._api else None).stage()

    def connect(self, key: str) -> ApiClient:
        assert self._api is not None
        return ApiClient(self._api, httpx.BasicAuth(key, ""))

    def list_everything(self, listing: ApiListing) -> None:
        assert self._api is not None
        limit = {"limit": str(self._api.page_size)}
        for name in FLAT:
            listing.flat(name, name, limit | _ASKED.get(name, {}), OFFSET_TOKEN)
        for name in OWNED:
            owners = (str(one["id"]) for one in listing.rows("opportunities"))
            listing.owned(name, owners, _path_of(name), limit, ("data", OFFSET_TOKEN))

    def fresh_link(self, client: ApiClient, handle: str) -> str | None:
        """Handles are paths (`opportunities/<id>/resumes/<id>`); the download path asks for the key."""
        listed = (client.look(handle, {}, handle) or {}).get("data") or {}
        return client.url(f"{handle}/download") if listed.get("file", listed) else None


def open_source(settings: Mapping[str, object]) -> PayloadSource:
    """The source of a migration file's `source:` section; ConfigurationError names the wrong field."""
    config = validated(LeverConfig, dict(settings))
    return PayloadSource(config, config.api, Lever(config))


def _path_of(name: str) -> Callable[[str], str]:
    return lambda owner: f"opportunities/{owner}/{name}"
