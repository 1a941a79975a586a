"""Botocore's errors as ours: what each says about whether a call left, and whether it was paid.

A call that never left is not paid. A call whose answer never came may be. What an SDK raises for a
closed connection, a cut body or a page of a proxy says only that the answer did not come.
"""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final, Self

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    ProxyConnectionError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError

NOT_REACHED: Final = (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError)
NO_ANSWER: Final = (
    HTTPClientError,
    IncompleteReadError,
    SSLError,
    ResponseParserError,
    http.client.HTTPException,
)
_BUSY: Final = frozenset({"ThrottlingException", "TooManyRequestsException", "ServiceUnavailableException"})


def code_of(error: ClientError) -> tuple[str, int]:
    """The service's name of the error, and the HTTP status."""
    return (
        error.response.get("Error", {}).get("Code", ""),
        error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0),
    )


def said(error: ClientError) -> str:
    code, status = code_of(error)
    return hinted(f"{code} ({status}) {error.response.get('Error', {}).get('Message', '')}".strip())


def hinted(words: str) -> str:
    """What the provider said, with what it leaves out: why a role with every right is denied a model.

    Foundation models are AWS's own and belong to no organisation, so a condition on one denies them.
    """
    if "not authorized" in words and ":foundation-model/" in words:
        return (
            f"{words}. Foundation models belong to no account: a condition such as aws:ResourceOrgID or "
            "aws:ResourceAccount denies them, so exempt them from it; a profile needs bedrock:InvokeModel on "
            "the inference-profile and on the foundation-model ARN in each of its Regions"
        )
    return words


def is_busy(error: ClientError) -> bool:
    """Refused for now, and nothing was begun."""
    code, status = code_of(error)
    return code in _BUSY or status == HTTPStatus.TOO_MANY_REQUESTS


@contextmanager
def mapped(what: str) -> Iterator[None]:
    """For a call that changes nothing or may be repeated safely.

    Raises:
        TransientError: the same call may work later.
        TerminalError: it was refused, or these settings can make no call.
        ConfigurationError: there are no credentials at all.
    """
    try:
        yield
    except ClientError as error:
        _, status = code_of(error)
        later = is_busy(error) or status >= 500 or status == HTTPStatus.REQUEST_TIMEOUT
        raise (TransientError if later else TerminalError)(f"{what}: {said(error)}") from None
    except (*NOT_REACHED, *NO_ANSWER) as error:
        raise TransientError(f"{what}: {type(error).__name__}") from None
    except NoCredentialsError:
        raise ConfigurationError(
            "AWS credentials",
            "(none found)",
            "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ) from None
    except BotoCoreError as error:
        raise TerminalError(f"{what}: {error}") from None


class MappedStream:
    """An object's body whose reads fail as ours do: a cut body is an error, never an early end."""

    def __init__(self, body: Any, what: str) -> None:
        self._body = body
        self._what = what

    def read(self, size: int, /) -> bytes:
        with mapped(self._what):
            data: bytes = self._body.read(size)
            return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._body.close()
