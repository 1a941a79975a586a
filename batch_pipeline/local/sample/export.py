"""The CSV files and the attachment folder of an export, in the layout account managers hand over."""

import csv
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Any, Final

HEADERS: Final = MappingProxyType(
    {
        "candidates": (
            *("Candidate ID", "First Name", "Last Name", "Email", "Phone"),
            *("Created At", "Anonymized At"),
        ),
        "jobs": ("Job ID", "Title", "Status", "Opened", "Closed"),
        "applications": (
            *("Application ID", "Candidate ID", "Job ID", "Applied On", "Status", "Stage"),
            *("Rejected On", "Rejection Reason"),
        ),
        "stage_history": ("Application ID", "Stage", "Entered At"),
        "notes": ("Candidate ID", "Application ID", "Author", "Created At", "Visibility", "Body"),
        "scorecards": (
            *("Application ID", "Author", "Submitted At", "Overall Recommendation"),
            *("Question", "Answer"),
        ),
        "attachments": (
            *("Attachment ID", "Candidate ID", "Application ID", "File Name", "Type"),
            *("Created At", "Path"),
        ),
    }
)


class Export:
    """Writes rows by table and files by application; counts the rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = dict.fromkeys(HEADERS, 0)
        self._files: dict[str, IO[str]] = {}
        self._writers: dict[str, Any] = {}

    def __enter__(self) -> "Export":
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if any(self.folder.iterdir()):
            raise FileExistsError(f"{self.folder} is not empty")
        for table, header in HEADERS.items():
            file = (self.folder / f"{table}.csv").open("w", encoding="utf-8-sig", newline="")
            self._files[table] = file
            self._writers[table] = csv.writer(file)
            self._writers[table].writerow(header)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()

    def add(self, table: str, *values: str) -> None:
        self._writers[table].writerow(values)
        self.rows[table] += 1

    def free_path(self, application: str, file_name: str) -> str:
        """Where a file of this application goes; a taken name gets a number before its ending."""
        path = f"attachments/{application}/{file_name}"
        stem, dot, ending = path.rpartition(".")
        number = 2
        while (self.folder / path).exists():
            path = f"{stem} ({number}){dot}{ending}"
            number += 1
        return path

    def write(self, path: str, content: bytes) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
