"""The errors the emulated services answer, with the codes of botocore's service model."""

from typing import Final

HTTP_STATUS: Final = {
    "ValidationException": 400,
    "ConflictException": 400,
    "ServiceQuotaExceededException": 400,
    "SerializationException": 400,
    "InvalidAction": 400,
    "AccessDeniedException": 403,
    "MissingAuthenticationTokenException": 403,
    "NoSuchEntity": 404,
    "ResourceNotFoundException": 404,
    "UnknownOperationException": 404,
    "ModelTimeoutException": 408,
    "ModelErrorException": 424,
    "ThrottlingException": 429,
    "InternalServerException": 500,
    "ServiceUnavailableException": 503,
}


class AwsError(Exception):
    """An error answer: `name` goes into the `x-amzn-errortype` header, `message` into the body."""

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        self.message = message
        self.status = HTTP_STATUS[name]
        super().__init__(f"{name}: {message}")


RUNTIME_ERRORS: Final = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
"""Error code of a record -> name of the same error on demand."""

USUAL_MESSAGES: Final = {
    400: "The request is not valid.",
    403: "You don't have access to the model with the specified model ID.",
    404: "The resource could not be found.",
    408: "Model has timed out in processing the request. Try your request again.",
    424: "The request failed due to an error while processing the model.",
    429: "Too many requests, please wait before trying again.",
    500: "The system encountered an unexpected error during processing. Try your request again.",
    503: "Bedrock is unable to process your request.",
}

RETRYABLE: Final = frozenset({408, 424, 429, 500, 503})
