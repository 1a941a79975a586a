"""What every provider that erases job by job does before and after it."""

from collections.abc import Callable, Sequence

from batch_pipeline.errors import TransientError
from batch_pipeline.providers.contract import ResultsGone


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


def is_there(look: Callable[[], object]) -> bool:
    """Whether a look at something, which raises as every call that may be repeated does, finds it."""
    try:
        look()
    except ResultsGone:
        return False
    return True
