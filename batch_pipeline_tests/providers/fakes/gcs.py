"""Google Cloud Storage's JSON API over the core: one bucket that keeps old generations, as a versioned one does."""

from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from batch_pipeline_tests.providers.fakes.core import Core
from batch_pipeline_tests.providers.fakes.google import page, refuse, shown

BUCKET: Final = "acme-cvs"
OFFICIAL_TOKEN: Final = "of-googles-own-client"


@dataclass(frozen=True)
class Generation:
    name: str
    number: int
    data: bytes
    live: bool

    @property
    def resource(self) -> dict[str, Any]:
        return {
            "kind": "storage#object",
            "name": self.name,
            "generation": str(self.number),
            "size": str(len(self.data)),
        }


class Storage:
    """Generations are kept in the core's files, under `<name>#<generation>`."""

    def __init__(self, core: Core, soft_delete_seconds: int = 604_800) -> None:
        self.core = core
        self.soft_delete_seconds = soft_delete_seconds
        self._numbers = 1_700_000_000

    def routes(self) -> list[Route]:
        bucket = "/storage/v1/b/{bucket}"
        return [
            Route("/upload" + bucket + "/o", self.upload, methods=["POST"]),
            Route(bucket, self.about, methods=["GET"]),
            Route(bucket + "/iam/testPermissions", self.permissions, methods=["GET"]),
            Route(bucket + "/o", self.list, methods=["GET"]),
            Route(bucket + "/o/{name:path}", self.read, methods=["GET"]),
            Route(bucket + "/o/{name:path}", self.delete, methods=["DELETE"]),
        ]

    def write(self, name: str, data: bytes) -> Generation:
        with self.core.lock:
            self._numbers += 1
            for key, old in self.core.files.items():
                if old.name == name:
                    self.core.files[key] = Generation(old.name, old.number, old.data, live=False)
            made = Generation(name, self._numbers, data, live=True)
            self.core.files[f"{name}#{made.number}"] = made
            return made

    def live(self, name: str) -> Generation | None:
        return next((one for one in self.core.files.values() if one.name == name and one.live), None)

    @staticmethod
    def refused(request: Request) -> Response | None:
        """Whoever comes with a token mistook this for Google's own address; Google's own client cannot come
        without one, and has a word that is worth nothing."""
        if request.headers.get("authorization", f"Bearer {OFFICIAL_TOKEN}") != f"Bearer {OFFICIAL_TOKEN}":
            return refuse("denied", "This server must be asked without a credential.")
        if request.path_params.get("bucket", BUCKET) != BUCKET:
            return refuse("not_found", "The specified bucket does not exist.")
        return None

    async def upload(self, request: Request) -> Response:
        if refused := self.refused(request):
            return refused
        if request.query_params.get("uploadType") != "media":
            return refuse("bad_request", "uploadType")
        return shown(self.write(request.query_params["name"], await request.body()).resource)

    async def about(self, request: Request) -> Response:
        if refused := self.refused(request):
            return refused
        policy = {"retentionDurationSeconds": str(self.soft_delete_seconds)}
        return shown({"name": BUCKET, "location": "EUROPE-WEST1", "softDeletePolicy": policy})

    async def permissions(self, request: Request) -> Response:
        if refused := self.refused(request):
            return refused
        return shown({"permissions": request.query_params.getlist("permissions")})

    async def list(self, request: Request) -> Response:
        if refused := self.refused(request):
            return refused
        every = request.query_params.get("versions") == "true"
        prefix = request.query_params.get("prefix", "")
        with self.core.lock:
            found = [
                one.resource
                for _, one in sorted(self.core.files.items())
                if one.name.startswith(prefix) and (one.live or every)
            ]
        if self.core.faults.results_gone:
            found = [one for one in found if "prediction" not in one["name"]]
        return page(request, found, "items", 1000, 1000)

    async def read(self, request: Request) -> Response:
        if refused := self.refused(request):
            return refused
        found = self.live(request.path_params["name"])
        if found is None or request.query_params.get("alt") != "media":
            return refuse("not_found", "No such object")
        return Response(found.data, media_type="application/jsonl")

    async def delete(self, request: Request) -> Response:
        """Without a generation the live one only becomes an old one, as in any versioned bucket."""
        if refused := self.refused(request):
            return refused
        name, number = request.path_params["name"], request.query_params.get("generation")
        with self.core.lock:
            if number is not None:
                gone = self.core.files.pop(f"{name}#{number}", None)
                return Response(status_code=204) if gone else refuse("not_found", "No such object")
            found = self.live(name)
            if found is None:
                return refuse("not_found", "No such object")
            old = Generation(found.name, found.number, found.data, live=False)
            self.core.files[f"{name}#{found.number}"] = old
            return Response(status_code=204)
