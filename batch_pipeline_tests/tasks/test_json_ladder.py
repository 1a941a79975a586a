"""JSON out of a model's text: what is there is found, what is not is not made up, nothing hangs."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_pipeline.tasks.cv.json_ladder import MAX_CHARACTERS, Refused, read_object

CV = '{"basics": {"name": "Zoë", "summary": "a \\"b\\": {c} // d, ]"}}'
READ = json.loads(CV)


def reason(text: str, *, may_repair: bool = True) -> str:
    with pytest.raises(Refused) as raised:
        read_object(text, may_repair=may_repair)
    return raised.value.failure.reason


@pytest.mark.parametrize(
    "text",
    [
        CV,
        f"\ufeff \n{CV}\n ",
        f"```json\n{CV}\n```",
        f"```\n{CV}```",
        f"Here is the CV:\n```json\n{CV}\n```\nAnything else?",
        f"Sure! {CV} I hope this helps.",
        f"{{a: b}} is none, {{c: [{{}}]}} neither: {CV}",
        f"The {{JSON}} you asked for: {CV}",
        f"[{CV}]",
        f"{CV}\n{CV}",
        CV.replace('"}}', '",},}'),
        CV.replace('{"basics"', '{ // the person\n /* of the "CV" */ "basics"'),
        CV.replace('"summary": ', '\n"summary" :\t').replace('s": {', 's"\n:\r\n{'),
    ],
)
def test_the_object_is_found_without_repair(text: str) -> None:
    assert read_object(text, may_repair=False) == READ


def test_a_missing_comma_is_repaired_only_where_the_model_ended_by_itself() -> None:
    text = '{"basics": {"name": "A" "label": "B"}}'
    assert read_object(text, may_repair=True) == {"basics": {"name": "A", "label": "B"}}
    assert reason(text, may_repair=False) == "no_json"


@pytest.mark.parametrize(
    "text",
    [
        '{"skills": [{"name"NaN "SQL"}]}',
        '{"a": 1, "a": 2 "b": 3}',
        '{"a": "x" "y"}',
        '{"a": , "b": "c"}}',
    ],
)
def test_a_repair_never_drops_or_adds_a_word(text: str) -> None:
    words = [word for word in ("SQL", "name", "x", "y", "1", "2", "3", "c") if word in text]
    try:
        found = json.dumps(read_object(text, may_repair=True))
    except Refused as refused:
        assert refused.failure.reason in ("no_json", "ambiguous_json")
    else:
        assert all(word in found for word in words)


@pytest.mark.parametrize("end", range(5, len(CV)))
def test_half_an_answer_is_never_completed(end: int) -> None:
    assert reason(CV[:end]) == "no_json"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" \ufeff\n", "empty"),
        ("I cannot read this.", "no_json"),
        ("[]", "no_json"),
        ("null", "no_json"),
        ('"text"', "no_json"),
        ('{"a": 1} {"a": 2}', "ambiguous_json"),
        ('[{"a": 1}, {"a": 2}]', "ambiguous_json"),
        ('{"a": 1, "a": 2}', "ambiguous_json"),
        ('{"a" : 1, "a":2}', "ambiguous_json"),
        ('{"a":"\\u0022:","b":1,"b":1}', "ambiguous_json"),
        ('{"a": {"b": 1, "b": 1}}', "ambiguous_json"),
        ('{"a": 1, "\\u0061": 2}', "ambiguous_json"),
        ('prose {"a": 1, "a": 2}', "ambiguous_json"),
        ("{a} " * 33 + CV, "ambiguous_json"),
        (CV + ' {"basics": {"na', "no_json"),
        ('{"work": [{"basics": {"name": "A"}}, {"x": }', "no_json"),
        ('{"a": NaN}', "wrong_types"),
        ('{"a": -Infinity}', "wrong_types"),
        ('{"a": 1e999}', "wrong_types"),
        ('{"a": 1e300}', "wrong_types"),
        ('{"a": ["x", 9007199254740993]}', "wrong_types"),
        ('{"a": ' + "9" * 100 + "}", "wrong_types"),
        ('{"a": ' + "[" * 65 + "]" * 65 + "}", "no_json"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "no_json"),
        ("x" * (MAX_CHARACTERS + 1), "too_large"),
    ],
)
def test_what_cannot_be_read_without_guessing_is_refused(text: str, why: str) -> None:
    assert reason(text) == why


def test_fifty_megabytes_are_refused_before_they_are_read() -> None:
    started = time.process_time()
    assert reason('{"a": "' + "x" * 50_000_000 + '"}') == "too_large"
    assert time.process_time() - started < 0.5


def test_what_postgresql_cannot_hold_is_replaced() -> None:
    text = '{"a\\u0000": "x\\ud800y\\u0000z \\ud83d\\ude00"}'
    assert read_object(text, may_repair=False) == {"a": "x\ufffdyz \U0001f600"}
    assert read_object('{"a": "\ud800"}', may_repair=False) == {"a": "\ufffd"}
    assert read_object('{"a": "x\\u0000y", "b": "\\\\u0000"}', may_repair=False) == {
        "a": "xy",
        "b": "\\u0000",
    }


def test_sixty_four_levels_are_read() -> None:
    text = '{"a":' * 63 + "[]" + "}" * 63
    assert read_object(text, may_repair=False) == json.loads(text)


HOSTILE = {
    "quotes": '"' * 400_000,
    "escaped quotes": '\\"' * 400_000,
    "open braces": "{" * 900_000,
    "braces and quotes": '{"' * 400_000,
    "open comments": "{" + "/*" * 400_000,
    "commas and comments": "{" + ", /*" * 200_000,
    "commas and blanks": "{" + ", " * 400_000,
    "blanks": "{" + " " * 900_000,
    "fences": "```\n" * 200_000,
    "fence and blanks": "```\n" + " " * 900_000,
    "keys without end": '{"a":' * 180_000,
    "keys and blanks": '{"a"' + " " * 900_000,
    "objects": "{}" * 400_000,
    "brackets": "{" + "[" * 900_000,
    "repair: brackets": "{" + "[" * 30_000 + "]" * 30_000 + "}",
    "repair: bare words": "{" + "a " * 30_000 + "}",
    "repair: colons": "{" + ":" * 60_000 + "}",
    "repair: open strings": "{" + '"a" ' * 15_000 + "}",
    "repair: pairs without commas": "{" + '"a":"b" ' * 7_000 + "}",
    "repair: single quotes": "{" + "'a':'b'," * 7_000 + "}",
    "repair: braces": "{" + "{}" * 30_000 + "}",
    "repair: quotes in strings": '{"a":"' + '"b" ' * 15_000 + '"}',
    "repair: escapes": '{"a":"' + "\\x" * 30_000 + '" "b":1}',
    "repair: commas": "{" + "," * 60_000 + "}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_more_than_a_few_seconds(name: str) -> None:
    started = time.process_time()
    with suppress(Refused):
        read_object(HOSTILE[name], may_repair=True)
    assert time.process_time() - started < 5


@given(st.text(st.sampled_from('{}[]",:\\/* \n\tau01e-"`\ud800\x00'), max_size=120), st.booleans())
@settings(max_examples=1_000)
def test_any_text_gives_an_object_or_a_reason(text: str, may_repair: bool) -> None:
    try:
        found = read_object(text, may_repair=may_repair)
    except Refused:
        return
    json.dumps(found, allow_nan=False).encode()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def storable(value: object) -> object:
    return json.loads(json.dumps(value).replace("\\\\", "\0").replace("\\u0000", "").replace("\0", "\\\\"))


@given(
    st.dictionaries(st.text(max_size=5), _JSON, min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([None, 2]),
)
@settings(max_examples=500)
def test_valid_json_reads_as_itself(value: dict[str, object], ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    text.encode("utf-8", "surrogatepass")
    assert read_object(text, may_repair=False) == storable(value)
