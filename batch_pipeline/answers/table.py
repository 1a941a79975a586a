"""A job's output lines -> rows of `parsed/*.parquet` and one outcome per record for the ledger.

Lines come in any order and are joined on the record id alone. A line counts only when it is about
the request we sent: an echo that says something else is not an answer to it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl
from polars.io.plugins import register_io_source

from batch_pipeline.answers.envelope import Answer, Corrupt, RecordError, read
from batch_pipeline.answers.lines import Line
from batch_pipeline.answers.messages import without_content
from batch_pipeline.tasks.base import Failure, Parsed, Task
from batch_pipeline.workspace import atomic_path

OUTCOMES: Final = ("parsed", "failed", "error_permanent", "error_retryable", "missing")

OUTCOME_SCHEMA: Final = pl.Schema(
    {
        "record_id": pl.String,
        "outcome": pl.String,  # one of OUTCOMES
        "reason": pl.String,  # the task's, or why a line that came does not count
        "code": pl.String,
        "message": pl.String,
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
    }
)


class Expected(NamedTuple):
    """What was sent under a record id."""

    md5: str
    request_digest: str


@dataclass
class Settlement:
    """What a job's output settles. `sent` is the sum of `by_outcome`, always.

    Tokens are those of every answer that was read, a second one to the same record included: they
    were paid for.
    """

    outcomes: pl.DataFrame
    by_outcome: Counter[str] = field(default_factory=Counter)
    by_reason: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    duplicates: int = 0
    unknown_ids: int = 0
    echo_mismatches: int = 0
    corrupt: int = 0
    usage_unknown: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def sent(self) -> int:
        return self.by_outcome.total()


def parsed_schema(task: Task) -> pl.Schema:
    """The columns of `parsed/*.parquet` (docs/architecture.md)."""
    return pl.Schema(
        {
            "record_id": pl.String,
            "md5": pl.String,
            "status": pl.String,
            "reason": pl.String,
            "detail": pl.String,
            task.document_column: pl.String,
            "extra": pl.String,
            "schema_version": pl.String,
            "parser_version": pl.String,
            "model": pl.String,
            "input_tokens": pl.Int64,
            "output_tokens": pl.Int64,
        }
    )


Restored = Callable[[str, str], str | Failure]
"""From a record id and the text of its answer to the text that is parsed, or why there is none."""

_ROWS: Final = 1_000
_Row = tuple[str | int | None, ...]


class _Outcome(NamedTuple):
    """A row of `OUTCOME_SCHEMA`."""

    record_id: str
    outcome: str
    reason: str | None = None
    code: str | None = None
    message: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Reader:
    """One pass over the lines: rows of parsed documents come out at once, failures at the end,
    because a second line of the same record may still be better than the first."""

    def __init__(
        self,
        expected: Mapping[str, Expected],
        task: Task,
        model: str,
        digest_of: Callable[[bytes], str],
        restored: Restored | None,
    ) -> None:
        self._expected = expected
        self._task = task
        self._model = model
        self._digest_of = digest_of
        self._restored = restored
        self._settled: dict[str, _Outcome] = {}
        self._failed: dict[str, _Row] = {}
        self._why_not: dict[str, str] = {}
        self.settlement = Settlement(OUTCOME_SCHEMA.to_frame())

    def rows(self, lines: Iterable[Line]) -> Iterator[_Row]:
        """A row per document with a final answer."""
        for line in lines:
            self.settlement.lines += 1
            found = Corrupt("longer than any answer") if line.cut else read(line.data)
            if isinstance(found, Corrupt):
                self._corrupt(found)
            elif found.record_id not in self._expected:
                self.settlement.unknown_ids += 1
            elif isinstance(found, RecordError):
                self._error(found)
            elif (row := self._answer(found)) is not None:
                yield row
        yield from self._failed.values()
        self._close()

    def _corrupt(self, found: Corrupt) -> None:
        self.settlement.corrupt += 1
        if found.record_id is not None:
            self._why_not.setdefault(found.record_id, "corrupt")

    def _error(self, error: RecordError) -> None:
        if error.record_id in self._settled:
            self.settlement.duplicates += 1
            return
        self._settled[error.record_id] = _Outcome(
            error.record_id,
            "error_retryable" if error.retryable else "error_permanent",
            "expired" if error.expired else None,
            error.code,
            without_content(error.message),
        )
        if not error.retryable:
            # The provider will refuse it again: that is a final answer, so the document failed.
            failure = Failure("provider_error", f"code {error.code}")
            self._failed[error.record_id] = self._row(error.record_id, failure, None, None)

    def _answer(self, answer: Answer) -> _Row | None:
        """The row of a parsed document, or None. An answer wins over an error, a parsed one over all."""
        record_id = answer.record_id
        if not self._echoes(answer):
            return None
        earlier = self._settled.get(record_id)
        if earlier is not None:
            self.settlement.duplicates += 1
            if earlier.outcome == "parsed":
                return None
        tokens = (answer.input_tokens, answer.output_tokens)
        self.settlement.usage_unknown += None in tokens
        self.settlement.input_tokens += answer.input_tokens or 0
        self.settlement.output_tokens += answer.output_tokens or 0
        text = answer.text if self._restored is None else self._restored(record_id, answer.text)
        result = text if isinstance(text, Failure) else self._task.parse(text, answer.stop)
        if isinstance(result, Parsed):
            self._settled[record_id] = _Outcome(record_id, "parsed", None, None, None, *tokens)
            self._failed.pop(record_id, None)
            return self._row(record_id, result, *tokens)
        if earlier is None or earlier.outcome != "failed":
            self._settled[record_id] = _Outcome(record_id, "failed", result.reason, None, None, *tokens)
            self._failed[record_id] = self._row(record_id, result, *tokens)
        return None

    def _echoes(self, answer: Answer) -> bool:
        try:
            same = self._digest_of(answer.model_input) == self._expected[answer.record_id].request_digest
        except ValueError:
            same = False
        if not same:
            self.settlement.echo_mismatches += 1
            self._why_not[answer.record_id] = "echo_mismatch"
        return same

    def _row(self, record_id: str, result: Parsed | Failure, *tokens: int | None) -> _Row:
        sent = self._expected[record_id]
        return parsed_row(self._task, self._model, record_id, sent.md5, result, tokens)

    def _close(self) -> None:
        for record_id in self._expected.keys() - self._settled.keys():
            self._settled[record_id] = _Outcome(record_id, "missing", self._why_not.get(record_id))
        settled = [self._settled[record_id] for record_id in sorted(self._settled)]
        # Column by column: a job may hold 100,000 records, and this is the peak of the memory used.
        self.settlement.outcomes = pl.DataFrame(
            [
                pl.Series(name, [outcome[at] for outcome in settled], dtype=kind)
                for at, (name, kind) in enumerate(OUTCOME_SCHEMA.items())
            ]
        )
        self.settlement.by_outcome = Counter(outcome.outcome for outcome in settled)
        self.settlement.by_reason = Counter(o.reason for o in settled if o.reason is not None)


def parsed_row(
    task: Task,
    model: str,
    record_id: str,
    md5: str,
    result: Parsed | Failure,
    tokens: tuple[int | None, ...] = (None, None),
) -> _Row:
    """A row of `parsed_schema` for a document with a final answer; tokens are input, output."""
    outcome: _Row
    if isinstance(result, Parsed):
        outcome = ("parsed", None, None, result.document, result.extra)
    else:
        outcome = ("failed", result.reason, result.detail, None, None)
    return (record_id, md5, *outcome, task.schema_version, task.parser_version, model, *tokens)


def write_parsed(
    lines: Iterable[Line],
    expected: Mapping[str, Expected],
    out: Path,
    *,
    task: Task,
    model: str,
    digest_of: Callable[[bytes], str],
    restored: Restored | None = None,
) -> Settlement:
    """Write `out`, whole or not at all, and return what the lines settle.

    `expected` holds what was sent in this job; `digest_of` makes a request digest from an echoed
    `modelInput` and raises ValueError where it is none; `restored` makes the text to be parsed from an answer's. The first answer of a record that parses wins,
    else the first answer, else the first error. Every record of `expected` has exactly one outcome, and a row in `out`
    unless it is worth another attempt or missing.
    """
    reader = _Reader(expected, task, model, digest_of, restored)
    write_rows(reader.rows(lines), parsed_schema(task), out)
    return reader.settlement


def write_rows(rows: Iterable[_Row], schema: pl.Schema, out: Path) -> None:
    """Write rows to one Parquet file, whole or not at all, holding a few thousand in memory."""

    def frames(
        _columns: list[str] | None, _predicate: pl.Expr | None, _limit: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        block: list[_Row] = []
        for row in rows:
            block.append(row)
            if len(block) == _ROWS:
                yield _frame(block, schema)
                block.clear()
        yield _frame(block, schema)

    # Arguments of a source are hints to read less; all of it is written, so there is none to follow.
    source = register_io_source(frames, schema=schema, is_pure=False)
    with atomic_path(out) as partial:
        source.sink_parquet(partial, maintain_order=True, row_group_size=_ROWS)


def _frame(block: Sequence[tuple[Any, ...]], schema: pl.Schema) -> pl.DataFrame:
    if not block:
        return schema.to_frame()
    columns = zip(schema.items(), zip(*block, strict=True), strict=True)
    return pl.DataFrame([pl.Series(name, values, dtype=kind) for (name, kind), values in columns])
