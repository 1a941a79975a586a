"""The courier: a process of its own that makes the on-demand calls of one migration.

A provider takes no idempotency token on this route, so a process that dies while a call is under way
leaves a doubt that cannot be resolved. The courier makes that rare: it is a session of its own, so a
killed parent does not take it along. When its parent is gone it starts nothing new, waits for the
calls that left, writes their answers to the ledger and ends. The next one waits for it.

Protocol: one JSON object a line on standard output, `{"done": n, "total": n}`; exit code 0, or 1 with
`{"error": text}` as the last line.
"""

import json
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import psycopg

from batch_pipeline.answers.envelope import Answer, read, wrap
from batch_pipeline.answers.messages import without_content
from batch_pipeline.errors import BatchPipelineError, LedgerConflict, TerminalError, TransientError
from batch_pipeline.ledger import documents, migrations, on_demand
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.ledger.on_demand import OwedCall
from batch_pipeline.providers.contract import LostAnswer, RefusedAnswer
from batch_pipeline.settings import Settings
from batch_pipeline.stages.context import Context, open_context
from batch_pipeline.stages.redact import parts_to_send
from batch_pipeline.stages.vision import vision_blocks

_RETRY_LATER = frozenset({408, 424, 429, 500, 502, 503, 504})
_MOST_BUSY_ANSWERS = 8
_CHUNK = 200
# Refusals that are not about the document: the next one would be refused as well.
_NOT_ABOUT_THE_DOCUMENT = frozenset({401, 402, 403, 404})
# So many first calls refused, and none answered: the next ones would be refused as well.
_MOST_REFUSALS = 5
_LEDGER_TRIES = 30

# Input and output, and of the input: read from a prompt cache and written to one.
_Tokens = tuple[int | None, int | None, int, int]


@dataclass
class _Pace:
    """Tokens a minute, a minute's worth at once; and one pause for all when the provider is busy."""

    tokens_per_minute: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    free_at: float = 0.0

    def take(self, tokens: int) -> None:
        with self.lock:
            now = time.monotonic()
            self.free_at = max(now - 60.0, self.free_at) + 60.0 * tokens / self.tokens_per_minute
            pause = self.free_at - now
        time.sleep(max(0.0, pause))

    def back_off(self, attempt: int) -> None:
        pause = min(60.0, 0.5 * 2**attempt) * (0.5 + random.random())  # noqa: S311 - jitter
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic() + pause)
        time.sleep(pause)


@dataclass(frozen=True)
class _Request:
    """One call, ready to leave; `tokens` is an estimate for the pace alone."""

    record_id: str
    model_input: dict[str, Any]
    tokens: int
    digest: str | None = None  # of a redacted text: its answer is read by the table of exactly that text


class Courier:
    """Makes every call that is owed to one model of a migration, a few at a time."""

    def __init__(self, context: Context, stop: threading.Event) -> None:
        self._context = context
        self._stop = stop
        # made before the first intent: nothing may fail between an intent and its call
        self._provider = context.on_demand_provider
        self._dialect = context.on_demand_requests.dialect
        self._url = context.settings.database_url.get_secret_value()
        self._pace = _Pace(context.migration.on_demand.tokens_per_minute)
        self._local = threading.local()
        self._opened: list[LedgerConnection] = []
        self._lock = threading.Lock()
        self._answered = 0
        self._refused = 0

    def run(self, owed: list[OwedCall]) -> None:
        done = 0
        most = self._context.migration.on_demand.concurrency
        with ThreadPoolExecutor(most) as pool, self._closing():
            under_way: set[Future[None]] = set()
            for request in self._requests(owed):
                if self._stop.is_set() or not self._may_send(self._context.ledger):
                    break
                if len(under_way) >= 2 * most:
                    ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    done += _results(ended)
                    _say(done=done, total=len(owed))
                under_way.add(pool.submit(self._answer, request))
            ended, _ = wait(under_way)
            done += _results(ended)
        _say(done=done, total=len(owed))

    def _may_send(self, ledger: LedgerConnection) -> bool:
        """Nobody paused, cancelled or held the migration meanwhile."""
        standing = migrations.standing(ledger, self._context.key)
        return standing.state == "open" and standing.hold is None

    @contextmanager
    def _closing(self) -> Iterator[None]:
        try:
            yield
        finally:
            for connection in self._opened:
                connection.close()

    def _ledger(self) -> LedgerConnection:
        if not hasattr(self._local, "ledger"):
            self._local.ledger = LedgerConnection.open(self._url, upgrade=False)
            self._opened.append(self._local.ledger)
        ledger: LedgerConnection = self._local.ledger
        return ledger

    def _requests(self, owed: list[OwedCall]) -> Iterator[_Request]:
        """Bodies are built here, in one thread: the PDF library must not be used from several."""
        builder = self._context.on_demand_requests
        for start in range(0, len(owed), _CHUNK):
            calls = {call.md5: call for call in owed[start : start + _CHUNK]}
            rows = self._rows(list(calls))
            if rows.height != len(calls):
                raise LedgerConflict(
                    f"migration {self._context.key}: {len(calls) - rows.height} documents that are owed are not in "
                    "this workspace; materialise raw_cvs, deduped_cvs and jsonl_shards again"
                )
            for row in rows.iter_rows(named=True):
                record_id = calls[row["md5"]].record_id
                if not row["needs_vision"]:
                    text = row["text"]
                    yield _Request(
                        record_id, builder.text(text), len(text) // 4 + 1500, row.get("request_digest")
                    )
                    continue
                if self._context.migration.redaction:
                    documents.fail(self._context.ledger, self._context.key, record_id, "cannot_be_redacted")
                    continue
                try:
                    blocks = vision_blocks(row["local_path"], row["sniffed_mime"])
                except TerminalError:
                    documents.fail(self._context.ledger, self._context.key, record_id, "cannot_be_shown")
                    continue
                yield _Request(record_id, builder.vision(blocks), 4000)

    def _rows(self, md5s: list[str]) -> pl.DataFrame:
        workspace = self._context.workspace
        digest = ["request_digest"] if self._context.migration.redaction else []
        texts = pl.scan_parquet(parts_to_send(self._context)).select("md5", "text", *digest).unique("md5")
        return (
            pl.scan_parquet(workspace.documents)
            .join(pl.LazyFrame({"md5": md5s}), on="md5", how="semi")
            .join(texts, on="md5", how="left")
            .select("md5", "text", *digest, "local_path", "sniffed_mime", "needs_vision")
            .collect()
            .sort("md5")
        )

    def _answer(self, request: _Request) -> None:
        if self._stop.is_set():
            return
        context, ledger = self._context, self._ledger()
        model = context.on_demand_model
        model_input = self._dialect.for_sdk(request.model_input)
        self._pace.take(request.tokens)
        for busy in range(_MOST_BUSY_ANSWERS):
            call = on_demand.intend(
                ledger,
                context.key,
                request.record_id,
                model,
                context.tier,
                self._provider.account,
                request.digest,
            )
            try:
                output = self._provider.answer(model, self._dialect.name, model_input)
            except RefusedAnswer as error:
                if error.code in _RETRY_LATER and busy + 1 < _MOST_BUSY_ANSWERS and not self._stop.is_set():
                    on_demand.unsent(ledger, call)
                    self._pace.back_off(busy)
                    continue
                self._settle_refusal(ledger, call, error)
                return
            except (TransientError, TerminalError):
                on_demand.unsent(ledger, call)
                raise
            except LostAnswer:
                # it may have been paid: the open intent says so, and a person decides
                return
            # the input is not kept: it may hold a whole file, and this process knows what it asked
            line = wrap(request.record_id, {}, output)
            entry = read(line)
            tokens: _Tokens = (None, None, 0, 0)
            if isinstance(entry, Answer):
                tokens = (
                    entry.input_tokens,
                    entry.output_tokens,
                    entry.cached_tokens,
                    entry.cache_written_tokens,
                )
            self._keep(call, line, tokens)
            with self._lock:
                self._answered += 1
            return

    def _settle_refusal(self, ledger: LedgerConnection, call: int, error: RefusedAnswer) -> None:
        """Hold the migration where the refusal says that every further call would be refused too."""
        context = self._context
        said = without_content(str(error))
        if error.code in _NOT_ABOUT_THE_DOCUMENT:
            on_demand.unsent(ledger, call)
            self._hold(ledger, f"an on-demand call was refused: {said}")
            return
        again = context.migration.limits.attempts if error.code in _RETRY_LATER else 0
        on_demand.refused(ledger, call, error.code, said, again)
        with self._lock:
            self._refused += not again
            hopeless = self._refused >= _MOST_REFUSALS and not self._answered
        if hopeless:
            self._hold(
                ledger, f"the first {self._refused} on-demand calls were refused, the last with: {said}"
            )

    def _hold(self, ledger: LedgerConnection, why: str) -> None:
        with self._lock:
            if self._may_send(ledger):
                migrations.hold(ledger, self._context.key, why)
        self._stop.set()

    def _keep(self, call: int, line: bytes, tokens: _Tokens) -> None:
        """Write a paid answer down, however often the database goes away meanwhile."""
        for attempt in range(_LEDGER_TRIES):
            try:
                on_demand.answered(self._ledger(), call, line, *tokens)
                return
            except (psycopg.OperationalError, TransientError):
                if attempt + 1 == _LEDGER_TRIES:
                    raise
                vars(self._local).pop("ledger", None)
                time.sleep(min(10.0, 0.2 * 2**attempt))
            except LedgerConflict:
                if attempt == 0:
                    raise
                return  # the write whose end was not seen had come through


def _results(ended: set[Future[None]]) -> int:
    for future in ended:
        future.result()
    return len(ended)


def _say(**what: object) -> None:
    try:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # nobody listens any more; the answers still under way are what matters
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115, PTH123


def _watch_parent(stop: threading.Event) -> None:
    """The parent holds our standard input open for as long as it lives."""
    while os.read(0, 1024):
        pass
    stop.set()


def main(key: str) -> int:
    stop = threading.Event()
    threading.Thread(target=_watch_parent, args=(stop,), daemon=True).start()
    try:
        with (
            open_context(Settings.from_environment(), key) as context,
            context.ledger.exclusive(f"calls of {key}"),
        ):
            for here in context.tiers:
                owed = on_demand.owed_calls(here.ledger, key, here.tier)
                if owed and not stop.is_set():
                    Courier(here, stop).run(owed)
    except BatchPipelineError as error:
        _say(error=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
