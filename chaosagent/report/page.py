"""Pages of text for the command line, with styles on a terminal; pages and tables as HTML for notebooks."""

from __future__ import annotations

import enum
import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from chaosagent.report.printable import printable, width_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


class Style(enum.Enum):
    """How a piece of text is set; the value is the terminal's code."""

    PLAIN = ""
    STRONG = "1"
    FAINT = "2"
    BAD = "1;31"
    GOOD = "32"
    NOTICE = "33"
    NAME = "36"


class Span(NamedTuple):
    """A piece of text in one style."""

    text: str
    style: Style = Style.PLAIN


Part: TypeAlias = "str | Span"
Cell: TypeAlias = "str | Span | Sequence[Part]"
_ASCII = str.maketrans({"→": "->", "✗": "x", "✓": "+", "…": "...", "×": "x", "≤": "<=", "≥": ">=", "–": "-", "│": "|"})


def strong(text: str) -> Span:
    """Return a text that stands out."""
    return Span(text, Style.STRONG)


def faint(text: str) -> Span:
    """Return a text that stands back."""
    return Span(text, Style.FAINT)


def bad(text: str) -> Span:
    """Return a text that tells of a violation."""
    return Span(text, Style.BAD)


def good(text: str) -> Span:
    """Return a text that tells of success."""
    return Span(text, Style.GOOD)


def notice(text: str) -> Span:
    """Return a text that tells of something to look at, such as an injection."""
    return Span(text, Style.NOTICE)


def name(text: str) -> Span:
    """Return the name of something: a hook, a command, a file."""
    return Span(text, Style.NAME)


class Look(NamedTuple):
    """How a page is turned into text.

    Attributes:
        columns: Lines are wrapped to so many; `None` leaves them as long as they are, as logs and pipes want it.
        colour: Use the terminal's styles.
        ascii_only: Write arrows and marks with plain letters.
    """

    columns: int | None = None
    colour: bool = False
    ascii_only: bool = False


PLAIN_LOOK = Look()
HANG_CAPPED = 4


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as it is where there is room for it.

    Attributes:
        spans: Its pieces.
        indent: Columns in front of it.
        hang: Further columns in front of what is wrapped.
        head: How many of the spans stand before the last cell of a table; 0 where there is none.
    """

    spans: tuple[Span, ...]
    indent: int
    hang: int
    head: int = 0


@dataclass(slots=True)
class Page:
    """Lines of text, put together from above."""

    _lines: list[_Line] = field(default_factory=list)

    def line(self, *parts: Part, indent: int = 0, hang: int = 2) -> Page:
        """Add a line.

        Args:
            parts: Pieces of the line, one after the other.
            indent: Columns in front of it.
            hang: Further columns in front of what is wrapped.
        """
        self._lines.append(_Line(_spans(parts), indent, hang))
        return self

    def gap(self) -> Page:
        """Add an empty line, unless the page is empty or has one there."""
        if self._lines and self._lines[-1].spans:
            self._lines.append(_Line((), 0, 0))
        return self

    def heading(self, text: str) -> Page:
        """Add the heading of a section."""
        return self.gap().line(strong(text))

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Cell]], *, indent: int = 2) -> Page:
        """Add a table; the last column takes the rest of the line and wraps in itself.

        Where the others leave it less than half of a line, what does not fit goes below them.

        Args:
            header: One text a column, or none at all.
            rows: One cell a column; numbers are texts, too.
            indent: Columns in front of it.
        """
        lines = [[_spans([cell] if isinstance(cell, str | Span) else cell) for cell in row] for row in rows]
        if header:
            lines.insert(0, [_spans([faint(title)]) for title in header])
        if not lines:
            return self
        widths = [max(_width(row[column]) for row in lines) for column in range(len(lines[0]))]
        for row in lines:
            spans: list[Span] = []
            for cell, width in zip(row[:-1], widths[:-1], strict=True):
                spans.extend(cell)
                spans.append(Span(" " * (width - _width(cell) + 2)))
            hang = sum(widths[:-1]) + 2 * len(widths[:-1])
            self._lines.append(_Line((*spans, *row[-1]), indent, hang, len(spans)))
        return self

    def add(self, other: Page) -> Page:
        """Add the lines of another page, behind an empty line."""
        return self.gap().add_below(other) if other._lines else self

    def add_below(self, other: Page) -> Page:
        """Add the lines of another page right below."""
        self._lines.extend(other._lines)
        return self

    def text(self, look: Look = PLAIN_LOOK) -> str:
        """Return the page as text that ends with a line break; empty if the page is."""
        return "".join(row + "\n" for line in self._lines for row in _rows(line, look))

    def lines(self) -> Iterator[tuple[Span, ...]]:
        """Yield the pieces of each line, with its indent, as it is where there is room for it."""
        for line in self._lines:
            yield (Span(" " * line.indent), *line.spans) if line.spans else ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:  # rich's
        """Yield the page for a console of rich, which leaves out the styles where it has none."""
        from rich.text import Text

        look = Look(options.max_width, colour=True, ascii_only=not options.encoding.startswith("utf"))
        yield Text.from_ansi(self.text(look).removesuffix("\n"))


def _spans(parts: Iterable[Part]) -> tuple[Span, ...]:
    spans = (part if isinstance(part, Span) else Span(part) for part in parts)
    return tuple(Span(printable(span.text), span.style) for span in spans if span.text)


def _width(spans: Iterable[Span]) -> int:
    return sum(width_of(span.text) for span in spans)


def _rows(line: _Line, look: Look) -> list[str]:
    """Return the rows that a line takes: one, unless it is wrapped."""
    spans = line.spans
    if look.ascii_only:
        spans = tuple(Span(span.text.translate(_ASCII), span.style) for span in spans)
    margin = " " * line.indent
    if look.columns is None or line.indent + _width(spans) <= look.columns:
        return [(margin + _set(spans, look)).rstrip(" ")]
    room = max(20, look.columns - line.indent)
    if line.hang <= room // 2:
        wrapped = _wrapped(spans, room, line.hang)
    elif line.head == 0:
        wrapped = _wrapped(spans, room, HANG_CAPPED)
    else:
        below = (Span(" " * HANG_CAPPED), *spans[line.head :])
        wrapped = [row for part in (spans[: line.head], below) for row in _wrapped(part, room, HANG_CAPPED)]
    return [(margin + _set(row, look)).rstrip(" ") for row in wrapped]


def _wrapped(spans: Sequence[Span], room: int, hang: int) -> list[list[Span]]:
    """Break spans at blanks.

    A word that is wider than the room stays whole, and so does a name, such as a command: the terminal wraps it, and
    what is copied from there has no line break in it.
    """
    rows: list[list[Span]] = [[]]
    used = 0
    for span in spans:
        for piece in [span.text] if span.style is Style.NAME else _pieces(span.text):
            width = width_of(piece)
            fresh = not rows[-1] or (len(rows) > 1 and len(rows[-1]) == 1)
            word = width_of(piece.rstrip(" "))
            if word and used + word > room and not fresh:
                rows.append([Span(" " * hang)])
                used = hang
                piece = piece.lstrip(" ")
                width = width_of(piece)
            rows[-1].append(Span(piece, span.style))
            used += width
    return rows


def _pieces(text: str) -> list[str]:
    """Return words with the blanks behind them; blanks at the beginning are a piece of their own."""
    pieces: list[str] = []
    start = 0
    for position in range(1, len(text)):
        if text[position - 1] == " " and text[position] != " ":
            pieces.append(text[start:position])
            start = position
    pieces.append(text[start:])
    return pieces


def _set(spans: Iterable[Span], look: Look) -> str:
    if not look.colour:
        return "".join(span.text for span in spans)
    runs = groupby(spans, key=lambda span: span.style)
    return "".join(_coded("".join(span.text for span in run), style) for style, run in runs)


def _coded(text: str, style: Style) -> str:
    return f"\x1b[{style.value}m{text}\x1b[0m" if style.value else text


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
