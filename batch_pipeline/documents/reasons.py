"""The closed lists of what can be true of an attachment and of a document, and the refusal itself.

An attachment has a State. A fetched attachment's document has a Verdict, and every verdict but `cv`
has a Reason. Nothing ends without one of these.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from batch_pipeline.errors import BatchPipelineError


class State(StrEnum):
    """What became of one attachment reference. The four add up to all references."""

    FETCHED = "fetched"
    MISSING = "missing"
    DOWNLOAD_FAILED = "download_failed"
    ERASED = "erased"


class Verdict(StrEnum):
    """What one document is. The three add up to all fetched references."""

    CV = "cv"
    NOT_A_CV = "not_a_cv"
    QUARANTINED = "quarantined"


class Reason(StrEnum):
    """Why something is not a CV with text."""

    # of state download_failed; a live source says `too_large` of a file it did not take
    ERROR_PAGE = "error_page"
    UNREADABLE_FILE = "unreadable_file"
    LINK_REFUSED = "link_refused"
    SERVER_FAILED = "server_failed"
    UNUSABLE_LINK = "unusable_link"
    BAD_STATUS = "bad_status"

    # of verdict quarantined
    EMPTY = "empty"
    BLANK = "blank"
    TRUNCATED = "truncated"
    DAMAGED = "damaged"
    PASSWORD_PROTECTED = "password_protected"  # noqa: S105 - no password
    UNREADABLE_ARCHIVE = "unreadable_archive"
    ARCHIVE_TOO_LARGE = "archive_too_large"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    UNSUPPORTED_TYPE = "unsupported_type"
    PARSE_CRASHED = "parse_crashed"
    PARSE_TIMEOUT = "parse_timeout"
    PARSE_MEMORY = "parse_memory"
    MD5_COLLISION = "md5_collision"

    # of verdict not_a_cv
    ARCHIVE = "archive"
    PHOTO = "photo"
    COVER_LETTER = "cover_letter"
    PAYSLIP = "payslip"
    JOB_DESCRIPTION = "job_description"
    CERTIFICATE = "certificate"
    DECLARED_NOT_CV = "declared_not_cv"


MEANING: Final[Mapping[State | Verdict | Reason, str]] = MappingProxyType(
    {
        State.FETCHED: "its bytes are here; the document they are has a verdict",
        State.MISSING: "the export names it and does not hold it",
        State.DOWNLOAD_FAILED: "it did not come, or what lies there is not what was uploaded; see the reason",
        State.ERASED: "of an erased person: never opened",
        Verdict.CV: "goes to the model, as text or to be looked at",
        Verdict.NOT_A_CV: "can be read, and is something else",
        Verdict.QUARANTINED: "cannot be read; a person has to look",
        Reason.ERROR_PAGE: "an error or login answer was saved under the file's name",
        Reason.UNREADABLE_FILE: "the operating system refused to read it",
        Reason.LINK_REFUSED: "the system refused its link, and the new one it was asked for",
        Reason.SERVER_FAILED: "the system failed or did not answer, at every try",
        Reason.UNUSABLE_LINK: "the system gave a link that is no address",
        Reason.BAD_STATUS: "the system answered with a status that gives no file",
        Reason.EMPTY: "zero bytes",
        Reason.BLANK: "opens, and shows nothing at all",
        Reason.TRUNCATED: "its end is missing: a half must not pass for a whole",
        Reason.DAMAGED: "its format's own reader refuses it",
        Reason.PASSWORD_PROTECTED: "needs a password, or is locked to a certificate",
        Reason.UNREADABLE_ARCHIVE: "a zip bundle that is damaged",
        Reason.ARCHIVE_TOO_LARGE: "members, bytes or growth of a bundle beyond the limits: none is unpacked",
        Reason.TOO_DEEP: "an archive inside an archive",
        Reason.TOO_LARGE: "file, unpacked content, pages or text beyond the limits",
        Reason.UNSUPPORTED_TYPE: "a type that is not read",
        Reason.PARSE_CRASHED: "the reading process died on it",
        Reason.PARSE_TIMEOUT: "reading took longer than the limits",
        Reason.PARSE_MEMORY: "reading took more memory than the limit",
        Reason.MD5_COLLISION: "one MD5, two contents",
        Reason.ARCHIVE: "a bundle: its members are attachments of their own",
        Reason.PHOTO: "a picture, not a page",
        Reason.COVER_LETTER: "a letter without a CV behind it",
        Reason.PAYSLIP: "a payslip",
        Reason.JOB_DESCRIPTION: "what an employer looks for, not what a person did",
        Reason.CERTIFICATE: "a diploma, reference letter or certificate",
        Reason.DECLARED_NOT_CV: "declared as something else, and nothing speaks against it",
    }
)
"""One line each, for people; `docs/documents.md` shows the same."""

QUARANTINE: Final = frozenset(
    {
        Reason.EMPTY,
        Reason.BLANK,
        Reason.TRUNCATED,
        Reason.DAMAGED,
        Reason.PASSWORD_PROTECTED,
        Reason.UNREADABLE_ARCHIVE,
        Reason.ARCHIVE_TOO_LARGE,
        Reason.TOO_DEEP,
        Reason.TOO_LARGE,
        Reason.UNSUPPORTED_TYPE,
        Reason.PARSE_CRASHED,
        Reason.PARSE_TIMEOUT,
        Reason.PARSE_MEMORY,
        Reason.MD5_COLLISION,
    }
)
NOT_A_CV: Final = frozenset(
    {
        Reason.ARCHIVE,
        Reason.PHOTO,
        Reason.COVER_LETTER,
        Reason.PAYSLIP,
        Reason.JOB_DESCRIPTION,
        Reason.CERTIFICATE,
        Reason.DECLARED_NOT_CV,
    }
)


class Refused(BatchPipelineError):
    """A document whose text cannot be had, with its reason from the closed list."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(reason.value)
