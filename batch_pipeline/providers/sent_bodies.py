"""Bodies of paid calls, kept on this disk until the migration is erased.

A provider that knows a call again only by its very bytes is asked with the bytes that left, whatever became
of settings and requests since. They lie in the migration's own folder, private to its owner.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from batch_pipeline.workspace import atomic_path


@dataclass(frozen=True)
class SentBodies:
    """By the name of their job: `<name>.ready` before the first call left, `<name>.left` from then on."""

    folder: Path

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """What the first call will send; a body that left is never written again."""
        if self.left(name) is not None:
            return
        with atomic_path(self._ready(name)) as partial, partial.open("wb") as target:
            for piece in pieces:
                target.write(piece)

    def left(self, name: str) -> Path | None:
        """The body of a call that left and may have become a job."""
        path = self.folder / f"{name}.left"
        return path if path.exists() else None

    def leaving(self, name: str) -> Path | None:
        """To be called before the call leaves; None where there is no body."""
        if (path := self.left(name)) is not None:
            return path
        if not self._ready(name).exists():
            return None
        return self._ready(name).replace(self.folder / f"{name}.left")

    def came_back(self, name: str) -> None:
        """The only call with this body was refused: nothing began."""
        if (path := self.left(name)) is not None:
            path.replace(self._ready(name))

    def drop(self, name: str) -> None:
        for path in (self._ready(name), self.folder / f"{name}.left"):
            path.unlink(missing_ok=True)

    def _ready(self, name: str) -> Path:
        return self.folder / f"{name}.ready"
