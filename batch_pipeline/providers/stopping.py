"""Asking a provider to end a job."""

from collections.abc import Callable, Sequence

from batch_pipeline.errors import TerminalError, TransientError
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


def stop_before_erasing(key: str, running: Sequence[str], stop_one: Callable[[str], None]) -> None:
    """Ask for the end of jobs of migration `key` that nobody followed: one under way writes after what is erased.

    Raises:
        TransientError: there are such jobs; erase again when they have ended.
    """
    for provider_id in running:
        stop_one(provider_id)
    if running:
        raise TransientError(
            f"{len(running)} jobs of migration {key} are still under way and were asked to stop: erase again"
        )
