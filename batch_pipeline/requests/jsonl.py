"""Texts of the batch-routed documents -> one JSON line each, in record-id order, byte for byte the same.

Texts lie in parts, in the order they were read, and may be more than memory holds. So the lines are
first written in that order by polars (columns, not Python objects), and then copied in record-id
order by their offsets: memory holds one batch of lines and 60 bytes per document.
"""

import io
import json
import os
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

import polars as pl

from batch_pipeline.errors import TerminalError
from batch_pipeline.requests.bodies import CLOSE, NEUTRAL, OPEN, TAG, RequestBuilder
from batch_pipeline.requests.digests import text_digests
from batch_pipeline.requests.record_ids import PREFIX
from batch_pipeline.workspace import atomic_path, write_parquet

BATCH_ROWS: Final = 2_500
BATCH_BYTES: Final = 8_000_000
_COPY_BUFFER: Final = 1 << 20

SCHEMA: Final = pl.Schema(
    {
        "record_id": pl.String,
        "md5": pl.String,
        "offset": pl.Int64,
        "length": pl.Int64,
        "request_digest": pl.String,
    }
)


def write_requests(
    texts: Sequence[Path], documents: pl.DataFrame, builder: RequestBuilder, out: Path, index: Path
) -> pl.DataFrame:
    """Write `out` (JSON lines) and `index` (`request_lines.parquet`); return the index.

    `texts` are Parquet parts with columns md5, text; `documents` holds the md5 of every document to
    be batched. Both files are written whole or not at all. Raises TerminalError, with counts only,
    where a document has no text or an md5 occurs twice in `documents`.
    """
    wanted = documents.select("md5")
    _check(wanted["md5"])
    with TemporaryFile(dir=out.parent) as unsorted:
        written = _write_unsorted(texts, wanted, builder, unsorted)
        lines = written.unique("md5", keep="first", maintain_order=True).sort("md5")
        if len(lines) != len(wanted):
            raise TerminalError(f"{len(wanted) - len(lines)} of {len(wanted)} batched documents have no text")
        with atomic_path(out) as partial, partial.open("wb", buffering=_COPY_BUFFER) as target:
            _copy(unsorted, lines, target)
    frame = lines.with_columns(
        record_id=PREFIX + pl.col("md5"),
        offset=pl.col("length").cum_sum() - pl.col("length"),
    ).select(SCHEMA.names())
    write_parquet(frame, index)
    return frame


def _check(md5s: pl.Series) -> None:
    odd = (~md5s.str.contains(r"^[0-9a-f]{32}$")).sum() + md5s.null_count()
    if odd:
        raise TerminalError(f"{odd} of {len(md5s)} documents have no MD5 in lower-case hex")
    if md5s.n_unique() != len(md5s):
        raise TerminalError(f"{len(md5s) - md5s.n_unique()} of {len(md5s)} documents occur twice")


def _write_unsorted(
    texts: Sequence[Path], wanted: pl.DataFrame, builder: RequestBuilder, target: IO[bytes]
) -> pl.DataFrame:
    """Append a line per wanted text, in the order of the parts; return where each lies."""
    frames = [SCHEMA.to_frame().drop("record_id")]
    shape = line_shape(builder)
    at = 0
    for batch in _batches(texts, wanted):
        framed = batch.select("md5", text=framed_text(pl.col("text")))
        buffer = io.BytesIO()
        framed.select(shape).write_csv(buffer, include_header=False, quote_style="never")
        lengths = _line_lengths(buffer.getbuffer(), len(framed))
        target.write(buffer.getbuffer())
        frames.append(
            framed.select(
                "md5",
                offset=pl.Series(list(accumulate(lengths[:-1], initial=at)), dtype=pl.Int64),
                length=pl.Series(lengths, dtype=pl.Int64),
                request_digest=pl.Series(text_digests(builder.prompt, framed["text"]), dtype=pl.String),
            )
        )
        at += sum(lengths)
    return pl.concat(frames)


def _batches(texts: Sequence[Path], wanted: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Wanted rows of every part, at most BATCH_ROWS or about BATCH_BYTES of text at once."""
    for part in texts:
        rows = pl.scan_parquet(part).select("md5", "text").join(wanted.lazy(), on="md5", how="semi")
        for chunk in rows.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            sized = chunk.with_columns(piece=chunk["text"].str.len_bytes().cum_sum() // BATCH_BYTES)
            yield from sized.partition_by("piece", maintain_order=True, include_key=False)


def framed_text(text: pl.Expr) -> pl.Expr:
    """`bodies.framed` by columns."""
    return pl.concat_str(pl.lit(OPEN), text.str.replace_all(TAG, NEUTRAL + "$1"), pl.lit(CLOSE))


# What stands for the text while the shape of a body is learnt: no prompt holds it.
_SLOT: Final = "\x00the text\x00"


def line_shape(builder: RequestBuilder) -> pl.Expr:
    """A request line as an expression over the columns `md5` and `text` (framed)."""
    written = json.dumps(builder.around(_SLOT), ensure_ascii=False, separators=(",", ":"))
    head, tail = written.split(json.dumps(_SLOT))
    text = pl.struct(t="text").struct.json_encode().str.strip_prefix('{"t":').str.strip_suffix("}")
    start = '{"recordId":"' + PREFIX
    return pl.concat_str(
        pl.lit(start), pl.col("md5"), pl.lit(f'","modelInput":{head}'), text, pl.lit(tail + "}")
    )


def _line_lengths(lines: memoryview, expected: int) -> list[int]:
    """Length of each line, its line feed included. JSON escapes every line feed inside a string,
    so the byte can only end a line."""
    lengths = [len(line) for line in io.BytesIO(lines)]
    if len(lengths) != expected:
        raise TerminalError(f"{expected} requests became {len(lengths)} lines")
    return lengths


def _copy(source: IO[bytes], lines: pl.DataFrame, target: IO[bytes]) -> None:
    source.flush()
    handle = source.fileno()
    for offset, length in lines.select("offset", "length").iter_rows():
        target.write(os.pread(handle, length, offset))
