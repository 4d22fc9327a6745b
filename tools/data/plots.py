"""A bar chart as SVG text: one picture without a plotting library."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

WIDTH, ROW, LEFT = 640, 18, 110


def bars_svg(histogram: Mapping[str, int], title: str) -> str:
    """Horizontal bars, one per bin, with their counts."""
    most = max(histogram.values(), default=1)
    rows = [f'<text x="8" y="16" font-weight="bold">{escape(title)}</text>']
    for i, (edge, count) in enumerate(histogram.items()):
        y, width = 28 + i * ROW, max(1, round((WIDTH - LEFT - 90) * count / most))
        rows.append(
            f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(str(edge))}</text>'
            f'<rect x="{LEFT}" y="{y}" width="{width}" height="{ROW - 4}" fill="#4477aa"/>'
            f'<text x="{LEFT + width + 6}" y="{y + 12}">{count}</text>'
        )
    height = 36 + len(histogram) * ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" '
        f'font-size="12">{"".join(rows)}</svg>\n'
    )
