"""One output line -> an answer, a record's error, or the reason it is neither.

One reader for every family: each has its own keys, none of them twice with another meaning, so the
shape tells itself. A missing usage is None and never 0: nothing was counted is not nothing was used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from batch_pipeline.answers import shapes
from batch_pipeline.answers.classify import code_of, worth_another_attempt
from batch_pipeline.surrogates import without_lone_surrogates
from batch_pipeline.tasks.base import Stop


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said. `model_input` is the echoed request as it stood in the line; cached and written
    tokens are part of the input tokens."""

    record_id: str
    text: str
    stop: Stop
    input_tokens: int | None
    output_tokens: int | None
    model_input: bytes
    cached_tokens: int = 0
    cache_written_tokens: int = 0


@dataclass(frozen=True, slots=True)
class RecordError:
    """The provider's error for one record. `code` is a number as text where it has one."""

    record_id: str
    code: str
    message: str
    expired: bool
    retryable: bool


@dataclass(frozen=True, slots=True)
class Corrupt:
    """A line that says nothing certain. `record_id` is given where it could still be read."""

    reason: str
    record_id: str | None = None


class _Error(msgspec.Struct):
    errorCode: Any = None  # noqa: N815  the provider's own names
    errorMessage: Any = None  # noqa: N815
    expired: Any = None
    retryable: Any = None


class _Line(msgspec.Struct):
    recordId: str | None = None  # noqa: N815
    modelInput: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815
    modelOutput: shapes.Output | None = None  # noqa: N815
    error: _Error | None = None


class _Named(msgspec.Struct):
    recordId: Any = None  # noqa: N815


_LINE: Final = msgspec.json.Decoder(_Line)
_NAMED: Final = msgspec.json.Decoder(_Named)


def read(line: bytes) -> Answer | RecordError | Corrupt:
    """Read one line. Total: any bytes give one of the three."""
    try:
        return _read(_LINE.decode(line))
    except msgspec.ValidationError as error:
        return _unlike(line, str(error))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _reread(line)
    except RecursionError:
        return Corrupt("nested too deep")


def _reread(line: bytes) -> Answer | RecordError | Corrupt:
    """Half of a surrogate pair is no JSON to msgspec, and no reason to lose a paid answer."""
    mended = without_lone_surrogates(line)
    if mended == line:
        return Corrupt("not JSON")
    try:
        return _read(_LINE.decode(mended))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Corrupt("not JSON")


def _unlike(line: bytes, why: str) -> Corrupt:
    """Valid JSON of another shape. msgspec names the path and the types, never a value."""
    try:
        name = _NAMED.decode(line).recordId
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Corrupt("not JSON")
    return Corrupt(why, name if isinstance(name, str) else None)


def _read(line: _Line) -> Answer | RecordError | Corrupt:
    if not line.recordId:
        return Corrupt("no record id")
    output, error = line.modelOutput, line.error
    if error is None and output is not None and output.is_error:
        error = _Error(output.errorCode, output.errorMessage, output.expired, output.retryable)
        output = None
    if error is not None:
        if output is not None:
            return Corrupt("an answer and an error at once", line.recordId)
        return _error(line.recordId, error)
    if output is None:
        return Corrupt("neither an answer nor an error", line.recordId)
    spoken = output.spoken()
    if spoken is None:
        return Corrupt("an answer of no known shape", line.recordId)
    text, stop = spoken
    used_in, used_out = output.tokens()
    return Answer(line.recordId, text, stop, used_in, used_out, bytes(line.modelInput), *output.cached())


def _error(record_id: str, error: _Error) -> RecordError:
    code = code_of(error.errorCode)
    expired = error.expired is True
    given = str(error.errorCode)[:64] if error.errorCode is not None else "none"
    return RecordError(
        record_id,
        given if code is None else str(code),
        str(error.errorMessage or ""),
        expired,
        worth_another_attempt(code, expired=expired),
    )


def wrap(
    record_id: str, model_input: bytes | Mapping[str, Any], model_output: bytes | Mapping[str, Any]
) -> bytes:
    """The line a batch job would have written for an on-demand response.

    `model_output` is the body of InvokeModel, or the response of Converse: what boto3 adds to it is
    left out. One reader then serves both routes.
    """
    if not isinstance(model_output, bytes):
        model_output = {key: value for key, value in model_output.items() if key != "ResponseMetadata"}
    line = {
        "modelInput": _raw(model_input),
        "modelOutput": _raw(model_output),
        "recordId": record_id,
    }
    return msgspec.json.encode(line)


def _raw(value: bytes | Mapping[str, Any]) -> Any:
    return msgspec.Raw(value) if isinstance(value, bytes) else value
