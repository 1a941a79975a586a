"""Asking a provider to end a job."""

from collections.abc import Callable

from batch_pipeline.errors import TerminalError
from batch_pipeline.providers.contract import JobReport


def stop(report: Callable[[str], JobReport], cancel: Callable[[str], object], provider_id: str) -> None:
    """Ask for the end of a job that is not over; one that ended in between is no error.

    `cancel` raises as every call that may be repeated does.

    Raises:
        TerminalError: the provider refused, and the job still runs.
    """
    if report(provider_id).phase == "ended":
        return
    try:
        cancel(provider_id)
    except TerminalError:
        # a stop races the end of the job
        if report(provider_id).phase != "ended":
            raise
