"""A model's text -> the one JSON object in it, or why there is none.

The rungs, each tried only where the one before found nothing:
1. the whole text, without BOM, blanks and a code fence;
2. objects standing in prose, each complete and valid on its own;
3. the same with comments and trailing commas taken out;
4. json-repair on the outer braces, only for an answer that ended by itself and whose braces close,
   and only where every letter and digit of it is kept, in order: repair must never complete half an
   answer, and never drop or make up a word.

Rules: two different objects are ambiguous, the same one twice is one. A list of one object is that
object. A key twice is ambiguous. NaN, Infinity, numbers beyond 2**53 and nesting deeper than 64 are
refused. A lone surrogate becomes U+FFFD and U+0000 goes, as PostgreSQL stores neither.
Size is checked before anything is read, and each rung's work is bounded.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import json_repair
import msgspec

from batch_pipeline.tasks.base import Failure
from batch_pipeline.tasks.cv.reasons import Reason

MAX_CHARACTERS: Final = 1_000_000
MAX_REPAIR_CHARACTERS: Final = 64_000
MAX_DEPTH: Final = 64
MAX_NUMBER: Final = 2**53
MAX_CANDIDATES: Final = 32

_DECODER: Final = msgspec.json.Decoder()
_FENCE: Final = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
# Each begins with a fixed byte, which the engine finds many times faster than a class of them.
_BLANK_COLONS: Final = (" :", "\t:", "\n:", "\r:")
_NUMBER_VALUE: Final = re.compile(rb'":-?[0-9]')
_NUMBER_FIRST: Final = re.compile(rb"\[-?[0-9]")
_NUMBER_LATER: Final = re.compile(rb",-?[0-9]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_NUL: Final = "\x00"
_BRACES: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]"]', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<letter>.))", re.DOTALL)
# Every alternative runs to the end of the text where it does not close, so that no token is tried
# twice: an answer of a hundred thousand quotes is still read once. Strings come first, so that what
# looks like a comment or a comma inside one stays.
_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|(?P<out>//[^\n]*|/\*.*?(?:\*/|\Z))', re.DOTALL)
_COMMA: Final = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|(?P<out>,)(?=\s*[}\]])', re.DOTALL)


class Refused(Exception):
    """Why no object can be read, with a reason of the closed list."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.failure = Failure(reason, detail)
        super().__init__(f"{reason}: {detail}")


def read_object(text: str, *, may_repair: bool) -> dict[str, Any]:
    """The one JSON object of an answer. Raises Refused; never anything else, for any text."""
    if len(text) > MAX_CHARACTERS:
        raise Refused("too_large", f"{len(text)} characters; at most {MAX_CHARACTERS}")
    body = text.strip().removeprefix("\ufeff").strip()
    if not body:
        raise Refused("empty", "no text")
    try:
        return _only_object(_strict(body))
    except ValueError:
        return _from_prose(body, may_repair=may_repair)
    except RecursionError:
        raise Refused("no_json", f"nested deeper than {MAX_DEPTH}") from None


def _from_prose(body: str, *, may_repair: bool) -> dict[str, Any]:
    body = _SURROGATE.sub("\ufffd", body)
    found = list(_objects(_unfenced(body)))
    if not found:
        plain = _without_trimmings(_unfenced(body))
        found = list(_objects(plain))
        if not found and may_repair:
            found = _repaired(plain)
    if not found:
        raise Refused("no_json", "no complete JSON object")
    if any(other != found[0] for other in found[1:]):
        raise Refused("ambiguous_json", f"{len(found)} JSON objects")
    return found[0]


def _unfenced(body: str) -> str:
    fences = _FENCE.findall(body) if "```" in body else []
    return fences[0] if len(fences) == 1 else body


def _only_object(value: Any) -> dict[str, Any]:
    if isinstance(value, list) and value and all(item == value[0] for item in value):
        value = value[0]
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        raise Refused("ambiguous_json", f"a list of {len(value)}")
    raise Refused("no_json", "JSON, but no object")


def _strict(body: str) -> Any:
    """Valid JSON within our bounds. Raises ValueError where it is no JSON, Refused out of bounds."""
    try:
        value = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeEncodeError):
        # json knows lone surrogates, which msgspec refuses; it also takes NaN, so it is told not to.
        return _exact(body)
    return value if _surely_legal(body, value) else _exact(body)


def _exact(body: str) -> Any:
    return _checked(json.loads(body, object_pairs_hook=_distinct, parse_constant=_no_constant))


def _surely_legal(body: str, value: Any) -> bool:
    """Whether text alone shows that no rule is broken; walking the value costs several times as much.

    Every key ends in `":` unless a blank stands between. Written again without its lost twins, a
    value with a key twice has fewer of them; inside strings both texts have the same ones, unless a
    quote is escaped by number.
    """
    again = msgspec.json.encode(value)
    ends = body.count('":')
    return (
        ends == again.count(b'":')
        and (ends == body.count(":") or not any(blank in body for blank in _BLANK_COLONS))
        and ("\\" not in body or "\\u00" not in body)
        and again.count(b"{") + again.count(b"[") <= MAX_DEPTH
        and _NUMBER_VALUE.search(again) is None
        and _NUMBER_FIRST.search(again) is None
        and _NUMBER_LATER.search(again) is None
    )


def _checked(value: Any) -> Any:
    """`value` without what a database cannot hold. Raises Refused for depth and numbers."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for item in level for inner in _inner(item)]
        if any(isinstance(item, int | float) and not abs(item) <= MAX_NUMBER for item in level):
            raise Refused("wrong_types", "a number beyond 2**53")
        if not level:
            return _cleaned(value)
    raise Refused("no_json", f"nested deeper than {MAX_DEPTH}")


def _inner(item: Any) -> Iterable[Any]:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) != len(pairs):
        raise Refused("ambiguous_json", "a key stands twice in one object")
    return held


def _no_constant(_: str) -> Any:
    raise Refused("wrong_types", "NaN or Infinity")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value).replace(_NUL, "")
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(inner) for key, inner in value.items()}
    return value


def _objects(body: str) -> Iterator[dict[str, Any]]:
    """Every complete object of the text that is not inside another one.

    Braces that hold no JSON are passed over as a whole: an object inside a broken one is a part of
    an answer, and a part is never taken for the whole. Raises Refused where braces do not close.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_no_constant)
    at = body.find("{")
    for _ in range(MAX_CANDIDATES):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(body, at)
        except ValueError:
            end = _closed_at(body, at)
        except RecursionError:
            raise Refused("no_json", f"nested deeper than {MAX_DEPTH}") from None
        else:
            yield _checked(value)
        at = body.find("{", end)
    if at >= 0:
        raise Refused("ambiguous_json", f"more than {MAX_CANDIDATES} pairs of braces")


def _without_trimmings(body: str) -> str:
    """Without comments and trailing commas."""
    for pattern in (_COMMENT, _COMMA):
        body = pattern.sub(lambda token: "" if token.lastgroup else token.group(), body)
    return body


def _repaired(body: str) -> list[dict[str, Any]]:
    start = body.find("{")
    if start < 0:
        return []
    end = _closed_at(body, start)
    if end - start > MAX_REPAIR_CHARACTERS or "{" in body[end:]:
        return []
    try:
        value = json_repair.loads(body[start:end], skip_json_loads=True)
    except (ValueError, RecursionError, TypeError, IndexError, KeyError, AttributeError):
        return []  # a text no repair was written for is a text without an object
    if not isinstance(value, dict) or not value:
        return []
    if _words(json.dumps(value, ensure_ascii=False)) != _words(body[start:end]):
        raise Refused("no_json", "cannot be repaired without losing or adding a word")
    return [_checked(value)]


def _words(text: str) -> str:
    """Every letter and digit of JSON text in order: repair may move punctuation and nothing else."""
    return "".join(filter(str.isalnum, _ESCAPE.sub(_meant, text)))


def _meant(escape: re.Match[str]) -> str:
    if escape["code"]:
        return chr(int(escape["code"], 16))
    return "" if escape["letter"] in "bfnrt" else escape["letter"]


def _closed_at(body: str, start: int) -> int:
    """Where the braces that open at `start` have all closed. Raises Refused where they do not: the
    answer may have been cut, and nothing may be made of it."""
    depth = 0
    for token in _BRACES.finditer(body, start):
        mark = token.group()
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
        elif mark == '"':
            break
    raise Refused("no_json", "braces or quotes that never close")
