"""One page image -> its words, by the Tesseract program of this machine, in a child that may die."""

import csv
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from batch_pipeline.errors import ConfigurationError

_WORD: Final = "5"  # level of a word in Tesseract's TSV
_PROGRAM: Final = "tesseract"


@dataclass(frozen=True)
class Page:
    """Text in reading order; `confidence` is the mean of its words, 0 to 100."""

    text: str
    confidence: float


@dataclass(frozen=True)
class Tesseract:
    """Tesseract 4 or newer; `program` is its path."""

    program: str
    languages: tuple[str, ...]
    seconds: float = 60.0
    memory_bytes: int = 1 << 30

    @classmethod
    def found(cls, languages: Sequence[str]) -> "Tesseract":
        """The program on PATH. Raises ConfigurationError where it or one of the languages is not there."""
        program = shutil.which(_PROGRAM)
        if program is None:
            raise ConfigurationError(
                "ocr.engine", _PROGRAM, "install Tesseract (package tesseract-ocr) or take the section out"
            )
        said = subprocess.run(
            [program, "--list-langs"], capture_output=True, text=True, timeout=30, check=False
        )
        held = set(said.stdout.split("\n")[1:])
        missing = [language for language in languages if language not in held]
        if missing:
            fix = f"install {', '.join(f'tesseract-ocr-{language}' for language in missing)}"
            raise ConfigurationError("ocr.languages", missing, fix)
        return cls(program, tuple(languages))

    def read(self, image: bytes) -> Page | None:
        """None where the program failed, took too long or too much: another page may still be read."""
        command = [self.program, "stdin", "stdout", "-l", "+".join(self.languages), "tsv"]
        # one thread each: several pages are read at once
        environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
        ) as child:
            if sys.platform == "linux":
                resource.prlimit(child.pid, resource.RLIMIT_AS, (self.memory_bytes, self.memory_bytes))
            try:
                said, _ = child.communicate(image, timeout=self.seconds)
            except subprocess.TimeoutExpired:
                child.kill()
                return None
        return None if child.returncode else _page(said.decode("utf-8", errors="replace"))


def _page(tsv: str) -> Page:
    lines: dict[tuple[str, ...], list[str]] = {}
    confidences: list[float] = []
    for row in csv.DictReader(tsv.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        word = (row.get("text") or "").strip()
        if row["level"] == _WORD and word:
            lines.setdefault((row["block_num"], row["par_num"], row["line_num"]), []).append(word)
            confidences.append(float(row["conf"]))
    text: list[str] = []
    before: tuple[str, ...] = ()
    for place, words in lines.items():
        if before and place[:2] != before[:2]:
            text.append("")
        text.append(" ".join(words))
        before = place
    return Page("\n".join(text), sum(confidences) / len(confidences) if confidences else 0.0)
