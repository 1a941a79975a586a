"""Routes below `/_emulator/`: look inside, move time, set faults. No authentication: local use only."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from batch_pipeline.local.emulator import meter
from batch_pipeline.local.emulator.emulator import Emulator
from batch_pipeline.local.emulator.events import delivered
from batch_pipeline.local.emulator.faults import Faults
from batch_pipeline.local.emulator.rules import Rules

M = TypeVar("M", bound=BaseModel)
Handler = Callable[[Request], Awaitable[Response]]


class Advance(BaseModel):
    """Body of `POST /_emulator/clock/advance`."""

    model_config = ConfigDict(extra="forbid")

    seconds: float = Field(ge=0)


def admin_routes(
    emulator: Emulator, run: Callable[[Callable[[], Response]], Awaitable[Response]]
) -> list[Route]:
    """`run` carries blocking work to a thread."""

    async def health(_request: Request) -> Response:
        return JSONResponse(emulator.health())

    async def read_meter(request: Request) -> Response:
        detailed = request.query_params.get("detail") == "records"
        view = meter.details if detailed else meter.totals
        return await run(lambda: JSONResponse(view(emulator.store)))

    async def jobs(_request: Request) -> Response:
        return JSONResponse({"jobs": [job.shown("right") for job in emulator.store.jobs()]})

    async def events(_request: Request) -> Response:
        return JSONResponse({"events": delivered(emulator.store.events(), emulator.faults.now.events)})

    async def advance(request: Request) -> Response:
        asked = await _body(request, Advance)
        if isinstance(asked, Response):
            return asked

        def move() -> Response:
            try:
                now = emulator.advance(asked.seconds)
            except ValueError as error:
                return JSONResponse({"message": str(error)}, 409)
            return JSONResponse(
                {"time": now.isoformat(), "jobs": {job.id: job.status for job in emulator.store.jobs()}}
            )

        return await run(move)

    async def faults(request: Request) -> Response:
        if request.method == "PUT":
            wanted = await _body(request, Faults)
            if isinstance(wanted, Response):
                return wanted
            emulator.faults.replace(wanted)
        elif request.method == "DELETE":
            emulator.faults.replace(Faults())
        emulator.runner.wake()
        return JSONResponse(emulator.faults.now.model_dump(mode="json"))

    async def rules(request: Request) -> Response:
        if request.method == "PUT":
            wanted = await _body(request, Rules)
            if isinstance(wanted, Response):
                return wanted
            emulator.set_rules(wanted)
        return JSONResponse(emulator.rules.model_dump(mode="json"))

    async def reset(_request: Request) -> Response:
        def clear() -> Response:
            emulator.reset()
            return JSONResponse({"status": "reset"})

        return await run(clear)

    def route(path: str, handler: Handler, *methods: str) -> Route:
        return Route(f"/_emulator/{path}", handler, methods=list(methods))

    return [
        route("health", health, "GET"),
        route("meter", read_meter, "GET"),
        route("jobs", jobs, "GET"),
        route("events", events, "GET"),
        route("clock/advance", advance, "POST"),
        route("faults", faults, "GET", "PUT", "DELETE"),
        route("rules", rules, "GET", "PUT"),
        route("reset", reset, "POST"),
    ]


async def _body(request: Request, shape: type[M]) -> M | Response:
    try:
        return shape.model_validate_json(await request.body())
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        return JSONResponse({"message": "the body does not fit", "errors": found}, 422)
