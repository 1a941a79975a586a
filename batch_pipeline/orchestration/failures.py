"""An error of an asset as the step failure Dagster keeps for ever.

Our own errors hold ids and counts only, so their words are kept. Anybody else's message may quote a
row or a CV (a database's `DETAIL`, a validator's input): of that only class and place are kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import TracebackType

import dagster as dg

from batch_pipeline.errors import BatchPipelineError, NeedsPerson, TransientError


@contextmanager
def kept_without_content(key: str) -> Iterator[None]:
    """Raises dg.Failure for every error inside, with what a person may do about it."""
    try:
        yield
    except dg.Failure:
        raise
    except BatchPipelineError as error:
        raise dg.Failure(
            str(error),
            metadata={"error": type(error).__name__, **_ways_out(error)},
            allow_retries=isinstance(error, TransientError),
        ) from None
    except Exception as error:  # noqa: BLE001 - raised again as a failure that names its class and place
        raise dg.Failure(
            f"{type(error).__name__} in {_place(error.__traceback__)}. Its message may quote the customer's data "
            f"and is not kept; `batch-pipeline run {key}` shows it in a terminal",
            metadata={"error": type(error).__name__},
            allow_retries=False,
        ) from None


def _ways_out(error: BatchPipelineError) -> dict[str, str]:
    ways = error.ways_out if isinstance(error, NeedsPerson) else ()
    return {f"way out {number}": str(way) for number, way in enumerate(ways, 1)}


def _place(traceback: TracebackType | None) -> str:
    """Module and line of the innermost frame that is ours."""
    place = "unknown place"
    for frame, line in walk_tb(traceback):
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("batch_pipeline."):
            place = f"{module}, line {line}"
    return place
