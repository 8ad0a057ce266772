"""The result of `chaosagent doctor` as a page."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.report.page import Page, Span, bad, faint, good, notice, strong
from chaosagent.study.determinism.preflight import Level, Remark

_MARKS: dict[Level, Span] = {Level.GOOD: good("✓ "), Level.HINT: notice("- "), Level.BAD: bad("✗ ")}


def preflight_page(title: str, remarks: Sequence[Remark]) -> Page:
    """Return remarks as a page, with their remedies and a last line that sums up.

    Args:
        title: What was looked at, as a study file names it.
        remarks: In the order in which they are shown.
    """
    page = Page().line(strong(title))
    for remark in remarks:
        text, *further = remark.text.split("\n")
        page.line(_MARKS[remark.level], strong(remark.about), f": {text}", hang=4)
        for line in further:
            page.line(line, indent=6, hang=0)
        if remark.remedy:
            page.line(remark.remedy, indent=4, hang=0)
    broken, better = (sum(remark.level is level for remark in remarks) for level in (Level.BAD, Level.HINT))
    if broken:
        page.gap().line(bad(f"{broken} to fix before a search"), f", {better} that could be better" if better else "")
    else:
        page.gap().line(good("Ready to be searched"), f"; {better} could be better" if better else "")
        page.line(faint(f"Next: write `target: {title}` into a file study.yaml, and search it."), hang=0)
    return page
