"""A program that speaks Tesseract's command line: the child process is real, what it reads is chosen."""

from pathlib import Path

HEADER = "level page_num block_num par_num line_num word_num left top width height conf text".replace(
    " ", "\t"
)


def program(folder: Path, does: str) -> None:
    """One that runs this line of shell for every page."""
    path = folder / "tesseract"
    (folder / "languages").write_text("List of languages:\neng\ndeu\n")
    path.write_text(
        f"#!/bin/sh\nif [ $1 = --list-langs ]; then cat {folder / 'languages'}; exit; fi\n"
        f"cd {folder}; cat > /dev/null; {does}\n"
    )
    path.chmod(0o755)


def says(folder: Path, words: str, confidence: int) -> None:
    """A program that reads these words on every page."""
    rows = [HEADER]
    for number, word in enumerate(words.split()):
        rows.append(f"5\t1\t1\t1\t{number // 8}\t1\t0\t0\t9\t9\t{confidence}\t{word}")
    (folder / "answer.tsv").write_text("\n".join(rows) + "\n")
    program(folder, "cat answer.tsv")


GOOD = "Experience Clerk Example Ltd 2019 2023 Education Example College Skills filing typing " * 4
