"""What the workers of a Dask cluster in this process were given."""

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import LocalCluster, SchedulerPlugin


class _Watch(SchedulerPlugin):
    name = "watch"

    def __init__(self, keys: list[str]) -> None:
        self.keys = keys

    def transition(self, key: object, start: str, finish: str, *args: object, **more: object) -> None:
        if finish == "memory":
            self.keys.append(str(key))


@contextmanager
def tasks_done(cluster: LocalCluster) -> Iterator[list[str]]:
    """Keys of the tasks that are finished meanwhile."""
    keys: list[str] = []
    cluster.scheduler.add_plugin(_Watch(keys))
    try:
        yield keys
    finally:
        cluster.scheduler.remove_plugin(_Watch.name)
