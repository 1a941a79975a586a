"""The engines on their own: the CV reader against the shared CVs, the OpenAI one against a real server."""

import csv
import json
import time
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pypdfium2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_pipeline.local.emulator.engines.contract import Attachment, EngineError, PromptRequest
from batch_pipeline.local.emulator.engines.fixed import FixedEngine
from batch_pipeline.local.emulator.engines.openai import OpenAIEngine
from batch_pipeline.local.emulator.engines.reader.dates import find_period
from batch_pipeline.local.emulator.engines.reader.engine import ReaderEngine, document_in, read_to_json
from batch_pipeline_tests.local.emulator.model_server import Model

CVS = Path(__file__).resolve().parents[4] / "shared" / "data" / "cvs"
needs_cvs = pytest.mark.skipif(not CVS.exists(), reason="the shared CV collection is not beside the checkout")

CV = """Ada Byron
Data Engineer
London | +44 20 7946 0018 | ada.byron@example.com | linkedin.com/in/adabyron

Profile
Engineer of engines.

Work experience
Data Engineer, Analytical Engines Ltd
London | 2020-03 – Present
- Wrote the first program MARKER-42
Clerk, Difference GmbH
Bath | Jan 2018 - Feb 2020
- Kept tables ABC-0F12AB34

Education
2010 – 2013 BSc, Mathematics, University of London

Skills
Languages: Python, SQL

Languages
English (Native speaker); French (B1)
"""


def read(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(read_to_json(text))
    return answer


def plain(text: str | None) -> str:
    return " ".join(unicodedata.normalize("NFC", text or "").casefold().split())


def layer(path: Path) -> str:
    document = pypdfium2.PdfDocument(path)
    return "\n".join(page.get_textpage().get_text_bounded() for page in document)


def test_a_cv_becomes_json_resume() -> None:
    resume = read(CV)
    assert resume["basics"] == {
        "name": "Ada Byron",
        "label": "Data Engineer",
        "summary": "Engineer of engines.",
        "email": "ada.byron@example.com",
        "phone": "+44 20 7946 0018",
        "location": {"city": "London"},
        "profiles": [
            {"network": "LinkedIn", "username": "adabyron", "url": "https://linkedin.com/in/adabyron"}
        ],
    }
    assert resume["work"][0] == {
        "name": "Analytical Engines Ltd",
        "position": "Data Engineer",
        "location": "London",
        "startDate": "2020-03",
        "highlights": ["Wrote the first program MARKER-42"],
    }
    assert (resume["work"][1]["startDate"], resume["work"][1]["endDate"]) == ("2018-01", "2020-02")
    assert resume["education"][0]["institution"] == "University of London"
    assert resume["languages"][1] == {"language": "French", "fluency": "B1"}


@pytest.mark.parametrize(
    ("line", "start", "end", "current"),
    [
        ("2020-03 – Present", "2020-03", None, True),
        ("03/2020 - heute", "2020-03", None, True),
        ("mars 2019 – aujourd'hui", "2019-03", None, True),
        ("2019 à ce jour", "2019", None, True),
        ("enero de 2020 – actualidad", "2020-01", None, True),
        ("fev 2020 - atual", "2020-02", None, True),
        ("maggio 2018 – oggi", "2018-05", None, True),
        ("maart 2018 – heden", "2018-03", None, True),
        ("Ocak 2018 – halen", "2018-01", None, True),
        ("2020-02 – حتى الآن", "2020-02", None, True),
        ("2019年7月 – 至今", "2019-07", None, True),
        ("Sept 2018 – May 2023", "2018-09", "2023-05", False),
        ("01.04.2018 bis 30.06.2019", "2018-04", "2019-06", False),
        ("Dezember 2011 bis März 2012", "2011-12", "2012-03", False),
        ("seit 2018", "2018", None, True),
    ],
)
def test_periods_of_every_language(line: str, start: str, end: str | None, current: bool) -> None:
    period = find_period(f"Engineer {line}")
    assert period is not None
    assert (period.start, period.end, period.current) == (start, end, current)


def test_nothing_is_invented() -> None:
    assert read("Ada Byron\nEngineer\n") == {"basics": {"name": "Ada Byron", "label": "Engineer"}}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Dear hiring team,\nI am writing to apply for the role.\nYours faithfully, Ada", "letter"),
        ("Sehr geehrte Frau X,\nich bewerbe mich.\nMit freundlichen Grüßen", "letter"),
        ("Invoice 17\nTotal 100 EUR\nVAT 19", "invoice"),
        ("ACME\nPayslip March 2024\nGross 4,120.00 Net 3,041.11", "payslip"),
        ("Engineer\nWe are looking for one.\nRequirements:\n- x\nBenefits:\n- y", "job_description"),
    ],
)
def test_what_is_no_cv_is_named(text: str, kind: str) -> None:
    assert read(text) == {"not_a_cv": kind}


def test_the_document_is_taken_from_between_its_tags() -> None:
    prompt = f"Read the CV between <document> and </document>.\n<document>\n{CV}\n</document>\nAnswer JSON."
    assert document_in(prompt).strip() == CV.strip()
    assert document_in("no tags") == "no tags"


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            [
                *CV.split("\n"),
                "Skills",
                "Projects",
                "- item 2019",
                "2019 – 2020",
                "| |",
                "\u2028 x",
                "(((",
                "至今",
                "MARKER-9_z",
            ]
        )
        | st.text(max_size=60),
        max_size=40,
    ),
    st.from_regex(r"[A-Z]{2,5}-[0-9A-F]{6,10}", fullmatch=True),
    st.integers(0, 40),
)
def test_no_marker_is_ever_lost(lines: list[str], marker: str, place: int) -> None:
    text = "\n".join([*lines[:place], f"did {marker} well", *lines[place:]])
    answer = read(text)
    assert "not_a_cv" in answer or marker in json.dumps(answer)


@needs_cvs
def test_the_reader_finds_what_the_shared_cvs_say() -> None:
    schema = json.loads((CVS / "jsonresume" / "schema.json").read_text())
    found: Counter[str] = Counter()
    expected_count: Counter[str] = Counter()
    with (CVS / "index.csv").open() as rows:
        wanted = [
            row
            for row in csv.DictReader(rows)
            if row["magic"] == "pdf" and row["expected"].endswith(".json") and int(row["text_chars"] or 0)
        ]
    for row in wanted:
        expected = json.loads((CVS / row["expected"]).read_text())
        got = read(layer(CVS / row["path"]))
        jsonschema.validate(got, schema)
        for field in ("name", "email", "phone"):
            expected_count[field] += 1
            found[field] += plain(got["basics"].get(field)) == plain(expected["basics"][field])
        for section, field, label in (
            ("work", "name", "company"),
            ("education", "institution", "institution"),
        ):
            names = {plain(item.get(field)) for item in got.get(section, [])}
            for item in expected[section]:
                expected_count[label] += 1
                found[label] += plain(item[field]) in names
        for mine in got["work"]:
            assert mine.get("endDate") is not None or mine.get("startDate") in {
                item["startDate"] for item in expected["work"] if "endDate" not in item
            }
    shares = {name: found[name] / expected_count[name] for name in expected_count}
    print({name: f"{found[name]}/{expected_count[name]}" for name in expected_count})
    assert len(wanted) >= 15
    assert min(shares["name"], shares["email"], shares["phone"]) >= 0.95
    assert min(shares["company"], shares["institution"]) >= 0.9


@needs_cvs
def test_the_shared_non_cvs_are_told_apart() -> None:
    for path, kind in (
        ("synthetic/cover_letter_en.pdf", "letter"),
        ("synthetic/payslip_en.pdf", "payslip"),
        ("skillora/senior_software_engineer_jd.pdf", "job_description"),
    ):
        assert read(layer(CVS / path)) == {"not_a_cv": kind}


def test_the_reader_is_fast() -> None:
    text = CV + "\n".join(f"- did a thing of some length number {n} for the company" for n in range(20))
    begin = time.process_time()
    for _ in range(200):
        read_to_json(text)
    assert 200 / (time.process_time() - begin) > 500, "measured 2,000 to 3,000 a second on a quiet core"


def test_unreadable_blocks_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    engine = ReaderEngine()
    for attachment in (
        Attachment("image", "png", b"\x89PNG"),
        Attachment("document", "pdf", b"%PDF-broken"),
        Attachment("document", "pdf", None),
        Attachment("document", "docx", b"PK"),
    ):
        request = PromptRequest("m", "", "Read this.", (attachment,))
        assert engine.answer(request).text == '{"unreadable":true}'


def test_the_fixed_engine_names_its_question() -> None:
    engine = FixedEngine()
    one, two = (engine.answer(PromptRequest("m", "", text)).text for text in ("a", "b"))
    assert one != two and "DIGEST-" in one


def test_the_openai_engine_asks_and_counts(model_server: str) -> None:
    engine = OpenAIEngine(model_server, "small")
    request = PromptRequest("m", "be exact", "text", max_tokens=9, temperature=0.0, schema={"type": "object"})
    answer = engine.answer(request)
    assert (answer.text, answer.stop_reason) == ('{"basics":{}}', "max_tokens")
    assert (answer.input_tokens, answer.output_tokens) == (11, 5)
    asked = Model.asked[0]
    assert asked["messages"] == [
        {"role": "system", "content": "be exact"},
        {"role": "user", "content": "text"},
    ]
    assert (asked["model"], asked["max_tokens"], asked["temperature"]) == ("small", 9, 0.0)
    assert asked["response_format"]["json_schema"]["schema"] == {"type": "object"}
    engine.answer(PromptRequest("m", "", "see", (Attachment("image", "png", b"x"),)))
    assert Model.asked[1]["messages"][0]["content"][1]["image_url"]["url"] == "data:image/png;base64,eA=="


@pytest.mark.parametrize(("status", "code"), [(429, 429), (500, 503), (404, 424)])
def test_errors_of_the_model_server_become_record_errors(model_server: str, status: int, code: int) -> None:
    Model.status = status
    with pytest.raises(EngineError) as caught:
        OpenAIEngine(model_server, "small").answer(PromptRequest("m", "", "text"))
    assert caught.value.code == code


def test_an_absent_model_server_is_a_retryable_error() -> None:
    with pytest.raises(EngineError) as caught:
        OpenAIEngine("http://127.0.0.1:9", "small").answer(PromptRequest("m", "", "text"))
    assert (caught.value.code, caught.value.retryable) == (503, True)
