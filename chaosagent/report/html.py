"""Pages and tables as HTML, for notebooks. Whatever a target or a record says is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from chaosagent.report.page import Page, Style
from chaosagent.report.printable import printable

ROWS_MAX = 100
CELL_MAX = 600
_STYLES = {
    Style.STRONG: "font-weight:bold",
    Style.FAINT: "opacity:.65",
    Style.BAD: "color:#b00020;font-weight:bold",
    Style.GOOD: "color:#1b7f3b",
    Style.NOTICE: "color:#9a6700",
    Style.NAME: "color:#0b6a8f",
}


def page_html(page: Page) -> str:
    """Return a page as one preformatted block."""
    lines = ("".join(_span(span.text, span.style) for span in line) for line in page.lines())
    return f'<pre style="white-space:pre-wrap">{chr(10).join(lines)}</pre>'


def table_html(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; of more than `ROWS_MAX` rows the number of the others stands below it."""
    listed = list(rows)
    head = "".join(f"<th>{_escaped(title)}</th>" for title in header)
    body = "".join(_row(row) for row in listed[:ROWS_MAX])
    more = f"<p>... {len(listed) - ROWS_MAX:,} more</p>" if len(listed) > ROWS_MAX else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def folded_html(title: str, inside: str) -> str:
    """Return HTML that is shown when its title is clicked."""
    return f"<details><summary>{_escaped(title)}</summary>{inside}</details>"


def _span(text: str, style: Style) -> str:
    escaped = html.escape(text)
    return f'<span style="{_STYLES[style]}">{escaped}</span>' if style in _STYLES and escaped else escaped


def _row(cells: Sequence[object]) -> str:
    row = "".join(f'<td style="text-align:left">{_escaped(str(cell))}</td>' for cell in cells)
    return f"<tr>{row}</tr>"


def _escaped(text: str) -> str:
    return html.escape(printable(text, characters_max=CELL_MAX))
