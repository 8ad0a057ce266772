"""The options of `search`, `replay` and `check` for the formats of other tools."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import typer

from chaosagent.cli import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaosagent.report.formats.cases import Case

JUnit: TypeAlias = Annotated[
    Path | None, typer.Option("--junit", help="Write JUnit XML there, too.", metavar="FILE.xml", show_default=False)
]
Sarif: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--sarif", help="Write SARIF there, too, for code scanning.", metavar="FILE.sarif", show_default=False
    ),
]
GitHub: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--github", help="On GitHub Actions: annotate what failed or is known, and add a table to the step summary."
    ),
]


class Formats(NamedTuple):
    """What is to be written besides the answer."""

    junit: Path | None
    sarif: Path | None
    github: bool

    def check(self) -> None:
        """Refuse files that could not be written, before anything is run."""
        for path in (self.junit, self.sarif):
            if path is not None:
                output.check_place(path)

    def write(self, title: str, cases: Sequence[Case]) -> None:
        """Write all of it.

        Args:
            title: Such as `"chaosagent replay"`.
            cases: In their order.
        """
        if self.junit is not None:
            from chaosagent.report.formats.junit import junit_xml

            self.junit.write_text(junit_xml(title, cases), encoding="utf-8")
        if self.sarif is not None:
            from chaosagent.report.formats.sarif import sarif_json

            self.sarif.write_text(sarif_json(title, cases), encoding="utf-8")
        if self.github:
            from chaosagent.report.formats.github import step_summary, workflow_commands

            for line in workflow_commands(cases):
                output.remark(line)
            summary = os.environ.get("GITHUB_STEP_SUMMARY")
            if summary:
                with Path(summary).open("a", encoding="utf-8") as file:
                    file.write(step_summary(title, cases))
