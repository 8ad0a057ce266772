"""The limits that a run used, what its doors declare, and the calls that its outcome was derived from."""

from __future__ import annotations

from typing import NamedTuple

from chaosagent.event_loop.virtual_time import VirtualLoop
from chaosagent.execution.run.live_run import LiveRun
from chaosagent.faults.injection import Place
from chaosagent.trace.provenance import origins
from chaosagent.trace.reached_limit import reached_limit
from chaosagent.vocabulary import LIMITS_REACHED, Ending


class Usage(NamedTuple):
    """The same-named fields of `Evaluation`.

    Attributes:
        spent: The largest share of one of its limits that the run has used.
        spent_limit: Which limit.
        declares_effects: Some door declares effects.
        tied: A wait and a time-out have ended at the same instant.
    """

    spent: float
    spent_limit: str
    declares_effects: bool
    tied: bool = False


def usage_of(run: LiveRun, ending: Ending, exceeded: str) -> Usage:
    """Return what a run has used, before it lets go of its doors.

    Args:
        run: That has just ended.
        ending: How it ended.
        exceeded: The limit that a first run under the same schedule has reached; empty when there was none.
    """
    declares_effects = any(door.options.effects for door in run.doors.values())
    if exceeded:
        return Usage(1.0, reached_limit(exceeded).key, declares_effects)
    loop, limits = run.loop, run.recorder.limits
    spent, key, tied = len(run.recorder.steps) / max(1, limits.steps_max), "run.steps", False
    if isinstance(loop, VirtualLoop):
        tied = loop.tied
        turns, seconds = loop.shares
        if turns > spent:
            spent, key = turns, "run.turns" if limits.turns_max <= limits.turns_total_max else "run.turns_total"
        if seconds > spent:
            spent, key = seconds, "run.virtual_seconds"
    return Usage(1.0 if ending in LIMITS_REACHED else min(1.0, spent), key, declares_effects, tied)


def support_of(run: LiveRun) -> tuple[Place, ...] | None:
    """Return the calls that the outcome was derived from; `None` when the target has not linked it to anything."""
    declared = [link for step in run.recorder.steps for link in step.links]
    found = origins([*declared, *run.recorder.links])
    calls = sorted({crossing.place._replace(attempt=0) for crossing in run.crossings})
    return tuple(call for call in calls if str(call) in found) if found else None
