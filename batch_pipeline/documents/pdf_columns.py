"""Two columns that were drawn line by line across the page, read one after the other.

PDFium keeps the order of drawing, which is right for nearly every CV. Where a program drew both
columns' first lines, then both second lines, sentences of the two are mixed (measured: 1 of 5
paragraphs whole). A gutter is believed only where many neighbouring rows have wide text on both of
its sides and none across it, so that dates beside their entries stay beside them.
"""

from dataclasses import dataclass
from statistics import median

import pypdfium2 as pdfium

_FEWEST_ROWS = 6
_MOST_RUNS = 3_000
_GAP_POINTS = 8.0
_COLUMN_SHARE = 0.22  # of the page's width: a column of dates or labels is narrower


@dataclass(frozen=True)
class _Row:
    """Runs of text on one line, in the order they were drawn, as (left, bottom, right, top)."""

    runs: list[tuple[float, float, float, float]]

    @property
    def top(self) -> float:
        return max(run[3] for run in self.runs)

    @property
    def bottom(self) -> float:
        return min(run[1] for run in self.runs)

    def crosses(self, gutter: float) -> bool:
        return any(left < gutter < right for left, _, right, _ in self.runs)

    def gutter(self) -> float | None:
        """Where the widest gap of the row ends, if it has one."""
        gaps = [
            (after[0] - before[2], after[0] - 1)
            for before, after in zip(self.runs, self.runs[1:], strict=False)
        ]
        widest = max(gaps, default=(0.0, 0.0))
        return widest[1] if widest[0] > _GAP_POINTS else None


def in_columns(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage) -> str | None:
    """The page's text column by column; None where its own order is to be kept."""
    count = text_page.count_rects()
    if not 2 * _FEWEST_ROWS <= count <= _MOST_RUNS:
        return None
    rows = _rows([text_page.get_rect(index) for index in range(count)])
    gutters = [gutter for row in rows if (gutter := row.gutter()) is not None]
    if len(gutters) < _FEWEST_ROWS:
        return None
    left, bottom, right, top = page.get_bbox()
    gutter = max(set(gutters), key=lambda x: (_agreeing(rows, x), -x))
    band = _longest_band(rows, gutter)
    if len(band) < _FEWEST_ROWS or not _are_columns(band, gutter, (right - left) * _COLUMN_SHARE):
        return None
    upper, lower = band[0].top + 1, band[-1].bottom - 1
    regions = (
        (left, upper, right, top),
        (left, lower, gutter, upper),
        (gutter, lower, right, upper),
        (left, bottom, right, lower),
    )
    text = "\n".join(filter(None, (text_page.get_text_bounded(*region) for region in regions)))
    # what stands outside the regions or on their edge must not be lost for the sake of order
    return text if _visible(text) == _visible(text_page.get_text_range()) else None


def _rows(runs: list[tuple[float, float, float, float]]) -> list[_Row]:
    rows: list[_Row] = []
    for run in runs:
        last = rows[-1].runs[-1] if rows else None
        same = last is not None and run[0] >= last[2] - 1 and min(run[3], last[3]) > max(run[1], last[1])
        if same:
            rows[-1].runs.append(run)
        else:
            rows.append(_Row([run]))
    return rows


def _agreeing(rows: list[_Row], gutter: float) -> int:
    return sum(1 for row in rows if _is_two_sided(row, gutter))


def _is_two_sided(row: _Row, gutter: float) -> bool:
    return not row.crosses(gutter) and row.runs[0][2] <= gutter < row.runs[-1][0]


def _longest_band(rows: list[_Row], gutter: float) -> list[_Row]:
    """The longest stretch of rows, each below the last, that nothing crosses."""
    bands: list[list[_Row]] = [[]]
    for row in rows:
        if row.crosses(gutter) or (bands[-1] and row.top >= bands[-1][-1].top):
            bands.append([])
        if not row.crosses(gutter):
            bands[-1].append(row)
    return max(bands, key=len)


def _are_columns(band: list[_Row], gutter: float, wide: float) -> bool:
    both = [row for row in band if _is_two_sided(row, gutter)]
    if len(both) < _FEWEST_ROWS or len(both) * 2 < len(band):
        return False
    lefts = [max(run[2] for run in row.runs if run[2] <= gutter) - row.runs[0][0] for row in both]
    rights = [row.runs[-1][2] - min(run[0] for run in row.runs if run[0] > gutter) for row in both]
    return median(lefts) >= wide and median(rights) >= wide


def _visible(text: str) -> int:
    return sum(1 for sign in text if not sign.isspace() and sign not in "\ufffe\x02-")
