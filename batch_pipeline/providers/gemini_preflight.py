"""What a paid call to the Gemini API needs, looked at without paying."""

from dataclasses import dataclass
from typing import Final

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.providers.contract import Check
from batch_pipeline.providers.google_http import GoogleApi
from batch_pipeline.providers.sdk_errors import SdkErrors

_BATCH: Final = "batchGenerateContent"
_SINGLE: Final = "generateContent"


@dataclass(frozen=True)
class Preflight:
    """The checks of one key."""

    api: GoogleApi
    errors: SdkErrors

    def checks(self, model: str, *, batch: bool) -> list[Check]:
        """`batch`: False where the model answers single calls alone."""
        return [*([self._batches()] if batch else []), self._model(model, _BATCH if batch else _SINGLE)]

    def _batches(self) -> Check:
        """Key, address and batch API in one call."""
        subject = f"batch API of {self.api.host}"
        try:
            with self.errors.repeatable(subject):
                self.api.often("GET", "/batches", params={"pageSize": "1", "fields": "operations(name)"})
        except (TransientError, TerminalError) as error:
            fix = "Set GEMINI_API_KEY to a key whose project may use batches, provider.base_url to its server"
            return Check.failed(subject, error, fix)
        return Check(subject, True, "answers")

    def _model(self, model: str, method: str) -> Check:
        """The API says of each model which methods it takes."""
        subject = f"model {model}"
        try:
            with self.errors.repeatable(subject):
                found = self.api.often("GET", f"/{model}")
        except (TransientError, TerminalError) as error:
            return Check.failed(subject, error, "Name one this key may use")
        methods = found.get("supportedGenerationMethods")
        if isinstance(methods, list) and method not in methods:
            return Check(subject, False, f"does not take {method}: name one that does")
        return Check(subject, True, "known here" if not methods else f"takes {method}")
