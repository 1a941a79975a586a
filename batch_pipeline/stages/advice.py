"""What a reason means for the people who take the customer over, and what they can do about it.

One line for every state and reason of the closed lists (`documents/reasons.py`, `tasks/cv/reasons.py`
and the ledger's own); a test holds them complete.
"""

from typing import Final

ADVICE: Final[dict[str, str]] = {
    # states of an attachment
    "missing": "The export names a file it does not hold. Ask the customer for it.",
    "download_failed": "The file itself did not come. Ask for a new export or the file.",
    "erased": "The person was erased or their consent has run out. Nothing to do: the file was never opened.",
    "error_page": "An error or login page was saved under the file's name. Ask for the file itself.",
    "unreadable_file": "The file could not be read from disk. Check the rights on the export and run again.",
    "link_refused": "The system refused the file's link, even a new one. Check the key's rights, then run again.",
    "server_failed": "The system gave no answer at every try. Run again later.",
    "unusable_link": "The system names no address for the file. Ask the customer for it.",
    "bad_status": "The system would not give the file. Ask the customer for it, or run again.",
    # quarantined
    "empty": "The file, or the answer, holds nothing. Ask the candidate for the CV.",
    "blank": "The file opens and shows nothing. Ask the candidate for the CV.",
    "truncated": "A part is missing, so nothing of it was taken. Ask for the whole file, or raise max_output_tokens.",
    "damaged": "The file cannot be opened by its own format's reader. Ask for a new copy.",
    "password_protected": "The file asks for a password. Ask for a copy without one.",
    "unreadable_archive": "The archive cannot be opened. Ask for the files themselves.",
    "archive_too_large": "The archive unpacks to more than is allowed. Ask for the CV alone.",
    "too_deep": "An archive lies inside an archive. Ask for the CV alone.",
    "too_large": "The file or its text is larger than any CV. Look at it by hand.",
    "unsupported_type": "The format is none that is read. Ask for a PDF or Word file.",
    "parse_crashed": "Reading the file broke the reader; only this file was lost. Look at it by hand.",
    "parse_timeout": "Reading the file took too long; only this file was lost. Look at it by hand.",
    "parse_memory": "Reading the file took too much memory; only this file was lost. Look at it by hand.",
    "md5_collision": "Two different files share one MD5. Treat both with suspicion.",
    # no CVs
    "archive": "A bundle: what lies in it is listed by itself. Nothing to do.",
    "photo": "A picture of a person, no CV. Nothing to do.",
    "cover_letter": "A letter, no CV. It is attached to its application. Nothing to do.",
    "payslip": "A payslip, no CV. Consider deleting it.",
    "job_description": "A job description, no CV. Nothing to do.",
    "certificate": "A certificate or reference, no CV. Nothing to do.",
    "declared_not_cv": "Declared as something else than a CV, and nothing speaks against that. Nothing to do.",
    "not_a_cv": "The model found no CV in it. Look at it by hand if there should be one.",
    # answers
    "refused": "The model would not answer. Look at the file by hand, or name another model.",
    "filtered": "A content filter took the answer. Look at the file by hand, or name another model.",
    "provider_error": "The provider refused the request. `batch-pipeline status` shows its words.",
    "no_json": "The answer was no JSON object. A new migration of this export asks again.",
    "ambiguous_json": "The answer was more than one object. A new migration of this export asks again.",
    "wrong_types": "The answer was not of the CV's shape. A new migration of this export asks again.",
    "invented": "The answer described a placeholder, not this person. Look at the file by hand.",
    "unreadable": "Nothing could be read, probably a poor scan. Name a model that sees, or ask for a text file.",
    "attempts_exhausted": "No attempt gave an answer: passing errors, or the job's time ran out. A new migration of this export asks again.",
    "cannot_be_shown": "The file cannot be shown to a model within its limits. Look at it by hand.",
    "cannot_be_redacted": "A scan cannot be redacted, so it was not sent. Set `ocr`, or ask for a text file.",
    "cannot_be_restored": "What the answer's placeholders stand for is lost. Put `redaction` and the export back as they were, or ask again by a new migration.",
    "given_up": "A call's end was never seen and a person gave it up. A new migration of this export asks again.",
}


def advice(what: str, reason: str | None) -> str:
    """The line for a reason, or for the state where there is none."""
    return ADVICE.get(reason or what) or ADVICE.get(what) or "Look at it by hand."
