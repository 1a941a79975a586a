"""Where numbers of people and of their bank accounts stand in a text.

A number counts only where its own check digits hold, so that dates, sizes and salaries stay. Where a country
has none, or one number in eleven passes, its form or a label before it must say what it is.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from stdnum import iban
from stdnum.ar import cuit
from stdnum.be import nn
from stdnum.br import cnpj, cpf
from stdnum.ch import ssn as ahv
from stdnum.cl import rut
from stdnum.de import idnr
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.in_ import aadhaar
from stdnum.it import codicefiscale
from stdnum.mx import curp
from stdnum.nl import bsn
from stdnum.pl import pesel
from stdnum.pt import nif
from stdnum.us import ssn

_Check = Callable[[str], bool]


def _always(_: str) -> bool:
    return True


_FORMS: Final[tuple[tuple[re.Pattern[str], _Check], ...]] = tuple(
    (re.compile(rf"(?<![\w.-])(?:{form})(?![\w-])"), check)
    for form, check in (
        (r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}", cpf.is_valid),
        (r"\d{2}\.?\d{3}\.?\d{3}/?\d{4}-?\d{2}", cnpj.is_valid),
        (r"\d{3}-\d{2}-\d{4}", ssn.is_valid),
        (r"\d{8}-?[A-Za-z]", dni.is_valid),
        (r"[XYZxyz]-?\d{7}-?[A-Za-z]", nie.is_valid),
        (r"[A-Za-z]{6}[\dL-V]{2}[A-Za-z][\dL-V]{2}[A-Za-z][\dL-V]{3}[A-Za-z]", codicefiscale.is_valid),
        (r"[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}", nir.is_valid),
        (r"\d{2} ?\d{3} ?\d{3} ?\d{3}", idnr.is_valid),
        (r"\d{11}", pesel.is_valid),
        (r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}|\d{11}", nn.is_valid),
        (r"756[. ]?\d{4}[. ]?\d{4}[. ]?\d{2}", ahv.is_valid),
        (r"[A-Z]{4}\d{6}[HMX][A-Z]{5}[0-9A-Z]\d", curp.is_valid),
        (r"\d{1,2}\.\d{3}\.\d{3}-[\dkK]", rut.is_valid),
        (r"\d{2}-\d{8}-\d", cuit.is_valid),
        (r"\d{4} \d{4} \d{4}", aadhaar.is_valid),
        # the United Kingdom's National Insurance number: no check digit, and a form nothing else has
        (r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]", _always),
    )
)
_LABELLED: Final[tuple[tuple[re.Pattern[str], _Check], ...]] = (
    (re.compile(r"(?i:nif|nipc|contribuinte)\W{0,4}(\d{3} ?\d{3} ?\d{3})(?!\w)"), nif.is_valid),
    (re.compile(r"(?i:bsn|burgerservicenummer)\W{0,4}(\d{9})(?!\w)"), bsn.is_valid),
    (re.compile(r"(?i:\brg)\W{0,4}(\d{1,2}\.?\d{3}\.?\d{3}-?[\dXx])(?!\w)"), _always),
    (
        re.compile(
            r"(?i:passport|reisepass|passaporte|pasaporte|passeport)\D{0,12}([A-Z]{0,2}\d{6,9})(?!\w)"
        ),
        _always,
    ),
)
_IBAN: Final = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")


def national_ids(text: str) -> Iterator[tuple[int, int]]:
    for pattern, check in _FORMS:
        for found in pattern.finditer(text):
            if check(found[0]):
                yield found.span()
    for pattern, check in _LABELLED:
        for found in pattern.finditer(text):
            if check(found[1]):
                yield found.span(1)


def ibans(text: str) -> Iterator[tuple[int, int]]:
    for found in _IBAN.finditer(text):
        start, end = found.span()
        # words in capitals may follow: the longest part that checks is the number
        while end > start and not iban.is_valid(text[start:end]):
            end = max(text.rfind(" ", start, end), start)
        if end > start:
            yield start, end
