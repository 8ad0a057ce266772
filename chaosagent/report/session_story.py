"""What a session of `chaosagent proxy` recorded, as a person would tell it: no finding, but what crossed."""

from __future__ import annotations

import shlex
from pathlib import Path

from chaosagent.replays.record import ReplayRecord
from chaosagent.report.page import Page, faint, name, notice, strong
from chaosagent.report.story import describe_injections, describe_trace, quantity, window_of
from chaosagent.vocabulary import Landing

STEPS_SHOWN = 20
"""Steps of a session in which nothing was injected that are shown unless all are asked for."""


def session_story(record: ReplayRecord, path: Path | None = None, *, whole: bool = False) -> Page:
    """Tell a session: how much crossed, what was injected, and what happened.

    Args:
        record: Of the session.
        path: Where it is stored, for the command at the end.
        whole: Show every step of the trace; otherwise those around injections, or the first `STEPS_SHOWN`.
    """
    steps = record.trace.steps
    landed = [step for step in steps if step.landed is not None and step.landed.landing is Landing.LANDED]
    page = Page()
    page.line(strong("A session of `chaosagent proxy`"), faint(f"   {record.id}"))
    calls, injections = quantity(len(steps), "call").capitalize(), quantity(len(landed), "injection")
    page.gap().line(f"{calls} crossed, {injections} landed. It is a recording and no finding: nothing was searched.")
    if record.schedule.injections:
        page.heading("The schedule")
        describe_injections(page, record)
        if not landed:
            page.line(notice("nothing of it landed"), indent=2)
    shown = range(len(steps)) if whole else window_of(record.trace, -1) or range(min(len(steps), STEPS_SHOWN))
    describe_trace(page, record.trace, shown)
    if path is not None:
        page.heading("Let it answer again")
        page.line(name(f"chaosagent proxy --replay {shlex.quote(str(path))}"), indent=2)
        page.line("with the models, services and MCP servers that the session was given", indent=2)
    return page
