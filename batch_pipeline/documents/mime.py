"""The file types this room tells apart. Types, not names: see `sniffing`."""

from typing import Final

PDF: Final = "application/pdf"
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
DOC: Final = "application/msword"
RTF: Final = "application/rtf"
ODT: Final = "application/vnd.oasis.opendocument.text"
HTML: Final = "text/html"
TEXT: Final = "text/plain"
XML: Final = "application/xml"  # of which only Europass CVs are read
JSON: Final = "application/json"  # likewise
ZIP: Final = "application/zip"
OLE2: Final = "application/x-ole-storage"  # spreadsheets, presentations, Outlook messages
ENCRYPTED_OFFICE: Final = "application/vnd.ms-office.encrypted"
OTHER_OFFICE: Final = "application/vnd.openxmlformats-officedocument"  # spreadsheets, presentations
OTHER_ARCHIVE: Final = "application/x-archive"  # rar, 7z, gzip, bzip2, xz
JPEG: Final = "image/jpeg"
PNG: Final = "image/png"
TIFF: Final = "image/tiff"
GIF: Final = "image/gif"
BMP: Final = "image/bmp"
WEBP: Final = "image/webp"
HEIC: Final = "image/heic"
EMPTY: Final = "application/x-empty"
UNKNOWN: Final = "application/octet-stream"

IMAGES: Final = frozenset({JPEG, PNG, TIFF, GIF, BMP, WEBP, HEIC})
WITH_TEXT: Final = frozenset({PDF, DOCX, DOC, RTF, ODT, HTML, TEXT, XML, JSON})
