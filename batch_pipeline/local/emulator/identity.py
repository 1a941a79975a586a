"""sts:GetCallerIdentity, the one call a client makes to learn whose account it is in."""

from urllib.parse import parse_qs

from batch_pipeline.local.emulator.aws_errors import AwsError

_ANSWER = """<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<GetCallerIdentityResult><Arn>arn:aws:iam::{account}:user/emulator</Arn><UserId>AIDAEMULATOR</UserId>\
<Account>{account}</Account></GetCallerIdentityResult>
<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></GetCallerIdentityResponse>"""

_ERROR = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>\
<Code>{code}</Code><Message>{message}</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"""


def is_caller_identity(form: bytes) -> bool:
    """Whether a query-protocol body asks for GetCallerIdentity."""
    return parse_qs(form.decode("utf-8", errors="replace")).get("Action") == ["GetCallerIdentity"]


def caller_identity(account: str, request_id: str) -> str:
    return _ANSWER.format(account=account, request_id=request_id)


def sts_error(error: AwsError, request_id: str) -> str:
    """The query protocol's error body; its codes drop the word Exception."""
    return _ERROR.format(
        code=error.name.removesuffix("Exception"), message=error.message, request_id=request_id
    )
