"""Who asks: Google's application default credentials, over HTTPS alone.

An address of plain `http:` (an emulator on this machine or beside it) is asked without any credential. So no
token ever leaves for one, and Google, which answers HTTPS only, is never asked without one by accident.
"""

from functools import cache
from threading import Lock
from typing import Final

import google.auth
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError
from google.auth.transport.requests import Request

from batch_pipeline.errors import ConfigurationError, TerminalError, TransientError
from batch_pipeline.providers.google_http import Headers

_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)


def signed(address: str) -> Headers:
    """The headers for calls to this address.

    Raises:
        ConfigurationError: it is asked over HTTPS, and there are no credentials.
    """
    return _default_credentials() if address.startswith("https:") else dict


@cache
def _default_credentials() -> Headers:
    try:
        credentials, _ = google.auth.default(scopes=list(_SCOPES))
    except DefaultCredentialsError:
        raise ConfigurationError(
            "GOOGLE_APPLICATION_CREDENTIALS",
            "(none found)",
            "run `gcloud auth application-default login`, or name a file of credentials",
        ) from None
    lock = Lock()

    def headers() -> dict[str, str]:
        found: dict[str, str] = {}
        with lock:
            try:
                if not credentials.valid:
                    credentials.refresh(Request())  # type: ignore[no-untyped-call]
            except TransportError:
                raise TransientError("Google's credentials could not be renewed; nothing was sent") from None
            except GoogleAuthError as error:
                raise TerminalError(
                    f"Google's credentials were refused ({type(error).__name__}); nothing was sent"
                ) from None
            credentials.apply(found)  # type: ignore[no-untyped-call]
        return found

    return headers
