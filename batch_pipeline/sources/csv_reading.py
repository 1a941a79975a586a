"""A CSV file as text columns: encoding, delimiter, header and rows, every choice stated.

Nothing is ever read as a number: an id `007` stays `007`. A file that is not UTF-8 is rewritten
once as UTF-8 beside the tables, so that it can be scanned in bounded memory.
"""

import codecs
import csv
import io
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from batch_pipeline.errors import ConfigurationError, SourceError

DELIMITERS = (",", ";", "\t", "|")
_CHUNK = 1 << 20
_HEADER_LIMIT = 1 << 16


@dataclass(frozen=True)
class CsvFile:
    """One file, ready to scan. `headers` are as written, without padding."""

    name: str
    text_path: Path
    encoding: str
    encoding_stated: bool
    delimiter: str
    delimiter_stated: bool
    headers: tuple[str, ...]

    def scan(self) -> pl.LazyFrame:
        """Every column as text, cells as written; an empty cell is null."""
        return pl.scan_csv(
            self.text_path,
            separator=self.delimiter,
            has_header=False,
            skip_rows=1,
            schema=dict.fromkeys(self.headers, pl.String),
            raise_if_empty=False,
            encoding="utf8",
        )

    @contextmanager
    def naming_bad_rows(self) -> Iterator[None]:
        """Turn a reader's error into a SourceError that names the row."""
        try:
            yield
        except pl.exceptions.PolarsError as error:
            raise SourceError(f"{self.name}: {self._bad_row()} ({type(error).__name__})") from None

    def _bad_row(self) -> str:
        """Where the file breaks its own header or its own quotes; rows count from 1 for the header."""
        unclosed = self._first_row_of_open_quote()
        with self.text_path.open(encoding="utf-8-sig", newline="") as stream:
            rows = enumerate(csv.reader(stream, delimiter=self.delimiter), start=1)
            for number, row in itertools.islice(rows, unclosed and unclosed - 1):
                if len(row) > len(self.headers):
                    return f"row {number} has {len(row)} cells, the header {len(self.headers)}"
        where = f"row {unclosed}" if unclosed else "a row"
        return f"{where} cannot be read: look for a quote that is never closed and mend it"

    def _first_row_of_open_quote(self) -> int | None:
        number = 1
        with self.text_path.open(encoding="utf-8-sig", newline="") as stream:
            try:
                for _ in csv.reader(stream, delimiter=self.delimiter, strict=True):
                    number += 1
            except csv.Error:  # a quote inside a cell, the end inside a quote, or a cell that never ends
                return number
        return None


def open_csv(
    path: Path, name: str, scratch: Path, encoding: str | None = None, delimiter: str | None = None
) -> CsvFile:
    """Look at a file; `scratch` is a folder for its UTF-8 copy where it needs one.

    Raises SourceError for a file without a usable header, ConfigurationError where the encoding or
    the delimiter must be stated.
    """
    chosen = encoding or detect_encoding(path, name)
    text_path = path if chosen == "utf-8" else _as_utf8(path, name, scratch, chosen)
    preamble, stated = _preamble(text_path)
    if preamble or _breaks_lines_by_cr(text_path):
        text_path = _rewritten(text_path, scratch, name, preamble)
    first = _first_record(text_path)
    separator = delimiter or stated or _detect_delimiter(first, name)
    headers = next(csv.reader(io.StringIO(first), delimiter=separator), [])
    cleaned = tuple(" ".join(header.split()) for header in headers)
    if not any(cleaned):
        raise SourceError(f"{name}: the first row holds no header")
    cleaned = _told_apart(header or f"column {number}" for number, header in enumerate(cleaned, start=1))
    if "\n" in first.strip("\r\n"):
        # polars skips lines, not records: a header with a line break needs the copy to be rewritten
        text_path = _with_one_line_header(text_path, scratch, name, cleaned, separator, first)
    told = (delimiter or stated) is not None
    return CsvFile(name, text_path, chosen, encoding is not None, separator, told, cleaned)


def is_blank(path: Path) -> bool:
    """Whether a file holds nothing: no byte, a byte order mark, or blank lines alone."""
    if path.stat().st_size > _HEADER_LIMIT:
        return False
    return not path.read_bytes().strip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n")


def detect_encoding(path: Path, name: str) -> str:
    """`utf-8` or UTF-16 (each with or without mark), or `cp1252` where the bytes allow it.

    Raises ConfigurationError where a person must say which one-byte encoding it is.
    """
    with path.open("rb") as stream:
        head = stream.read(4)
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    if len(head) == 4 and head.count(0) == 2:  # a header's letters, without the mark
        return "utf-16-le" if head[1] == 0 else "utf-16-be"
    if _decodes(path, "utf-8"):
        return "utf-8"
    fix = "state the encoding of the export, for example cp1251, cp1253, cp1254, shift_jis or gb18030"
    if not _decodes(path, "cp1252") or _looks_like_another_script(path):
        raise ConfigurationError("source.encoding", None, f"{name} is neither UTF-8 nor cp1252: {fix}")
    return "cp1252"


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _looks_like_another_script(path: Path) -> bool:
    """Cyrillic or Greek read as cp1252 gives words made of nothing but accented letters."""
    with path.open("rb") as stream:
        words = re.findall(r"[^\W\d_]{3,}", stream.read(_CHUNK).decode("cp1252"))
    foreign = sum(1 for word in words if all(ord(letter) > 127 for letter in word))
    return foreign * 20 > len(words)


def _as_utf8(path: Path, name: str, scratch: Path, encoding: str) -> Path:
    target = _scratch_path(scratch, name)
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        with path.open("rb") as source, target.open("w", encoding="utf-8", newline="") as copy:
            while chunk := source.read(_CHUNK):
                copy.write(decoder.decode(chunk))
            copy.write(decoder.decode(b"", final=True))
    except LookupError:
        raise ConfigurationError("source.encoding", encoding, "give an encoding Python knows") from None
    except UnicodeDecodeError as error:
        raise SourceError(f"{name}: byte {error.start} cannot be read as {encoding}") from None
    return target


def _preamble(path: Path) -> tuple[int, str | None]:
    """Characters before the header (blank lines, Excel's `sep=;`), and the delimiter that line states."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        head = stream.read(_HEADER_LIMIT)
    blank = len(head) - len(head.lstrip(" \r\n"))
    stated = re.match(r'"?sep=(.)"?[\r\n]+', head[blank:], re.IGNORECASE)
    return (blank + stated.end(), stated[1]) if stated else (blank, None)


def _breaks_lines_by_cr(path: Path) -> bool:
    with path.open("rb") as stream:
        head = stream.read(_CHUNK)
    return b"\r" in head and b"\n" not in head


def _rewritten(path: Path, scratch: Path, name: str, preamble: int) -> Path:
    """A copy that begins with its header and breaks lines as everybody does."""
    target = _scratch_path(scratch, f"{name}.plain")
    old_breaks = _breaks_lines_by_cr(path)
    with (
        path.open(encoding="utf-8-sig", newline="") as source,
        target.open("w", encoding="utf-8", newline="") as copy,
    ):
        source.read(preamble)
        while chunk := source.read(_CHUNK):
            copy.write(chunk.replace("\r", "\n") if old_breaks else chunk)
    return target


def _told_apart(headers: Iterable[str]) -> tuple[str, ...]:
    """`Email`, `Email (2)`: reports name several columns alike."""
    seen: Counter[str] = Counter()
    told: list[str] = []
    for header in headers:
        seen[header] += 1
        told.append(header if seen[header] == 1 else f"{header} ({seen[header]})")
    return tuple(told)


def _scratch_path(scratch: Path, name: str) -> Path:
    scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
    return scratch / f"{re.sub(r'[^A-Za-z0-9.]+', '_', unicodedata.normalize('NFC', name))}.utf8.csv"


def _first_record(path: Path) -> str:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        head = stream.read(_HEADER_LIMIT)
    quoted = False
    for position, character in enumerate(head):
        if character == '"':
            quoted = not quoted
        elif character in "\r\n" and not quoted:
            return head[:position] + "\n"
    return head


def _detect_delimiter(first: str, name: str) -> str:
    widths = {mark: len(next(csv.reader(io.StringIO(first), delimiter=mark), [])) for mark in DELIMITERS}
    widest = max(widths.values())
    best = [mark for mark, width in widths.items() if width == widest]
    if widest == 1:
        return ","
    if len(best) > 1:
        raise ConfigurationError("source.delimiter", None, f"state the delimiter of {name}: {best} fit alike")
    return best[0]


def _with_one_line_header(
    path: Path, scratch: Path, name: str, headers: tuple[str, ...], delimiter: str, first: str
) -> Path:
    target = _scratch_path(scratch, f"{name}.header")
    with (
        path.open(encoding="utf-8-sig", newline="") as source,
        target.open("w", encoding="utf-8", newline="") as copy,
    ):
        csv.writer(copy, delimiter=delimiter).writerow(headers)
        source.seek(0)
        source.read(len(first))
        while chunk := source.read(_CHUNK):
            copy.write(chunk)
    return target
