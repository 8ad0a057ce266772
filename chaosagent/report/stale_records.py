"""Stale records in a study's folder: those that this run did not write or could not write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaosagent.report.page import Page, notice
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity

REASONS_MAX = 3
NAMES_MAX = 3


@dataclass(frozen=True, slots=True)
class StaleRecords:
    """Records that a run has not written, or could not write.

    Attributes:
        removed: Those of earlier runs that were removed, as this one has found others in their place, or nothing.
        kept: Those of earlier runs that were not found again, in searches that did not come to an end.
        others: Those in the folder that no run of this study has written.
        unwritten: Why there is no record of a counterexample, a sentence each.
    """

    removed: Sequence[Path] = ()
    kept: Sequence[Path] = ()
    others: Sequence[Path] = ()
    unwritten: Sequence[str] = ()


def report_stale_records(page: Page, folder: Path, leftovers: StaleRecords) -> None:
    """Tell what became of them."""
    for reason in leftovers.unwritten[:REASONS_MAX]:
        page.gap().line(notice("A counterexample has no record: "), printable(reason, characters_max=600))
    if leftovers.removed:
        page.gap().line(
            f"{quantity(len(leftovers.removed), 'record').capitalize()} of an earlier run removed: "
            "the same searches now have cheaper counterexamples, or none."
        )
    if leftovers.kept:
        page.gap().line(
            notice(f"{quantity(len(leftovers.kept), 'record').capitalize()} of an earlier run kept: "),
            f"not found again yet, and their searches are open: {_named(leftovers.kept)}",
        )
    if leftovers.others:
        page.gap().line(
            notice(f"{folder} also holds {quantity(len(leftovers.others), 'record')} that this search did not write: "),
            f"{_named(leftovers.others)}. `chaosagent replay` runs what is there, too.",
        )


def _named(paths: Sequence[Path]) -> str:
    names = ", ".join(path.name for path in paths[:NAMES_MAX])
    return f"{names} ... {len(paths) - NAMES_MAX} more" if len(paths) > NAMES_MAX else names
