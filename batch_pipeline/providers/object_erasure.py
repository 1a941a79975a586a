"""Deleting a migration's objects by what a listing shows, and proving that none is left.

Versions, delete markers and unfinished multipart uploads count as objects: a plain delete in a
versioned bucket leaves every byte where it was.
"""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from batch_pipeline.errors import TerminalError
from batch_pipeline.providers.contract import ErasureCertificate

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_Version = tuple[str, str]

_ROUNDS = 5
_PER_CALL = 1000


def erase_prefix(
    s3: "S3Client", bucket: str, prefix: str, bucket_owner: str | None = None
) -> ErasureCertificate:
    """Delete every object, version, marker and open upload below `prefix` (ends with "/").

    Raises:
        TerminalError: something is still there after several rounds (object lock, missing rights);
            the message says how many and the first error code.
    """
    if not prefix.endswith("/") or prefix == "/":
        raise TerminalError(f"erasing needs one migration's own folder, not {prefix!r}")
    owner: dict[str, Any] = {"ExpectedBucketOwner": bucket_owner} if bucket_owner else {}
    try:
        return _erase(s3, bucket, prefix, owner)
    except ClientError as error:
        said = error.response.get("Error", {})
        raise TerminalError(
            f"erasing below {prefix}: {said.get('Code', '')} {said.get('Message', '')}. Allow "
            "s3:ListBucketVersions, DeleteObjectVersion, ListBucketMultipartUploads and AbortMultipartUpload, "
            "then erase again"
        ) from None


def _erase(s3: "S3Client", bucket: str, prefix: str, owner: dict[str, Any]) -> ErasureCertificate:
    seen: dict[_Version, int] = {}
    gone: set[_Version] = set()
    aborted = 0
    problem = "no reason given"
    for _ in range(_ROUNDS):
        aborted += _abort_uploads(s3, bucket, prefix, owner)
        present = _versions(s3, bucket, prefix, owner)
        if not present:
            return ErasureCertificate(len(seen), len(gone), sum(seen.values()), aborted, 0)
        seen |= present
        versions = list(present)
        for start in range(0, len(versions), _PER_CALL):
            part = versions[start : start + _PER_CALL]
            answer = s3.delete_objects(
                Bucket=bucket,
                Delete={
                    "Objects": [{"Key": key, "VersionId": version} for key, version in part],
                    "Quiet": True,
                },
                **owner,
            )
            kept = {
                (error.get("Key", ""), error.get("VersionId", "null")) for error in answer.get("Errors", [])
            }
            gone |= set(part) - kept
            problem = next((error.get("Code", "") for error in answer.get("Errors", [])), problem)
    raise TerminalError(
        f"{len(_versions(s3, bucket, prefix, owner))} objects or versions below {prefix} could not be deleted "
        f"({problem}). Look for object lock, legal hold or missing s3:DeleteObjectVersion, then erase again"
    )


def _versions(s3: "S3Client", bucket: str, prefix: str, owner: dict[str, Any]) -> dict[_Version, int]:
    """(key, version id) of everything there -> bytes; delete markers have none."""
    found: dict[_Version, int] = {}
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix, **owner):
        for entry in page.get("Versions", []):
            found[entry["Key"], entry.get("VersionId") or "null"] = entry.get("Size", 0)
        for marker in page.get("DeleteMarkers", []):
            found[marker["Key"], marker.get("VersionId") or "null"] = 0
    return found


def _uploads(s3: "S3Client", bucket: str, prefix: str, owner: dict[str, Any]) -> list[tuple[str, str]]:
    pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=prefix, **owner)
    return [(upload["Key"], upload["UploadId"]) for page in pages for upload in page.get("Uploads", [])]


def _abort_uploads(s3: "S3Client", bucket: str, prefix: str, owner: dict[str, Any]) -> int:
    uploads = _uploads(s3, bucket, prefix, owner)
    for key, upload in uploads:
        s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload, **owner)
    return len(uploads)
