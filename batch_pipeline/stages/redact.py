"""Texts as they are sent: themselves, or where the migration file asks for it without what names a person.

`redacted/<way>/part-*.parquet` has a row per row of the same part of `texts/`: `md5, text, request_digest` and
`originals`, the table that undoes it as a JSON object. `<way>` is a hash of everything that changes the outcome,
so a part is never stale, and what was sent in another way can still be read.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import polars as pl

from batch_pipeline.documents.chunk_pool import map_chunks
from batch_pipeline.errors import LedgerConflict
from batch_pipeline.privacy.known import Known
from batch_pipeline.privacy.placeholders import Kind
from batch_pipeline.privacy.rules import rules
from batch_pipeline.requests.bodies import framed
from batch_pipeline.requests.digests import text_digests
from batch_pipeline.stages.context import Context
from batch_pipeline.workspace import write_parquet

_MADE: Final = pl.Schema({"text": pl.String, "request_digest": pl.String, "originals": pl.String})
_KNOWN: Final = ("md5", "names", "phones")
_PHONES: Final = pl.List(pl.Struct({"raw": pl.String}))
_NOTE: Final = "redaction"
_CHUNK: Final = 200

_Row = tuple[str, str, str]


def parts_to_send(context: Context) -> list[Path]:
    """Parts with `md5, text` of everything a model may be shown, and nothing else may be.

    Raises:
        LedgerConflict: this workspace's texts are not redacted as the migration file asks.
    """
    kinds = context.migration.redaction
    if not kinds:
        return _texts(context)
    note = context.workspace.read_note(_NOTE)
    if note is None or note["kinds"] != list(kinds):
        raise LedgerConflict(
            f"migration {context.key}: the texts of this workspace are not redacted as its file asks; "
            "materialise jsonl_shards again"
        )
    return sorted((context.workspace.redacted / note["way"]).glob("part-*.parquet"))


def redact_texts(context: Context, cvs: pl.DataFrame) -> Mapping[str, int]:
    """Redact every text of the workspace, a part at a time; nothing to do where the file does not ask for it.

    `cvs` has the shape of `dedup.DOCUMENTS`.

    Returns:
        How many different findings the texts of `cvs` hold, by kind.
    """
    kinds = context.migration.redaction
    if not kinds:
        return {}
    known = _known(context)
    way = _way(context, known)
    folder = context.workspace.redacted / way
    todo = [part for part in _texts(context) if not _is_done(part, folder / part.name)]
    rows = map_chunks(
        partial(_redacted, kinds, context.prompt),
        _with_known(todo, known),
        workers=context.settings.workers,
        chunk=_CHUNK,
    )
    for done, part in enumerate(todo):
        context.progress("texts redacted, parts", done, len(todo))
        md5s = pl.read_parquet(part, columns=["md5"])["md5"]
        frame = pl.DataFrame(list(islice(rows, md5s.len())), schema=_MADE, orient="row")
        write_parquet(frame.insert_column(0, md5s), folder / part.name)
    context.workspace.write_note(_NOTE, {"kinds": list(kinds), "way": way})
    return _counts(folder, cvs)


def _texts(context: Context) -> list[Path]:
    return sorted(context.workspace.texts.glob("part-*.parquet"))


def _is_done(part: Path, redacted: Path) -> bool:
    return redacted.exists() and pl.read_parquet(part, columns=["md5"]).equals(
        pl.read_parquet(redacted, columns=["md5"])
    )


def _way(context: Context, known: pl.DataFrame) -> str:
    running = hashlib.sha256(json.dumps([rules(), context.migration.redaction, context.prompt]).encode())
    for row in known.iter_rows():
        running.update(json.dumps(row).encode())
    return running.hexdigest()[:16]


def _with_known(parts: Sequence[Path], known: pl.DataFrame) -> Iterator[tuple[str, Known]]:
    for part in parts:
        rows = pl.read_parquet(part, columns=["md5", "text"]).join(
            known, on="md5", how="left", maintain_order="left"
        )
        for text, names, phones in rows.select("text", *_KNOWN[1:]).iter_rows():
            yield text, Known(tuple(names or ()), tuple(phones or ()))


def _redacted(kinds: Sequence[Kind], prompt: str, texts: list[tuple[str, Known]]) -> list[_Row]:
    from batch_pipeline.privacy.redaction import redact  # noqa: PLC0415 - 0.1 s nobody pays who does not redact

    found = [redact(text, kinds, known) for text, known in texts]
    digests = text_digests(prompt, (framed(one.text) for one in found))
    return [
        (one.text, digest, json.dumps(one.originals, ensure_ascii=False))
        for one, digest in zip(found, digests, strict=True)
    ]


def _known(context: Context) -> pl.DataFrame:
    """Names and phones of everybody a text hangs on, sorted by md5: columns of _KNOWN, the latter two lists.

    Documents of one text count as one: any of them may be the one that is asked about.
    """
    workspace = context.workspace
    applications = pl.scan_parquet(workspace.table("application")).select(
        application_id="source_id", _owner="person_id"
    )
    owners = (
        pl.scan_parquet(workspace.attachments)
        .filter(pl.col("document_md5").is_not_null())
        .join(applications, on="application_id", how="left")
        .select(md5="document_md5", person_id=pl.concat_list("_owner", "person_id"))
        .explode("person_id", empty_as_null=True, keep_nulls=True)
        .drop_nulls()
    )
    of_text = pl.scan_parquet(workspace.documents).select("md5", "text_sha").drop_nulls()
    people = pl.scan_parquet(workspace.table("person")).select(
        person_id="source_id", names=_names(context), phones=_phones(context)
    )
    return (
        owners.join(of_text, on="md5")
        .select("text_sha", "person_id")
        .unique()
        .join(people, on="person_id")
        .group_by("text_sha")
        .agg(
            names=pl.col("names").explode(empty_as_null=True, keep_nulls=True).drop_nulls().unique().sort(),
            phones=pl.col("phones").explode(empty_as_null=True, keep_nulls=True).drop_nulls().unique().sort(),
        )
        .join(of_text, on="text_sha")
        .select(_KNOWN)
        .sort("md5")
        .collect()
    )


def _names(context: Context) -> pl.Expr:
    if "name" not in context.migration.redaction:
        return pl.lit([], dtype=pl.List(pl.String))
    given, family = pl.col("given_name"), pl.col("family_name")
    return pl.concat_list("full_name", given, family, given + " " + family, family + " " + given)


def _phones(context: Context) -> pl.Expr:
    if "phone" not in context.migration.redaction:
        return pl.lit([], dtype=pl.List(pl.String))
    return pl.col("phones").str.json_decode(_PHONES).list.eval(pl.element().struct.field("raw"))


def _counts(folder: Path, cvs: pl.DataFrame) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    for part in sorted(folder.glob("part-*.parquet")):
        rows = pl.read_parquet(part, columns=["md5", "originals"]).join(cvs, on="md5", how="semi")
        for originals in rows["originals"]:
            counts.update(word[1:].rpartition("_")[0].lower() for word in json.loads(originals))
    return dict(sorted(counts.items()))
