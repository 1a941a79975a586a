"""Mutated answers, by the million: no crash, no hang, nothing accepted that a schema refuses.

    python -m batch_pipeline_tests.tasks.fuzz_answers --count 1000000 [--seed 1] [--judge 50]

Every answer is read with every stop reason's rules. One in `--judge` accepted CVs also goes before
both published schemas, which cost a thousand times what reading costs.
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, get_args

from batch_pipeline.tasks.base import Parsed, Stop
from batch_pipeline.tasks.cv.parser import parse
from batch_pipeline.tasks.cv.reasons import REASONS
from batch_pipeline_tests.tasks.schemas import complaints, expected_cvs, validators

SLOW_SECONDS = 2.0
STOPS: tuple[Stop, ...] = get_args(Stop)
SNIPPETS = [
    '"', "{", "}", "[", "]", ",", ":", "\\", "null", "NaN", "1e999", '""', "\u2028", "\x00", "\\u0000",
    "\\ud800", "```json\n", "```", "// x\n", "/* x */", "<document>", '{"not_a_cv":"photo"}', "Present",
    '"endDate":"",', '"2019-02-30"', "[" * 70, '{"a":' * 70, '{"basics":{"name":"B"}}', "I hope this helps.",
    "true", "-", "9" * 400, "\ufeff", "'", "\u202e", "\ud83d",
]  # fmt: skip

Mutation = Callable[[random.Random, str], str]


def _cut(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _drop(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randrange(1, 20) :]


def _insert(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(SNIPPETS) + text[at:]


def _repeat(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at : at + rng.randrange(60)] * 2 + text[at:]


def _swap(rng: random.Random, text: str) -> str:
    old, new = rng.choice('{}[]",:'), rng.choice(SNIPPETS)
    parts = text.split(old)
    at = rng.randrange(len(parts))
    return old.join(parts[:at]) + (new if at else "") + old.join(parts[at:])


def _wrap(rng: random.Random, text: str) -> str:
    return rng.choice(["```json\n%s\n```", "Here: %s", "[%s]", "%s %s", "{%s}"]).replace("%s", text)


MUTATIONS: list[Mutation] = [_cut, _drop, _insert, _insert, _repeat, _swap, _wrap]


def seeds() -> list[str]:
    texts = [path.read_text() for path in expected_cvs()]
    small = [json.dumps(json.loads(text), ensure_ascii=False)[:4_000] for text in texts]
    return [*small, *texts[:3], '{"not_a_cv":"photo"}', '{"unreadable":true}', ""]


def check(text: str, stop: Stop, judges: list[Any] | None) -> str:
    """The outcome's name. Raises AssertionError where a promise is broken."""
    started = time.process_time()
    found = parse(text, stop)
    assert time.process_time() - started < SLOW_SECONDS, "slow"
    if not isinstance(found, Parsed):
        assert found.reason in REASONS, found.reason
        return found.reason
    assert stop in ("end", "tool_use", "unknown"), f"accepted a {stop} answer"
    document = found.document.encode()  # no lone surrogate
    assert b"\\u0000" not in document, "U+0000"
    again = parse(found.document, "end")
    assert isinstance(again, Parsed), again
    assert again.document == found.document, "not stable"
    assert judges is None or complaints(found.document, judges) == [], "refused by a schema"
    return "parsed"


def fuzz(count: int, seed: int, judge: int) -> Counter[str]:
    rng = random.Random(seed)
    texts = seeds()
    judges = validators()
    outcomes: Counter[str] = Counter()
    for _ in range(count):
        text = rng.choice(texts)
        for _ in range(rng.randrange(1, 4)):
            text = rng.choice(MUTATIONS)(rng, text)
        stop: Stop = "end" if rng.random() < 0.8 else rng.choice(STOPS)
        try:
            outcomes[check(text, stop, judges if rng.randrange(judge) == 0 else None)] += 1
        except Exception:
            print(f"stop {stop!r}, answer {text!r}")
            raise
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--judge", type=int, default=50)
    arguments = parser.parse_args()
    for name, number in fuzz(arguments.count, arguments.seed, arguments.judge).most_common():
        print(f"{number:>9}  {name}")


if __name__ == "__main__":
    main()
