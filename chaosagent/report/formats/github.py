"""Annotations and the step summary of GitHub Actions, and tables for its comments."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from chaosagent.report.formats.cases import TEXT_MAX, Case
from chaosagent.report.printable import printable

ANNOTATIONS_MAX = 10
"""Of each kind, as GitHub shows no more for a step."""
ROWS_MAX = 200
_COMMAND = re.compile(r"(\A|[\r\n])(\s*):(?=:)|##\[")
"""`::` where a line begins, and the older `##[` anywhere."""
EMPTY_COMMENT = "<!-- -->"
_REFERENCE = re.compile(r"[@#]|GH-|:(?=//)|www(?=\.)", re.IGNORECASE)
"""What begins a user, an issue or a link."""
SIGNS = {"passed": "✓", "failed": "✗", "known": "known", "open": "open", "error": "error"}


def is_here() -> bool:
    """Return whether GitHub's runner reads what this process prints, and obeys the commands in it."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def inert(text: str) -> str:
    """Return a text in which the runner finds no command, as escapes; unchanged where no runner reads it."""
    return _COMMAND.sub(_escaped, text) if is_here() else text


def _escaped(found: re.Match[str]) -> str:
    return "#\\x23[" if found[1] is None else f"{found[1]}{found[2]}\\x3a"


def workflow_commands(cases: Sequence[Case]) -> list[str]:
    """Return workflow commands: an error for what failed, a warning beside what passed, a notice for what is known."""
    failed = [case for case in cases if case.status in ("failed", "error")][:ANNOTATIONS_MAX]
    known = [case for case in cases if case.status == "known"][:ANNOTATIONS_MAX]
    warned = [case for case in cases if case.warning][:ANNOTATIONS_MAX]
    told = [_command("error", case, case.message) for case in failed]
    told += [_command("warning", case, case.warning) for case in warned]
    return told + [_command("notice", case, case.message) for case in known]


def step_summary(title: str, cases: Sequence[Case]) -> str:
    """Return a Markdown table of cases, those that failed first."""
    order = list(SIGNS)
    counts = ", ".join(
        f"{number} {status}" for status in order for number in [sum(case.status == status for case in cases)] if number
    )
    listed = sorted(cases, key=lambda case: ("failed", "error", "known", "open", "passed").index(case.status))
    rows = [(SIGNS[case.status], case.rule, case.name, _said(case)) for case in listed]
    return f"### {title}: {counts or 'nothing'}\n\n{markdown_table(('', 'contract', 'what', ''), rows)}"


def _said(case: Case) -> str:
    return f"{case.message}; {case.warning}" if case.warning else case.message


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, cut behind many rows; nothing in a cell is Markdown or HTML."""
    lines = [head, ["---"] * len(head), *([*map(markdown_text, row)] for row in rows[:ROWS_MAX])]
    more = f"\n{len(rows) - ROWS_MAX} more\n" if len(rows) > ROWS_MAX else ""
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + more


def _command(kind: str, case: Case, message: str) -> str:
    line = f"line={case.line}," if case.line else ""
    place = f"file={_property(case.path)},{line}" if case.path else ""
    title = _property(f"{case.rule}: {case.status}" if case.rule else case.status)
    return f"::{kind} {place}title={title}::{_data(f'{case.name}: {message}')}"


def _data(text: str) -> str:
    """Escape a text, so that nothing in it ends the command or begins another."""
    return printable(text, characters_max=TEXT_MAX).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def markdown_text(text: str) -> str:
    r"""Escape a text, so that it is no Markdown and no HTML, names no user, issue or link, and stays in its cell.

    GitHub looks for users, issues and links in what it has rendered, where no escape is left: `\@name` calls the user.
    An empty comment keeps them apart, and what is copied from the page is the text.
    """
    shown = printable(text, characters_max=300).replace("\n", " ").replace("&", "&amp;").replace("<", "&lt;")
    escaped = "".join(f"\\{character}" if character in "\\`*_[]|~#>@" else character for character in shown)
    return _REFERENCE.sub(f"\\g<0>{EMPTY_COMMENT}", escaped)
