"""What a text is when it is clearly no CV."""

import re
from typing import Final, Literal

from batch_pipeline.local.emulator.engines.reader.headings import folded

NotACv = Literal["letter", "invoice", "payslip", "job_description", "web_page"]

_SALUTATION: Final = re.compile(
    r"^\s*(?:dear |to whom it may concern|sehr geehrte|liebe[rs]? |madame, monsieur|cher |chere |estimad[oa]s?|"
    r"prezad[oa]|caro |egregi|gentil|spettabile|geachte|beste |sayin |尊敬的|السادة|السيد)", re.MULTILINE
)  # fmt: skip
_CLOSING: Final = re.compile(
    r"yours (?:faithfully|sincerely|truly)|kind regards|best regards|sincerely|mit freundlichen grussen|"
    r"freundliche grusse|cordialement|salutations|atentamente|saludos cordiales|atenciosamente|"
    r"cordiali saluti|distinti saluti|met vriendelijke groet|hoogachtend|saygilarimla|此致|敬上|مع خالص|وتفضلوا"
)
_APPLYING: Final = re.compile(
    r"apply|application|bewerb|candidat|solicit|postul|sollicit|basvur|应聘|申请|التقدم"
)
_INVOICE: Final = re.compile(
    r"^\s*(?:tax )?(?:invoice|rechnung|factura|facture|fattura|fatura|factuur|发票|فاتورة)\b", re.M
)
_AMOUNT: Final = re.compile(
    r"\b(?:total|vat|mwst|ust|iva|tva|btw|kdv|iban|amount due|betrag|importe|montant|netto)\b|合计|المبلغ"
)
_PAYSLIP: Final = re.compile(
    r"\bpay ?slip\b|gehaltsabrechnung|lohnabrechnung|entgeltabrechnung|bulletin de (?:paie|salaire)|"
    r"recibo de nomina|holerite|contracheque|busta paga|loonstrook|maas bordrosu|工资单|كشف راتب"
)
_PAY: Final = re.compile(r"\b(?:gross|net|brutto|netto|brut|bruto|lordo|brut|steuer|tax)\b|实发|الصافي")
_JOB_MARKS: Final = tuple(
    re.compile(mark, re.MULTILINE)
    for mark in (
        r"^\s*(?:job description|stellenbeschreibung|description du poste|descripcion del puesto|descricao da vaga)",
        r"^\s*(?:key )?(?:responsibilities|your tasks|ihre aufgaben|aufgaben|vos missions|responsabilidades)\s*:?\s*$",
        r"^\s*(?:requirements|required qualifications|your profile|ihr profil|profil recherche|requisitos|anforderungen)\s*:?\s*$",
        r"^\s*(?:nice to have|preferred qualifications|benefits|what we offer|wir bieten|nous offrons|ofrecemos|beneficios)\s*:?\s*$",
        r"we are (?:seeking|looking for|hiring)|we're (?:seeking|looking for|hiring)|wir suchen|nous recherchons|buscamos",
        r"^\s*(?:how to apply|about us|about the role|salary|uber uns)\b",
        r"the ideal candidate|equal opportunity employer|\(m/w/d\)",
    )
)
_WEB: Final = re.compile(
    r"accessdenied|<\?xml|<!doctype|sign in to continue|session expired|forgot (?:your )?password"
)


def not_a_cv(text: str, headings: int) -> NotACv | None:
    """Name what a text is instead of a CV; `headings` is how many distinct CV sections it opens."""
    if headings >= 3:
        return None
    head = folded(text[:6000])
    if sum(mark.search(head) is not None for mark in _JOB_MARKS) >= 3:
        return "job_description"
    if headings >= 2:
        return None
    signs: tuple[tuple[NotACv, bool], ...] = (
        ("payslip", bool(_PAYSLIP.search(head) and _PAY.search(head))),
        ("invoice", bool(_INVOICE.search(head) and _AMOUNT.search(head))),
        ("letter", bool(_SALUTATION.search(head) and (_CLOSING.search(head) or _APPLYING.search(head)))),
        ("web_page", bool(_WEB.search(head))),
    )
    return next((kind for kind, found in signs if found), None)
