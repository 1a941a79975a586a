"""Greenhouse: Harvest v1 payloads and the lists of v3, which say the same in more pieces.

Shapes: contract, section C2; grnhse/greenhouse-api-docs for v1; for v3 the field lists that its clients
publish, read 2026-11-30. v1 and v2 were to end on 2026-08-31: v1 is for payloads saved before, and for
an account that still has it.
"""

import time
from collections.abc import Generator, Mapping
from typing import Annotated, Final, Literal
from urllib.parse import parse_qs, urlsplit

import httpx
from pydantic import Field, model_validator

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.api_client import ApiClient, decoded
from batch_pipeline.sources.api_listing import LINK_HEADER, ApiListing
from batch_pipeline.sources.greenhouse_attachments import FILE_IDENTITY
from batch_pipeline.sources.greenhouse_mapping import GreenhouseMapping
from batch_pipeline.sources.payload_config import ApiConfig, PayloadConfig, validated
from batch_pipeline.sources.payload_folder import PayloadFolder
from batch_pipeline.sources.payload_source import PayloadSource
from batch_pipeline.sources.raw_payload import RawPayload
from batch_pipeline.sources.staged_rows import StagedRows

LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "v1": ("jobs", "job_stages", "candidates", "applications", "scorecards", "offers"),
    "v3": (
        *("jobs", "candidates", "applications", "application_stages", "job_interview_stages"),
        *("rejection_reasons", "rejection_details", "sources", "users", "departments", "offices", "notes"),
        *("scorecards", "scorecard_candidate_attributes", "job_candidate_attributes"),
        *("scorecard_questions", "scorecard_question_answers"),
        *("scorecard_question_options", "scorecard_question_answer_options"),
        *("offers", "attachments"),
    ),
}
"""Lists of each API version; v1 adds an `activity_feed` for every candidate."""


class GreenhouseApi(ApiConfig):
    """`key_env` holds the Harvest API key (v1), or `client id:client secret` (v3)."""

    version: Literal["v1", "v3"] = "v3"
    token_url: Annotated[str, Field(pattern=r"^https?://[^\s?#]+$")] = "https://auth.greenhouse.io/token"  # noqa: S105
    requests_per_second: Annotated[float, Field(gt=0, le=1000)] = 5  # 50 requests in ten seconds

    @model_validator(mode="before")
    @classmethod
    def _address(cls, given: dict[str, object]) -> dict[str, object]:
        return {"base_url": f"https://harvest.greenhouse.io/{given.get('version', 'v3')}"} | given


class GreenhouseConfig(PayloadConfig):
    kind: Literal["greenhouse"] = "greenhouse"
    system: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")] = "greenhouse"
    api: GreenhouseApi | None = None


class Greenhouse:
    """The dialect."""

    def __init__(self, config: GreenhouseConfig) -> None:
        self._api = config.api

    def stage(self, payloads: PayloadFolder, rows: StagedRows, raw: RawPayload) -> None:
        GreenhouseMapping(payloads, rows, raw).stage()

    def connect(self, key: str) -> ApiClient:
        assert self._api is not None
        if self._api.version == "v1":
            return ApiClient(self._api, httpx.BasicAuth(key, ""))
        name, colon, secret = key.partition(":")
        if not colon:
            raise ConfigurationError(
                "source.api.key_env", self._api.key_env, "put `client id:client secret` in it for version v3"
            )
        auth = _ClientCredentials(self._api.token_url, name, secret, self._api.key_env)
        return ApiClient(self._api, auth)

    def list_everything(self, listing: ApiListing) -> None:
        assert self._api is not None
        for name in LISTS[self._api.version]:
            listing.flat(name, name, {"per_page": str(self._api.page_size)}, LINK_HEADER)
        if self._api.version == "v1":
            candidates = (str(one["id"]) for one in listing.rows("candidates"))
            listing.owned("activity_feed", candidates, lambda owner: f"candidates/{owner}/activity_feed", {})

    def fresh_link(self, client: ApiClient, handle: str) -> str | None:
        """Handles: `attachments/<id>` (v3), `applications/<id>?...` or `candidates/<id>?...` (v1)."""
        parts = urlsplit(handle)
        if parts.path.startswith("attachments/"):
            wanted = parts.path.removeprefix("attachments/")
            listed = client.look("attachments", {"ids": wanted}, f"attachment {wanted}") or []
            return next((one.get("url") for one in listed if str(one["id"]) == wanted), None)
        owner = client.look(parts.path, {}, parts.path) or {}
        place = parse_qs(parts.query, keep_blank_values=True)
        same = [
            one
            for one in owner.get("attachments") or []
            if all((str(one.get(name) or "")) == place[name][0] for name in FILE_IDENTITY)
        ]
        number = int(place.get("n", ["1"])[0])
        return same[number - 1].get("url") if len(same) >= number else None


def open_source(settings: Mapping[str, object]) -> PayloadSource:
    """The source of a migration file's `source:` section; ConfigurationError names the wrong field."""
    config = validated(GreenhouseConfig, dict(settings))
    return PayloadSource(config, config.api, Greenhouse(config))


class _ClientCredentials(httpx.Auth):
    """OAuth 2 client credentials; a token is asked for when there is none, it ends, or it is refused."""

    requires_response_body = True

    def __init__(self, token_url: str, name: str, secret: str, key_env: str) -> None:
        self._url = token_url
        self._key_env = key_env
        self._basic = httpx.BasicAuth(name, secret)
        self._token: str | None = None
        self._ends = 0.0

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self._token is None or time.monotonic() > self._ends:
            yield from self._renew()
        request.headers["Authorization"] = f"Bearer {self._token}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            yield from self._renew()
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request

    def _renew(self) -> Generator[httpx.Request, httpx.Response, None]:
        ask = httpx.Request("POST", self._url, data={"grant_type": "client_credentials"})
        response = yield next(self._basic.auth_flow(ask))
        if response.status_code in (400, 401, 403):
            raise ConfigurationError(
                "source.api.key_env", self._key_env, "the API refuses the client id and secret in it"
            )
        if response.status_code != httpx.codes.OK:
            raise _NoToken(f"the token endpoint answers {response.status_code}", request=ask)
        granted = decoded(response)
        self._token = granted["access_token"]
        self._ends = time.monotonic() + 0.9 * float(granted.get("expires_in") or 600)


class _NoToken(httpx.RequestError):
    """The token endpoint fails: tried again like any request that did not come through."""
