"""An answer becomes a CV both published schemas accept, or one reason of the closed list."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_pipeline.tasks.base import Failure, Parsed, Stop
from batch_pipeline.tasks.cv.parser import CvTask, parse
from batch_pipeline.tasks.cv.prompt import KINDS, PROMPT, REDACTED_PROMPT
from batch_pipeline.tasks.cv.reasons import REASONS
from batch_pipeline_tests.tasks.schemas import complaints, expected_cvs, validators

STOPS: tuple[Stop, ...] = get_args(Stop)


def parsed(data: Any, stop: Stop = "end") -> tuple[dict[str, Any], dict[str, Any]]:
    found = parse(data if isinstance(data, str) else json.dumps(data), stop)
    assert isinstance(found, Parsed), found
    assert complaints(found.document, validators()) == []
    return json.loads(found.document), json.loads(found.extra) if found.extra else {}


def failed(data: Any, stop: Stop = "end") -> Failure:
    found = parse(data if isinstance(data, str) else json.dumps(data), stop)
    assert isinstance(found, Failure), found
    assert found.reason in REASONS
    return found


@pytest.mark.parametrize("path", list(expected_cvs()), ids=lambda path: path.name)
def test_known_cvs_pass_both_schemas_and_lose_nothing(path: Path) -> None:
    data = json.loads(path.read_text())
    document, extra = parsed(data)
    aside = extra.get("set_aside", {})
    assert without_nothing(document) == without_nothing(remove(data, aside))


def remove(data: Any, aside: dict[str, Any]) -> Any:
    for path in aside:
        *way, last = path.split(".")
        at = data
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at[step]
        del at[last]
    return data


def without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nothing(inner) for key, inner in value.items() if inner not in (None, "")}
    if isinstance(value, list):
        return [without_nothing(item) for item in value if item not in (None, "")]
    return value


def test_a_current_job_has_no_end_date() -> None:
    for held in ("", None, "Present", "present ", "heute", "Atual"):
        document, extra = parsed({"work": [{"name": "A", "startDate": "2020", "endDate": held}]})
        assert document == {"work": [{"name": "A", "startDate": "2020"}]}
        assert extra == {}


@pytest.mark.parametrize(
    "date", ["2019-13", "2019-02-30", "2023-19-39", "05/2019", "Sommer 2019", "0999", "2019-2"]
)
def test_a_date_that_does_not_exist_is_kept_beside_the_resume(date: str) -> None:
    document, extra = parsed({"work": [{"name": "A", "startDate": date}]})
    assert document == {"work": [{"name": "A"}]}
    assert extra == {"set_aside": {"work.0.startDate": date}}


@pytest.mark.parametrize("date", ["2019", "2019-12", "2020-02-29", "1969-01-31"])
def test_a_real_partial_date_stays(date: str) -> None:
    assert parsed({"education": [{"area": "A", "endDate": date}]})[0]["education"][0]["endDate"] == date


def test_a_partial_certificate_date_satisfies_both_schemas() -> None:
    document, extra = parsed(
        {"certificates": [{"name": "A", "date": "2022-05"}, {"name": "B", "date": "2022-05-01"}]}
    )
    assert document == {"certificates": [{"name": "A"}, {"name": "B", "date": "2022-05-01"}]}
    assert extra == {"set_aside": {"certificates.0.date": "2022-05"}}


def test_a_wrong_address_costs_one_field_and_not_the_cv() -> None:
    document, extra = parsed(
        {
            "basics": {
                "name": "A",
                "email": "a at b",
                "url": "www.b.org",
                "location": {"countryCode": "Brasil"},
            }
        }
    )
    assert document == {"basics": {"name": "A", "location": {}}}
    assert extra["set_aside"] == {
        "basics.email": "a at b",
        "basics.url": "www.b.org",
        "basics.location.countryCode": "Brasil",
    }


def test_harmless_differences_are_mended() -> None:
    document, _ = parsed(
        {
            "basics": {"name": "A", "label": None, "phone": 4922100, "location": {"countryCode": "de"}},
            "education": [{"institution": "T", "score": 1.3, "endDate": 2011, "courses": "Netze"}],
            "skills": ["SQL", {"name": "Python", "keywords": ["x", None, ""]}],
            "languages": ["Deutsch"],
            "work": None,
        }
    )
    assert document == {
        "basics": {"name": "A", "phone": "4922100", "location": {"countryCode": "DE"}},
        "education": [{"institution": "T", "score": "1.3", "endDate": "2011", "courses": ["Netze"]}],
        "skills": [{"name": "SQL"}, {"name": "Python", "keywords": ["x"]}],
        "languages": [{"language": "Deutsch"}],
    }


def test_unknown_top_level_keys_move_to_extra_and_overwrite_nothing() -> None:
    document, extra = parsed(
        {
            "basics": {"name": "A"},
            "nationality": "pt",
            "hobby": "x",
            "extra": {"nationality": "br", "birthDate": "1980", "noticePeriod": None},
        }
    )
    assert document == {"basics": {"name": "A"}}
    assert extra == {
        "nationality": "br",
        "birthDate": "1980",
        "hobby": "x",
        "set_aside": {"nationality": "pt"},
    }


@pytest.mark.parametrize(
    "data",
    [
        {"basics": []},
        {"basics": "Anna"},
        {"work": {"name": "A"}},
        {"work": ["A"]},
        {"work": [{"name": ["A"]}]},
        {"work": [{"name": True}]},
        {"work": [{"startDate": {"year": 2019}}]},
        {"work": [{"highlights": [{"text": "x"}]}]},
        {"education": [{"courses": {"a": 1}}]},
        {"basics": {"name": "A"}, "extra": ["x"]},
        {"basics": {"name": "A", "profiles": ["https://x.org"]}},
    ],
)
def test_wrong_types_fail_and_say_where_without_a_word_of_the_cv(data: Any) -> None:
    found = failed(data)
    assert found.reason == "wrong_types"
    assert found.detail
    assert "Anna" not in found.detail


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("truncated", "truncated"),
        ("refused", "refused"),
        ("filtered", "filtered"),
        ("malformed", "provider_error"),
    ],
)
def test_a_bad_stop_fails_even_where_the_text_is_whole(stop: Stop, reason: str) -> None:
    """F37."""
    assert failed({"basics": {"name": "A"}}, stop).reason == reason


@pytest.mark.parametrize("stop", ["end", "tool_use", "unknown"])
def test_a_whole_answer_counts_whatever_the_provider_calls_its_end(stop: Stop) -> None:
    assert parsed({"basics": {"name": "A"}}, stop)[0] == {"basics": {"name": "A"}}


@pytest.mark.parametrize(
    "data",
    [{}, {"basics": {}}, {"basics": {"name": ""}}, {"work": []}, {"work": [{}]}, {"meta": {"version": "1"}},
     {"extra": {"birthDate": "1980"}}, {"basics": {"profiles": [{"url": None}]}}],
)  # fmt: skip
def test_an_object_that_says_nothing_is_empty(data: Any) -> None:
    assert failed(data).reason == "empty"


@pytest.mark.parametrize(
    "data",
    [
        {"basics": {"name": "John Doe", "email": "john@example.com"}},
        {"basics": {"name": "Jane Doe"}},
        {"basics": {"name": "Max Mustermann", "email": "max@example.com"}, "work": []},
        {"basics": {"name": "string", "email": "string"}, "work": [{"startDate": "YYYY-MM"}]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {}},
        {"properties": {"basics": {"type": "object"}}},
    ],
)
def test_placeholders_and_echoes_are_invented(data: Any) -> None:
    assert failed(data).reason == "invented"


def test_the_prompt_handed_back_is_invented() -> None:
    assert failed(PROMPT + '{"basics": {"name": "A"}}').reason in ("invented", "ambiguous_json")


def test_people_who_are_called_john_doe_exist() -> None:
    data = {"basics": {"name": "John Doe", "email": "john@example.com"}, "work": [{"name": "Acme"}]}
    assert parsed(data)[0] == data


def test_a_document_that_is_no_cv_says_so() -> None:
    for kind in KINDS:
        assert failed({"not_a_cv": kind}) == Failure("not_a_cv", kind)
    assert failed({"not_a_cv": "a letter by Anna Berg"}) == Failure("not_a_cv", "other")
    assert failed({"unreadable": True}) == Failure("unreadable")


def test_a_verdict_beside_a_cv_is_ambiguous() -> None:
    assert failed({"not_a_cv": "photo", "basics": {"name": "A"}}).reason == "ambiguous_json"
    assert failed({"not_a_cv": "photo", "unreadable": True}).reason == "ambiguous_json"
    assert parsed({"not_a_cv": None, "unreadable": False, "basics": {"name": "A"}})[1] == {}


def test_the_prompt_shows_nobody_and_its_version_follows_its_words() -> None:
    assert "@" not in PROMPT
    assert "Doe" not in PROMPT
    assert all(kind in PROMPT for kind in KINDS)
    assert len(CvTask().version) == 16


def test_the_prompt_tells_of_placeholders_only_where_there_are_some() -> None:
    assert "[EMAIL_1]" not in PROMPT
    assert REDACTED_PROMPT.startswith(PROMPT)
    assert REDACTED_PROMPT.count("[EMAIL_1]") == 1


@given(st.text(max_size=200), st.sampled_from(STOPS))
def test_any_text_is_read_or_refused(text: str, stop: Stop) -> None:
    found = parse(text, stop)
    assert isinstance(found, Parsed) or found.reason in REASONS


_SOME = st.sampled_from(
    ["A", "", "2019", "2019-02-31", "Present", "https://a.org", "a@b.org", "DE", "\x00", "x\u2028"]
)
_VALUE = st.recursive(
    _SOME | st.none() | st.integers(0, 3000) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["name", "url", "email", "startDate", "endDate", "date", "location", "countryCode", "profiles",
             "highlights", "keywords", "score", "language", "courses", "hobby", "releaseDate", "summary"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=10,
)  # fmt: skip
_TOP = st.sampled_from(
    ["basics", "work", "education", "certificates", "skills", "languages", "publications", "projects", "meta",
     "$schema", "extra", "hobby", "not_a_cv", "unreadable", "set_aside", "interests", "volunteer", "awards"]
)  # fmt: skip


@given(st.dictionaries(_TOP, _VALUE, max_size=5))
@settings(max_examples=1_500)
def test_whatever_is_parsed_satisfies_both_schemas_and_can_be_stored(data: dict[str, Any]) -> None:
    found = parse(json.dumps(data), "end")
    if isinstance(found, Parsed):
        assert complaints(found.document, validators()) == []
        assert "\\u0000" not in found.document + (found.extra or "")
        again = parse(found.document, "end")
        assert isinstance(again, Parsed)
        assert json.loads(again.document) == json.loads(found.document)
