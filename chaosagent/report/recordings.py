"""Recordings as a person would tell them, which are no findings: sessions of the proxy, and runs without faults."""

from __future__ import annotations

import shlex
from pathlib import Path

from chaosagent.replays.record import ReplayRecord
from chaosagent.report.page import Page, faint, name, notice, strong
from chaosagent.report.story import (
    describe_effect,
    describe_injections,
    describe_trace,
    quantity,
    replay_command,
    story_of,
    window_of,
)
from chaosagent.vocabulary import Ending, Landing

OBJECTIVE = {True: ", the objective was met", False: ", the objective was not met", None: ""}

STEPS_SHOWN = 20
"""Steps of a recording in which nothing was injected that are shown unless all are asked for."""


def record_story(record: ReplayRecord, path: Path | None = None, *, whole: bool = False) -> Page:
    """Tell what a record is of: a counterexample, a session of the proxy, or a run without faults.

    Args:
        record: Of any of these kinds.
        path: Where it is stored, for the commands at the end.
        whole: Show every step of the trace.
    """
    if record.is_session:
        return session_story(record, path, whole=whole)
    if record.is_nominal:
        return nominal_story(record, path, whole=whole)
    return story_of(record, path, whole=whole)


def nominal_story(record: ReplayRecord, path: Path | None = None, *, whole: bool = False) -> Page:
    """Tell a run without faults: what it called, what it committed, and how the task ended.

    Args:
        record: Of the run.
        path: Where it is stored, for the commands at the end.
        whole: Show every step of the trace; otherwise the first `STEPS_SHOWN`.
    """
    trace, page = record.trace, Page()
    page.line(strong(f"{record.task.id} without faults"), faint(f"   {record.id}"))
    page.line(faint(f"target {record.target_name}, configuration {record.config.name}, seed {record.seed}"))
    steps = quantity(len(trace.steps), "step").capitalize()
    page.gap().line(f"{steps}. It is a recording and no finding: a later run is to end in the same way.")
    count = len(trace.steps) if whole else min(len(trace.steps), STEPS_SHOWN)
    describe_trace(page, trace, range(count), whole=whole)
    page.heading("How the task ended")
    page.line(f"{trace.ending.value}{OBJECTIVE[trace.outcome.success]}", indent=2)
    for effect in trace.effects:
        page.line(faint("committed: "), describe_effect(effect), indent=2)
    if path is not None:
        page.heading("Run it again")
        replayed = name(replay_command(record.target_reference, path))
        exact = name(replay_command(record.target_reference, path, "--mode exact"))
        page.table((), [(replayed, "does the task still end so?"), (exact, "offline, bit for bit")])
    return page


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
    if record.trace.ending is Ending.INCONCLUSIVE:
        page.line(notice(record.trace.ending_detail))
    if record.schedule.injections:
        page.heading("The schedule")
        describe_injections(page, record)
        if not landed:
            page.line(notice("nothing of it landed"), indent=2)
    shown = range(len(steps)) if whole else window_of(record.trace, -1) or range(min(len(steps), STEPS_SHOWN))
    describe_trace(page, record.trace, shown, whole=whole)
    if path is not None:
        page.heading("Let it answer again")
        page.line(name(f"chaosagent proxy --replay {shlex.quote(str(path))}"), indent=2)
        page.line("with the models, services and MCP servers that the session was given", indent=2)
    return page
