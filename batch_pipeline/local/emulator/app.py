"""The HTTP face: routes, signature presence, faults of the wire, error bodies."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from batch_pipeline.local.emulator.account import (
    QUOTAS_TARGET,
    answer_query,
    query_error,
    query_operation,
    service_quotas,
)
from batch_pipeline.local.emulator.admin import admin_routes
from batch_pipeline.local.emulator.aws_errors import AwsError
from batch_pipeline.local.emulator.connections import drop_connection
from batch_pipeline.local.emulator.emulator import Emulator
from batch_pipeline.local.emulator.faults import Operation
from batch_pipeline.local.emulator.job import InvocationType
from batch_pipeline.local.emulator.models import foundation_model
from batch_pipeline.local.emulator.runtime_plane import Reply
from batch_pipeline.local.emulator.settings import EmulatorSettings

Work = Callable[[Request, str, bytes], Response]

_SERVICES: Final[Mapping[Operation, str]] = {
    "GetCallerIdentity": "sts",
    "GetRole": "iam",
    "SimulatePrincipalPolicy": "iam",
    "ListServiceQuotas": "servicequotas",
}
_SCOPE: Final = re.compile(r"Credential=[^/]+/[0-9]{8}/([a-z0-9-]+)/")


def create_app(settings: EmulatorSettings) -> Starlette:
    """The emulator as an ASGI application. The accept-then-drop fault needs the server of `server.py`."""
    emulator = Emulator(settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        emulator.start()
        try:
            yield
        finally:
            emulator.stop()

    async def run(work: Callable[[], Response]) -> Response:
        return await asyncio.wrap_future(emulator.pool.submit(work))

    service = _Service(emulator, run)
    app = Starlette(
        lifespan=lifespan,
        routes=[
            *admin_routes(emulator, run),
            Route("/model-invocation-job", service.create, methods=["POST"]),
            Route("/model-invocation-jobs", service.list, methods=["GET"]),
            Route("/model-invocation-job/{identifier:path}/stop", service.stop, methods=["POST"]),
            Route("/model-invocation-job/{identifier:path}", service.get, methods=["GET"]),
            Route("/model/{model:path}/invoke", service.invoke, methods=["POST"]),
            Route("/model/{model:path}/converse", service.converse, methods=["POST"]),
            Route("/foundation-models/{model:path}", service.foundation_model, methods=["GET"]),
            Route("/", service.account, methods=["POST"]),
            Route("/{path:path}", service.unknown, methods=["GET", "POST", "PUT", "DELETE", "PATCH"]),
        ],
    )
    app.state.emulator = emulator
    return app


class _Service:
    """The AWS operations as HTTP handlers."""

    def __init__(
        self, emulator: Emulator, run: Callable[[Callable[[], Response]], Awaitable[Response]]
    ) -> None:
        self._emulator = emulator
        self._run = run

    async def create(self, request: Request) -> Response:
        def work(_request: Request, region: str, body: bytes) -> Response:
            arn = self._emulator.control.create(_decode(body), region)
            self._emulator.runner.wake()
            return _json({"jobArn": arn})

        answer = await self._serve(request, "CreateModelInvocationJob", work)
        if answer.status_code == 200:
            if self._emulator.faults.take("drop_after_accept_next"):
                return await drop_connection(request)
            if self._emulator.faults.take("error_after_accept_next"):
                return _error(_internal())
        return answer

    async def get(self, request: Request) -> Response:
        def work(request: Request, region: str, _body: bytes) -> Response:
            return _json(self._emulator.control.get(request.path_params["identifier"], region))

        return await self._serve(request, "GetModelInvocationJob", work)

    async def list(self, request: Request) -> Response:
        def work(request: Request, region: str, _body: bytes) -> Response:
            return _json(self._emulator.control.list(request.query_params, region))

        return await self._serve(request, "ListModelInvocationJobs", work)

    async def stop(self, request: Request) -> Response:
        def work(request: Request, region: str, _body: bytes) -> Response:
            self._emulator.control.stop(request.path_params["identifier"], region)
            self._emulator.runner.wake()
            return _json({})

        return await self._serve(request, "StopModelInvocationJob", work)

    async def invoke(self, request: Request) -> Response:
        return await self._infer(request, "InvokeModel")

    async def converse(self, request: Request) -> Response:
        return await self._infer(request, "Converse")

    async def _infer(self, request: Request, operation: InvocationType) -> Response:
        def work(request: Request, _region: str, body: bytes) -> Response:
            reply = self._emulator.runtime.invoke(request.path_params["model"], body, operation)
            return _json(reply.body, _token_headers(reply) if operation == "InvokeModel" else None)

        answer = await self._serve(request, operation, work)
        if answer.status_code == 200 and self._emulator.faults.take("drop_after_answer_next"):
            return await drop_connection(request)
        return answer

    async def foundation_model(self, request: Request) -> Response:
        def work(request: Request, region: str, _body: bytes) -> Response:
            return _json(foundation_model(request.path_params["model"], region, self._emulator.rules.models))

        return await self._serve(request, "GetFoundationModel", work)

    async def account(self, request: Request) -> Response:
        """STS, IAM and Service Quotas: all are POSTs to the root."""
        if request.headers.get("x-amz-target") == QUOTAS_TARGET:
            return await self._serve(
                request,
                "ListServiceQuotas",
                lambda _request, _region, body: _json(
                    service_quotas(_decode(body), self._emulator.rules.limits)
                ),
            )
        request_id = str(uuid.uuid4())

        def show(error: AwsError) -> Response:
            return Response(query_error(error, request_id), error.status, media_type="text/xml")

        operation = query_operation(await request.body())
        if operation is None:
            return show(
                AwsError("InvalidAction", "Of STS and IAM only what docs/emulator.md lists is emulated.")
            )

        def work(_request: Request, _region: str, body: bytes) -> Response:
            account, faults = self._emulator.settings.account_id, self._emulator.faults.now.api
            return Response(answer_query(operation, body, account, faults, request_id), media_type="text/xml")

        return await self._serve(request, operation, work, show)

    async def unknown(self, _request: Request) -> Response:
        return _error(AwsError("UnknownOperationException", "The requested operation is not emulated."))

    async def _serve(
        self,
        request: Request,
        operation: Operation,
        work: Work,
        show: Callable[[AwsError], Response] | None = None,
    ) -> Response:
        """Wire faults first, then the work in a thread; every AwsError becomes its answer."""
        faults = self._emulator.faults
        if delay := faults.now.api.latency_seconds.get(operation):
            await asyncio.sleep(delay)
        try:
            body = await request.body()
        except ClientDisconnect:
            return Response(status_code=400)

        def answer() -> Response:
            try:
                region = self._region(request)
                if faults.throttles(operation):
                    raise AwsError("ThrottlingException", "Rate exceeded")
                if faults.breaks(operation):
                    raise _internal()
                if operation in faults.now.api.deny:
                    service = _SERVICES.get(operation, "bedrock")
                    account = self._emulator.settings.account_id
                    raise AwsError(
                        "AccessDeniedException",
                        f"User: arn:aws:iam::{account}:user/emulator is not authorized to perform: "
                        f"{service}:{operation}",
                    )
                return work(request, region, body)
            except AwsError as error:
                return (show or _error)(error)

        return await self._run(answer)

    def _region(self, request: Request) -> str:
        """Region of the signature; presence of some authorization is asked for, its value is not checked."""
        authorization = request.headers.get("authorization")
        if not authorization:
            raise AwsError("MissingAuthenticationTokenException", "Missing Authentication Token")
        scope = _SCOPE.search(authorization)
        return scope[1] if scope else self._emulator.settings.region


def _internal() -> AwsError:
    return AwsError(
        "InternalServerException",
        "The server encountered an internal error. Try your request again.",
    )


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AwsError("SerializationException", "The request body is not JSON.") from error


def _json(body: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(body),
        headers={"x-amzn-requestid": str(uuid.uuid4())} | (headers or {}),
        media_type="application/json",
    )


def _token_headers(reply: Reply) -> dict[str, str]:
    return {
        "x-amzn-bedrock-input-token-count": str(reply.input_tokens),
        "x-amzn-bedrock-output-token-count": str(reply.output_tokens),
        "x-amzn-bedrock-invocation-latency": str(200 + reply.output_tokens),
    }


def _error(error: AwsError) -> Response:
    return Response(
        msgspec.json.encode({"message": error.message}),
        error.status,
        headers={"x-amzn-errortype": error.name, "x-amzn-requestid": str(uuid.uuid4())},
        media_type="application/json",
    )
