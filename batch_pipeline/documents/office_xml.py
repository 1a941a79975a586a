"""Bounded reading of members from a zipped office file (DOCX, ODT)."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from lxml import etree

from batch_pipeline.documents.raw_text import ReadLimits
from batch_pipeline.documents.reasons import Reason, Refused

_BLOCK = 1 << 16


class OfficeFile:
    """Members by name. The bytes that come out are counted, not those the file says it holds."""

    def __init__(self, bundle: zipfile.ZipFile, limits: ReadLimits) -> None:
        self._bundle = bundle
        self._left = limits.unpacked_bytes
        self.names = bundle.namelist()

    def xml(self, name: str) -> etree._Element | None:
        """A member's root element, None where there is no such member. Raises Refused."""
        if name not in self.names:
            return None
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        return etree.fromstring(self.data(name), parser)

    def data(self, name: str) -> bytes:
        """A member's bytes. Raises Refused: password_protected, too_large."""
        info = self._bundle.getinfo(name)
        if info.flag_bits & 0x1:
            raise Refused(Reason.PASSWORD_PROTECTED)
        if info.file_size > self._left:
            raise Refused(Reason.TOO_LARGE)
        parts: list[bytes] = []
        with self._bundle.open(info) as stream:
            while block := stream.read(_BLOCK):
                self._left -= len(block)
                if self._left < 0:
                    raise Refused(Reason.TOO_LARGE)
                parts.append(block)
        return b"".join(parts)


@contextmanager
def opened(data: bytes, limits: ReadLimits) -> Iterator[OfficeFile]:
    """Open the container; its and its XML's errors become Refused truncated or damaged."""
    try:
        bundle = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError):
        # the table of members stands at the end: without it the end is missing
        raise Refused(Reason.TRUNCATED) from None
    with bundle:
        try:
            yield OfficeFile(bundle, limits)
        except (zipfile.BadZipFile, etree.XMLSyntaxError, EOFError, NotImplementedError, ValueError):
            raise Refused(Reason.DAMAGED) from None
