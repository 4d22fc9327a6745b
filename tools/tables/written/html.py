"""Tables of HTML, as notebooks keep them and reports show them."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from ..header import has_header
from ..raw import CELLS, COLUMNS, Raw, short

HTML_LIMIT = 8 << 20
"""Characters of HTML looked at."""


def read_html(text: str) -> Iterator[Raw]:
    """Every `<table>` with at least a header and a row."""
    if "<table" not in text[:HTML_LIMIT].lower():
        return
    parser = _Tables()
    parser.feed(text[:HTML_LIMIT])
    parser.close()
    for rows, headed in parser.tables:
        headed = headed or (len(rows) > 1 and has_header(rows))
        if len(rows) <= headed:
            continue
        names = [c or str(i) for i, c in enumerate(rows[0])] if headed else []
        body = [r for r in rows[headed:] if any(r)]
        yield Raw.of_rows("", names, body, [0] * len(body))


class _Tables(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[tuple[list[list[str]], bool]] = []
        self._row: list[str] | None = None
        self._cell: list[str] | None = None
        self._heads = 0
        self._left = CELLS

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append(([], False))
        elif tag == "tr" and self.tables:
            self._row, self._heads = [], 0
        elif tag in ("td", "th") and self._row is not None and self._left > 0 and len(self._row) < COLUMNS:
            self._end_cell()
            self._cell, self._left = [], self._left - 1
            self._heads += tag == "th"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._end_cell()
        elif tag in ("tr", "table"):
            self._end_cell()
            self._end_row()

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def _end_cell(self) -> None:
        if self._cell is not None and self._row is not None:
            self._row.append(short(" ".join("".join(self._cell).split())))
        self._cell = None

    def _end_row(self) -> None:
        if self._row and self.tables:
            rows, _ = self.tables[-1]
            if not rows and self._heads == len(self._row):
                self.tables[-1] = (rows, True)
            rows.append(self._row)
        self._row = None
