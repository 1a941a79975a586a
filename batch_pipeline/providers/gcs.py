"""One bucket of Google Cloud Storage, through its JSON API."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final
from urllib.parse import quote

import httpx

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.providers.contract import ErasureCertificate, ResultsGone
from batch_pipeline.providers.google_errors import errors
from batch_pipeline.providers.google_http import GoogleApi, json_object

ERRORS: Final = errors("Google Cloud Storage")
_UPLOAD_SECONDS: Final = 600.0
_CHUNK: Final = 1 << 20
_ROUNDS: Final = 5
_DAY: Final = 86_400


@dataclass(frozen=True)
class Stored:
    """One generation of one object."""

    name: str
    size: int
    generation: str


@dataclass(frozen=True)
class Bucket:
    api: GoogleApi
    name: str

    @property
    def _path(self) -> str:
        return f"/storage/v1/b/{self.name}/o"

    def uri(self, name: str) -> str:
        return f"gs://{self.name}/{name}"

    def put(self, name: str, content: IO[bytes], size: int) -> None:
        """Safe to repeat: a second upload is another generation of the same object."""
        what = f"upload of {self.uri(name)}"
        with ERRORS.repeatable(what):
            answer = self.api.once(
                "POST",
                f"/upload{self._path}",
                params={"uploadType": "media", "name": name},
                content=content,
                seconds=_UPLOAD_SECONDS,
                kind="application/jsonl",
            )
            stored = json_object(answer)
        if str(stored.get("size")) != str(size):
            raise TransientError(f"{what}: {size} bytes left and {stored.get('size')} are stored")

    def objects(self, prefix: str, *, versions: bool = False) -> list[Stored]:
        """By name; `versions`: older generations too."""
        params = {"prefix": prefix, "fields": "nextPageToken,items(name,size,generation)"}
        if versions:
            params["versions"] = "true"
        with ERRORS.repeatable(f"list of {self.uri(prefix)}"):
            found = [
                Stored(str(one["name"]), int(one.get("size") or 0), str(one.get("generation") or ""))
                for one in self.api.pages(self._path, params, "items")
            ]
        return sorted(found, key=lambda one: (one.name, one.generation))

    def read(self, name: str) -> Generator[bytes, None, None]:
        """An object, piece by piece.

        Raises:
            ResultsGone: there is none.
        """
        what = f"read of {self.uri(name)}"
        try:
            with (
                ERRORS.repeatable(what),
                self.api.streamed(f"{self._path}/{quote(name, safe='')}", {"alt": "media"}) as response,
            ):
                yield from response.iter_bytes(_CHUNK)
        except httpx.HTTPError as error:
            raise TransientError(f"{what}: {type(error).__name__}") from None

    def delete(self, objects: Sequence[Stored]) -> None:
        """These very generations; one that is gone meanwhile is what was wanted."""
        for one in objects:
            try:
                with ERRORS.repeatable(f"removal of {self.uri(one.name)}"):
                    path = f"{self._path}/{quote(one.name, safe='')}"
                    self.api.often("DELETE", path, params={"generation": one.generation})
            except ResultsGone:
                continue

    def about(self) -> dict[str, Any]:
        with ERRORS.repeatable(f"look at bucket {self.name}"):
            return self.api.often("GET", f"/storage/v1/b/{self.name}")

    def allowed(self, permissions: Sequence[str]) -> set[str]:
        """Those of the permissions that the caller has."""
        with ERRORS.repeatable(f"rights on bucket {self.name}"):
            found = self.api.often(
                "GET", f"/storage/v1/b/{self.name}/iam/testPermissions", params={"permissions": permissions}
            )
        return set(found.get("permissions") or ())


def soft_delete_days(about: dict[str, Any]) -> float:
    """How long a bucket keeps what was deleted; 7 days where nobody said otherwise."""
    policy = about.get("softDeletePolicy") or {}
    return int(policy.get("retentionDurationSeconds") or 0) / _DAY


def erase_prefix(bucket: Bucket, prefix: str) -> ErasureCertificate:
    """Delete every generation of every object below `prefix` (ends with "/"), and look again.

    Raises:
        TerminalError: something is still there after several rounds, or may not be deleted.
    """
    if not prefix.endswith("/") or prefix == "/":
        raise TerminalError(f"erasing needs one migration's own folder, not {prefix!r}")
    seen: dict[tuple[str, str], int] = {}
    for _ in range(_ROUNDS):
        present = bucket.objects(prefix, versions=True)
        if not present:
            kept = _kept(bucket) if seen else []
            return ErasureCertificate(len(seen), len(seen), sum(seen.values()), 0, 0, kept)
        seen |= {(one.name, one.generation): one.size for one in present}
        bucket.delete(present)
    left = len(bucket.objects(prefix, versions=True))
    raise TerminalError(
        f"{left} objects or generations below {prefix} could not be deleted. Look for a retention policy, a hold "
        "or a missing storage.objects.delete, then erase again"
    )


def _kept(bucket: Bucket) -> list[str]:
    """What a bucket with a soft delete policy keeps of deleted objects, which no caller can shorten for them."""
    try:
        days = soft_delete_days(bucket.about())
    except TerminalError:
        return ["deleted objects, should the bucket have a soft delete policy: it could not be looked at"]
    return [f"deleted objects, for {days:g} days by the bucket's soft delete policy"] if days else []
