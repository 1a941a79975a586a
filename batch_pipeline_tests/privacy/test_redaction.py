"""What is found is taken out, what was taken out comes back, and nothing can be confused."""

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_pipeline.local.sample.cv_text import Person, cv_lines, invent_person
from batch_pipeline.privacy.known import Known
from batch_pipeline.privacy.placeholders import KINDS, LOOKS_LIKE_ONE
from batch_pipeline.privacy.redaction import Redacted, redact
from batch_pipeline.privacy.restoration import UnknownPlaceholder, restore, restore_json

NOBODY = Known()
PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *(
                "[",
                "]",
                "_",
                "1",
                " ",
                "\n",
                "/",
                "@",
                "NAME",
                "[EMAIL_",
                "[EMAIL_1]",
                "[ name-2 ]",
                "PHONE_3",
            ),
            *(
                "[URL]",
                "【TEXT_1】",
                "[text_1]",
                "ana@example.com",
                "+55 11 91234-5678",
                "www.ana.dev",
                "Ana Sá",
            ),
            *("529.982.247-25", "DE89 3704 0044 0532 0130 00", "ANA", "2019 - 2021", "王伟", '"', "\\"),
        ]
    ),
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)
PEOPLE = st.builds(Known, st.lists(st.sampled_from(["Ana Sá", "ana", "王伟", "1"])).map(tuple))


def everything(text: str, known: Known = NOBODY) -> Redacted:
    return redact(text, KINDS, known)


@settings(max_examples=600)
@given(TEXTS, PEOPLE, st.sets(st.sampled_from(KINDS)))
def test_whatever_is_taken_out_comes_back(text: str, known: Known, kinds: set[Any]) -> None:
    redacted = redact(text, kinds, known)
    assert restore(redacted.text, redacted.originals) == text
    assert redact(text, kinds, known) == redacted
    assert {found[0] for found in LOOKS_LIKE_ONE.finditer(redacted.text)} == redacted.originals.keys()


@settings(max_examples=200)
@given(TEXTS, PEOPLE)
def test_an_answer_that_copies_a_text_is_the_answer_to_the_text_itself(text: str, known: Known) -> None:
    redacted = everything(text, known)
    answer = json.dumps({"summary": redacted.text}, ensure_ascii=False)
    assert json.loads(restore_json(answer, redacted.originals)) == {"summary": text}


def text_of(person: Person, rng: random.Random) -> str:
    return "\n".join(line.text for line in cv_lines(rng, person, None))


@pytest.mark.parametrize("seed", range(150))
def test_nothing_that_is_known_of_the_samples_people_is_left(seed: int) -> None:
    rng = random.Random(seed)
    person = invent_person(rng, str(seed))
    known = Known((person.name, person.given, person.family))  # their number is found by rules alone
    sent = everything(text_of(person, rng), known).text
    assert person.email not in sent
    assert person.phone not in sent
    assert person.name not in sent
    for part in re.findall(r"\w{3,}", f"{person.given} {person.family}"):
        assert not re.search(rf"\b{part}\b", sent, re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("Write to ana.sa+cv@mail.example.com.", "Write to [EMAIL_1]."),
        ("ana @ example.com, ana (at) example (dot) com", "[EMAIL_1], [EMAIL_2]"),
        ("ana@example.com ana@example.com b@example.com", "[EMAIL_1] [EMAIL_1] [EMAIL_2]"),
        ("(11) 98765-4321 / 0171 1234567", "[PHONE_1] / [PHONE_2]"),
        ("Tel: 5550 1234, 2019", "Tel: [PHONE_1], 2019"),
        ("+44 20 7946 0123 2019", "[PHONE_1] 2019"),
        ("06 12 34 56 78", "[PHONE_1]"),
        ("+353 555 123 555 +353 127 6689", "[PHONE_1] [PHONE_2]"),
        ("0187 555 4 971+", "[PHONE_1]"),
        ("https://www.linkedin.com/in/ana-sa/", "https://www.linkedin.com/in/[URL_1]"),
        ("github.com/anasa, https://ana.dev/cv", "github.com/[URL_1], https://[URL_2]"),
        ("www.ana.dev | Telegram: @anasa", "[URL_1] | Telegram: [URL_2]"),
        ("CPF 529.982.247-25, SSN 536-90-4399", "CPF [NATIONAL_ID_1], SSN [NATIONAL_ID_2]"),
        ("DNI 12345678Z NIE X1234567L", "DNI [NATIONAL_ID_1] NIE [NATIONAL_ID_2]"),
        ("CNPJ 11.222.333/0001-81 NIF: 123 456 789", "CNPJ [NATIONAL_ID_1] NIF: [NATIONAL_ID_2]"),
        ("RSSMRA85T10A562S 2 95 10 99 126 111 93", "[NATIONAL_ID_1] [NATIONAL_ID_2]"),
        ("DE89 3704 0044 0532 0130 00 COBA DEFF", "[IBAN_1] COBA DEFF"),
    ],
)
def test_what_is_found_by_rules(text: str, sent: str) -> None:
    assert everything(text).text == sent


@pytest.mark.parametrize(
    "text",
    [
        "2019-03 - 2021-05, 01.02.2003 - 05.06.2007, 10/2019 - 03/2021, 20190301-20210531",
        "50.000 - 60.000 EUR, R$ 12.500,00, 1 200 000 users, $85,000 - $95,000",
        "ISO 9001:2015, IEC 61508-3, 192.168.10.254, v2.1.0.4, ticket 48213",
        "ASP.NET and socket.io at Amazon.com, a 50/50 share",
        "DNI 12345678A, IBAN DE88 3704 0044: neither checks",
    ],
)
def test_dates_amounts_and_words_stay(text: str) -> None:
    assert everything(text).text == text


@pytest.mark.parametrize(
    ("known", "text", "sent"),
    [
        ("Jose Garcia Muller", "José GARCÍA-MÜLLER", "[NAME_1] [NAME_2]-[NAME_3]"),
        ("Jörg Weiß", "Joerg Weiss, joerg", "[NAME_1] [NAME_2], [NAME_3]"),
        ("Wu Li", "Li Wu of li and of Wu", "[NAME_1] [NAME_2] of li and of Wu"),
        (
            "Will van der Berg",
            "Will van der Berg will plan der Woche",
            "[NAME_1] [NAME_2] [NAME_3] [NAME_4] will plan der Woche",
        ),
        ("Ana Sá", "Banana, Ana's", "Banana, [NAME_1]'s"),
        ("王 伟", "个人简历王伟男", "个人简历[NAME_1]男"),
    ],
)
def test_names_are_found_however_they_are_spelled(known: str, text: str, sent: str) -> None:
    assert everything(text, Known((known,))).text == sent


def test_a_number_the_export_knows_is_found_however_odd() -> None:
    assert everything("Fon 55-51-234", Known(phones=("555 1234",))).text == "Fon [PHONE_1]"


def test_kinds_that_are_not_asked_for_stay() -> None:
    assert redact("ana@example.com +44 20 7946 0123", ["phone"], NOBODY).text == "ana@example.com [PHONE_1]"


@pytest.mark.parametrize(
    "made_up", ["[EMAIL_2]", "[email_2]", "[ EMAIL 2 ]", "EMAIL_2", "【EMAIL_2】", "[NAME]"]
)
def test_a_placeholder_that_the_text_does_not_hold_never_passes(made_up: str) -> None:
    with pytest.raises(UnknownPlaceholder):
        restore_json(f'{{"a": "{made_up}"}}', {"[EMAIL_1]": "ana@example.com"})


def test_a_placeholder_that_is_misspelled_is_still_known() -> None:
    answer = '{"a": "[email_1]", "phone_2": "EMAIL_1"}'
    assert restore_json(answer, {"[EMAIL_1]": 'a"b'}) == '{"a": "a\\"b", "phone_2": "a\\"b"}'
