"""What the options of several verbs share: the formats of the answer, and numbers within bounds."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from chaosagent.cli import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaosagent.report.formats.cases import Case

json_flag = click.option("--json", is_flag=True, help="Print one JSON object.")
junit_file = click.option(
    "--junit", type=click.Path(path_type=Path), metavar="FILE.xml", help="Write JUnit XML there, too."
)
sarif_file = click.option(
    "--sarif",
    type=click.Path(path_type=Path),
    metavar="FILE.sarif",
    help="Write SARIF there, too, for code scanning.",
)
github_flag = click.option(
    "--github",
    is_flag=True,
    help="On GitHub Actions: annotate what failed or is known, and add a table to the step summary.",
)


class Number(click.FloatRange):
    """A number within bounds; NaN, which is neither too small nor too large, is none."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is no number.", param, ctx)
        return found


class Formats(NamedTuple):
    """What is to be written besides the answer."""

    junit: Path | None
    sarif: Path | None
    github: bool

    def check(self) -> None:
        """Refuse files that could not be written, and one for two formats, before anything is run."""
        from chaosagent.errors import UsageError

        if self.junit is not None and self.sarif is not None and self.junit.resolve() == self.sarif.resolve():
            raise UsageError(f"--junit and --sarif both name {self.sarif}. Give each a file of its own.")
        for path in (self.junit, self.sarif):
            if path is not None:
                output.check_place(path)

    def write(self, title: str, cases: Sequence[Case], about: Path | None = None) -> None:
        """Write all of it.

        Args:
            title: Such as `"chaosagent replay"`.
            cases: In their order.
            about: The file that cases are about which name none.
        """
        if about is not None:
            cases = [case if case.path else case._replace(path=str(about)) for case in cases]
        if self.junit is not None:
            from chaosagent.report.formats.junit import junit_xml

            self.junit.write_text(junit_xml(title, cases), encoding="utf-8")
        if self.sarif is not None:
            from chaosagent.report.formats.sarif import sarif_json

            self.sarif.write_text(sarif_json(title, cases), encoding="utf-8")
        if self.github:
            from chaosagent.report.formats.github import workflow_commands

            for line in workflow_commands(cases):
                output.command(line)
            _add_summary(title, cases)


def _add_summary(title: str, cases: Sequence[Case]) -> None:
    """Add a table to the summary of the step; where that fails, the answer counts all the same."""
    from chaosagent.report.formats.github import step_summary

    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        try:
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(step_summary(title, cases))
        except OSError as error:
            output.remark(f"chaosagent: no step summary: {place} cannot be written: {error.strerror}.")
