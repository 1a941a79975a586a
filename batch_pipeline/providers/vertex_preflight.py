"""What a paid call on Vertex AI needs, looked at without paying."""

from dataclasses import dataclass
from typing import Final

from batch_pipeline.errors import TerminalError, TransientError
from batch_pipeline.providers.contract import Check, ResultsGone
from batch_pipeline.providers.gcs import Bucket, soft_delete_days
from batch_pipeline.providers.google_http import GoogleApi
from batch_pipeline.providers.sdk_errors import SdkErrors

_RIGHTS: Final = (
    "storage.objects.create",
    "storage.objects.delete",
    "storage.objects.get",
    "storage.objects.list",
)


@dataclass(frozen=True)
class Preflight:
    """The checks of one project, region and bucket."""

    api: GoogleApi
    errors: SdkErrors
    jobs_path: str
    bucket: Bucket

    def checks(self, model_path: str, *, batch: bool) -> list[Check]:
        """`batch`: False where the model answers single calls alone."""
        return [
            *([self._batches(), self._rights(), self._soft_delete()] if batch else []),
            self._model(model_path),
        ]

    def _batches(self) -> Check:
        """Credentials, project, region and batch API in one call."""
        subject = f"batch API of {self.api.host}"
        try:
            with self.errors.repeatable(subject):
                self.api.often("GET", self.jobs_path, params={"pageSize": "1"})
        except (TransientError, TerminalError) as error:
            fix = "Enable the Vertex AI API in provider.project, and allow aiplatform.batchPredictionJobs.*"
            return Check.failed(subject, error, fix)
        return Check(subject, True, "answers")

    def _rights(self) -> Check:
        subject = f"bucket {self.bucket.name}"
        try:
            missing = sorted(set(_RIGHTS) - self.bucket.allowed(_RIGHTS))
        except (TransientError, TerminalError) as error:
            return Check.failed(subject, error, "Name a bucket of the project that there is")
        if missing:
            return Check(subject, False, f"allow {', '.join(missing)} on it")
        return Check(subject, True, "may be written, read, listed and emptied")

    def _soft_delete(self) -> Check:
        """Nothing to stop for: what is kept is said when the bucket is emptied."""
        subject = f"soft delete of {self.bucket.name}"
        try:
            days = soft_delete_days(self.bucket.about())
        except (TransientError, TerminalError) as error:
            return Check(subject, True, f"not looked up ({error}); allow storage.buckets.get to have it said")
        if days:
            fix = "its soft delete policy set to 0 keeps nothing"
            return Check(subject, True, f"keeps what was deleted for {days:g} days more; {fix}")
        return Check(subject, True, "keeps nothing that was deleted")

    def _model(self, model_path: str) -> Check:
        subject = f"model {model_path}"
        if not model_path.startswith("publishers/"):
            return Check(subject, True, "not looked up: the first job says whether it is there")
        try:
            with self.errors.repeatable(subject):
                self.api.often("GET", f"/{model_path}")
        except ResultsGone as error:
            return Check.failed(subject, error, "Name one of the publisher's")
        except (TransientError, TerminalError) as error:
            return Check(subject, True, f"not looked up ({error})")
        return Check(subject, True, "known here")
