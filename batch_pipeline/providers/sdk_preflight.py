"""What a paid call through one of the SDKs of one generator needs, looked at without paying."""

from collections.abc import Callable
from dataclasses import dataclass

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.providers.contract import Check, ResultsGone
from batch_pipeline.providers.sdk_errors import SdkErrors


@dataclass(frozen=True)
class Preflight:
    """The checks of one server and model. `official`: the provider's own server, which knows its models."""

    errors: SdkErrors
    host: str
    official: bool
    key_name: str
    list_one_batch: Callable[[], object]
    look_up_model: Callable[[str], object]

    def checks(self, model: str, *, batch: bool) -> list[Check]:
        """`batch`: False where the model answers single calls alone."""
        return [*([self._batches()] if batch else []), self._model(model)]

    def _batches(self) -> Check:
        """Key, address and batch API in one call."""
        subject = f"batch API of {self.host}"
        try:
            with self.errors.repeatable(subject):
                self.list_one_batch()
        except (TransientError, TerminalError) as error:
            fix = f"Set {self.key_name} to a key that may use batches, and provider.base_url to its server"
            return Check(subject, False, f"{error}. {fix}")
        return Check(subject, True, "answers")

    def _model(self, model: str) -> Check:
        """Servers that name models their own way (Azure's deployments) need not know this one."""
        subject = f"model {model}"
        try:
            with self.errors.repeatable(subject):
                self.look_up_model(model)
        except ResultsGone as error:
            if self.official:
                return Check(subject, False, f"{error}. Name one this key may use")
            return Check(subject, True, "not listed by this server; the first job says whether it is there")
        except (TransientError, TerminalError) as error:
            return Check(subject, not self.official, f"not looked up ({error})")
        return Check(subject, True, "known here")
