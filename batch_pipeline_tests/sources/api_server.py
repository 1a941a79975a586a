"""A small server that pages, limits and signs links as the three systems document, over real HTTP.

Faults are asked for by path: each is given once and then gone, as they are in life.
"""

import base64
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Fault = Callable[[Request], Response | None]
"""What a request gets in place of its answer; None lets it pass."""
KEY = "harvest-key"


@dataclass
class System:
    """The data of one account, and how it misbehaves."""

    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    owned: dict[str, Any] = field(default_factory=dict)  # path -> payload
    objects: dict[str, Any] = field(default_factory=dict)  # path -> payload
    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    asked: Counter[str] = field(default_factory=Counter)
    authorised: dict[str, set[str | None]] = field(default_factory=lambda: defaultdict(set))
    queries: list[str] = field(default_factory=list)
    valid_signature: str = "1"
    base: str = ""
    tokens: int = 0
    per_page: int = 2

    def link(self, name: str) -> str:
        """A signed link as it would be listed now, on another host than the API."""
        elsewhere = self.base.replace("127.0.0.1", "localhost")
        return f"{elsewhere}/storage/{name}?sig={self.valid_signature}"


def _resolved(system: System, content: Any) -> Any:
    """`{{file}}` in a payload is a link signed now."""
    if isinstance(content, dict):
        return {name: _resolved(system, value) for name, value in content.items()}
    if isinstance(content, list):
        return [_resolved(system, one) for one in content]
    if isinstance(content, str) and content.startswith("{{"):
        return system.link(content.strip("{}"))
    return content


class _Handlers:
    """One method for each self._system."""

    def __init__(self, system: System) -> None:
        self._system = system

    def noted(self, request: Request, name: str) -> Response | None:
        self._system.asked[name] += 1
        self._system.authorised[name].add(request.headers.get("authorization"))
        self._system.queries.append(f"{name}?{request.url.query}")
        return self._system.faults[name].pop(0)(request) if self._system.faults[name] else None

    def harvest_v1(self, request: Request) -> Response:
        name = request.path_params["path"]
        if fault := self.noted(request, name):
            return fault
        wanted = "Basic " + base64.b64encode(f"{KEY}:".encode()).decode()
        if request.headers.get("authorization") != wanted:
            return JSONResponse({"message": "Invalid Basic Auth credentials"}, 401)
        if name not in self._system.lists:
            found = self._system.objects.get(name, self._system.owned.get(name))
            return JSONResponse(_resolved(self._system, found)) if found else JSONResponse({}, 404)
        page = int(request.query_params.get("page", "1"))
        rows = self._system.lists[name]
        some = rows[(page - 1) * self._system.per_page : page * self._system.per_page]
        headers = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "49"}
        if page * self._system.per_page < len(rows):
            last = -(-len(rows) // self._system.per_page)
            headers["Link"] = (
                f'<{self._system.base}/v1/{name}?page={page + 1}&per_page=2>; rel="next",'
                f'<{self._system.base}/v1/{name}?page={last}&per_page=2>; rel="last"'
            )
        return JSONResponse(_resolved(self._system, some), headers=headers)

    def harvest_v3(self, request: Request) -> Response:
        name = request.path_params["path"]
        if fault := self.noted(request, name):
            return fault
        if request.headers.get("authorization") != f"Bearer token-{self._system.tokens}":
            return JSONResponse({"message": "unauthorized"}, 401)
        cursor = request.query_params.get("cursor")
        if cursor is not None and len(request.query_params) > 1:
            return JSONResponse(
                {"errors": ["When passing a cursor, do not include other query params."]}, 422
            )
        rows = self._system.lists.get(name, [])
        if ids := request.query_params.get("ids"):
            rows = [one for one in rows if str(one["id"]) in ids.split(",")]
        start = int(base64.urlsafe_b64decode(cursor)) if cursor else 0
        headers = {"X-RateLimit-Remaining": "40", "X-RateLimit-Reset": str(int(time.time()) + 30)}
        following = start + self._system.per_page
        if following < len(rows):
            token = base64.urlsafe_b64encode(str(following).encode()).decode()
            headers["Link"] = f'<{self._system.base}/v3/{name}?cursor={token}>; rel="next"'
        return JSONResponse(_resolved(self._system, rows[start:following]), headers=headers)

    async def token(self, request: Request) -> Response:
        form = (await request.body()).decode()
        wanted = "Basic " + base64.b64encode(b"client:secret").decode()
        if request.headers.get("authorization") != wanted or "client_credentials" not in form:
            return JSONResponse({"error": "invalid_client"}, 401)
        self._system.tokens += 1
        return JSONResponse({"access_token": f"token-{self._system.tokens}", "expires_in": 3600})

    def lever(self, request: Request) -> Response:
        name = request.path_params["path"]
        if fault := self.noted(request, name):
            return fault
        wanted = "Basic " + base64.b64encode(f"{KEY}:".encode()).decode()
        if request.headers.get("authorization") != wanted:
            return JSONResponse({"code": "Unauthorized"}, 401)
        if name.endswith("/download"):
            held = self._system.files.get(name.removesuffix("/download").rpartition("/")[2])
            return Response(held) if held is not None else JSONResponse({}, 404)
        rows = self._system.lists.get(name, self._system.owned.get(name))
        if rows is None:
            found = self._system.objects.get(name)
            return JSONResponse({"data": found}) if found else JSONResponse({}, 404)
        if request.query_params.get("confidentiality") != "all":
            rows = [one for one in rows if one.get("confidentiality") != "confidential"]
        start = int(request.query_params.get("offset", "[0]").strip("[]"))
        limit = int(request.query_params["limit"])
        more = start + limit < len(rows)
        content = {"data": rows[start : start + limit], "hasNext": more}
        return JSONResponse(content | ({"next": f"[{start + limit}]"} if more else {}))

    def workable(self, request: Request) -> Response:
        name = request.path_params["path"]
        if fault := self.noted(request, name):
            return fault
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return JSONResponse({"error": "Not authorized"}, 401)
        headers = {
            "X-Rate-Limit-Limit": "10",
            "X-Rate-Limit-Remaining": "9",
            "X-Rate-Limit-Reset": str(int(time.time()) + 1),
        }
        if name in self._system.objects:
            return JSONResponse(
                {"candidate": _resolved(self._system, self._system.objects[name])}, headers=headers
            )
        rows = self._system.lists.get(name, self._system.owned.get(name))
        if rows is None:
            return JSONResponse({}, 404)
        start = int(request.query_params.get("since_id", "0"))
        following = start + self._system.per_page
        paging = {}
        if following < len(rows):
            paging = {"next": f"{self._system.base}/spi/{name}?limit=2&since_id={following}"}
        return JSONResponse(
            {name.rpartition("/")[2]: rows[start:following], "paging": paging}, headers=headers
        )

    def storage(self, request: Request) -> Response:
        name = request.path_params["path"]
        if fault := self.noted(request, f"storage/{name}"):
            return fault
        if request.query_params.get("sig") != self._system.valid_signature:
            body = "<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"
            return Response(body, 403, media_type="application/xml")
        held = self._system.files.get(name)
        return Response("<Error><Code>NoSuchKey</Code></Error>", 404) if held is None else Response(held)


def _app(system: System) -> Starlette:
    handlers = _Handlers(system)
    return Starlette(
        routes=[
            Route("/auth/token", handlers.token, methods=["POST"]),
            Route("/v1/{path:path}", handlers.harvest_v1),
            Route("/v3/{path:path}", handlers.harvest_v3),
            Route("/lever/{path:path}", handlers.lever),
            Route("/spi/{path:path}", handlers.workable),
            Route("/storage/{path:path}", handlers.storage),
        ]
    )


@contextmanager
def running(system: System) -> Iterator[System]:
    """Serve `system` on a free port; its `base` is set while it runs."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(_app(system), log_level="error", access_log=False, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    system.base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        yield system
    finally:
        server.should_exit = True
        thread.join(5)
        listener.close()


def passing(_: Request) -> None:
    """No fault: the one after it hits the next request."""


def limited(seconds: int | str | None) -> Fault:
    """429 as the systems send it; Greenhouse leaves the limit's own headers out."""
    headers = {} if seconds is None else {"Retry-After": str(seconds)}
    return lambda _: JSONResponse({"message": "too many requests"}, 429, headers=headers)


def failing(status: int) -> Fault:
    return lambda _: JSONResponse({"message": "no"}, status)


def cut_short(content: bytes) -> Fault:
    """Promises more bytes than it sends."""

    class Short(Response):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            length = str(len(content) + 100).encode()
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]}
            )
            await send({"type": "http.response.body", "body": content, "more_body": False})

    return lambda _: Short()


def chunked(content: bytes) -> Fault:
    """A whole answer that does not say how long it is."""

    class Chunks(Response):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for start in range(0, len(content), 100):
                await send(
                    {"type": "http.response.body", "body": content[start : start + 100], "more_body": True}
                )
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return lambda _: Chunks()
