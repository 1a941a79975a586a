"""Taking texts out of the parts again: of documents that nothing refers to any more."""

from collections.abc import Collection
from pathlib import Path

import polars as pl

from batch_pipeline.workspace import write_parquet


def forget_texts(folder: Path, kept: Collection[str]) -> int:
    """Rewrite every part of `texts/`, or of texts made from it, without documents whose MD5 is not `kept`; return how many went.

    Each file is replaced whole or not at all. Outcomes go last, so that a killed run leaves a text
    that is looked for again, never one that is overlooked.
    """
    gone = 0
    for path in [*sorted(folder.glob("part-*.parquet")), *sorted(folder.glob("outcomes-*.parquet"))]:
        frame = pl.read_parquet(path)
        rest = frame.filter(pl.col("md5").is_in(list(kept)))
        if rest.height < frame.height:
            write_parquet(rest, path)
            gone += frame.height - rest.height if path.name.startswith("outcomes") else 0
    return gone
