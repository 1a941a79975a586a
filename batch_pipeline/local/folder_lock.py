"""One owner per data folder: two servers writing one folder destroy it."""

import fcntl
from pathlib import Path
from typing import IO


class FolderLock:
    """An advisory lock on a folder that the kernel frees when its owner dies."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".lock"
        self._file: IO[str] | None = None

    def acquire(self) -> bool:
        """Whether we are the owner now; False where another process is."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._path.open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        return True

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
