"""The closed lists of what can be true of an attachment and of a document, and the refusal itself.

An attachment has a State. A fetched attachment's document has a Verdict, and every verdict but `cv`
has a Reason. Nothing ends without one of these.
"""

from enum import StrEnum
from typing import Final

from batch_pipeline.errors import BatchPipelineError


class State(StrEnum):
    """What became of one attachment reference. The four add up to all references."""

    FETCHED = "fetched"
    MISSING = "missing"  # the export names it and does not hold it
    DOWNLOAD_FAILED = "download_failed"  # what lies there is not what was uploaded; see the reason
    ERASED = "erased"  # of an erased person: never opened


class Verdict(StrEnum):
    """What one document is. The three add up to all fetched references."""

    CV = "cv"
    NOT_A_CV = "not_a_cv"
    QUARANTINED = "quarantined"


class Reason(StrEnum):
    """Why something is not a CV with text."""

    # of state download_failed
    ERROR_PAGE = "error_page"  # an error or login answer saved under the file's name
    UNREADABLE_FILE = "unreadable_file"  # the operating system refused to read it

    # of verdict quarantined
    EMPTY = "empty"  # zero bytes
    BLANK = "blank"  # opens, and shows nothing at all
    TRUNCATED = "truncated"  # its end is missing: a half must not pass for a whole
    DAMAGED = "damaged"  # its format's own reader refuses it
    PASSWORD_PROTECTED = "password_protected"  # noqa: S105 - or locked to a certificate
    UNREADABLE_ARCHIVE = "unreadable_archive"
    ARCHIVE_TOO_LARGE = "archive_too_large"  # members, bytes or growth beyond the limits: none unpacked
    TOO_DEEP = "too_deep"  # an archive inside an archive
    TOO_LARGE = "too_large"  # file, unpacked content, pages or text beyond the limits
    UNSUPPORTED_TYPE = "unsupported_type"
    PARSE_CRASHED = "parse_crashed"  # the reading process died on it
    PARSE_TIMEOUT = "parse_timeout"
    PARSE_MEMORY = "parse_memory"
    MD5_COLLISION = "md5_collision"  # one MD5, two contents

    # of verdict not_a_cv
    ARCHIVE = "archive"  # a bundle: its members are attachments of their own
    PHOTO = "photo"
    COVER_LETTER = "cover_letter"
    PAYSLIP = "payslip"
    JOB_DESCRIPTION = "job_description"
    CERTIFICATE = "certificate"  # diploma, reference letter, certificate
    DECLARED_NOT_CV = "declared_not_cv"  # declared as something else, and nothing speaks against it


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
