"""What a counterexample did to the world, in a line."""

from __future__ import annotations

from collections import Counter

from chaosagent.contracts.contract import Nominal
from chaosagent.report.story import describe_effect
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending

BY_EXTRA = ("at-most-once", "no-extra-effects")
BY_EFFECTS = (*BY_EXTRA, "all-or-nothing", "objective")
"""Contracts that compare what was committed; for others the reason of the violation tells more."""


def headline_of(trace: Trace, nominal: Nominal, contract: str) -> str:
    """Return what a run did to the world that the run without faults did not, or how it ended.

    Args:
        trace: Of the run under faults.
        nominal: What the run without faults committed.
        contract: That is broken.
    """
    verdict = next((one for one in trace.verdicts if one.contract == contract), None)
    reason = "" if verdict is None or verdict.violation is None else verdict.violation.reason
    if contract not in BY_EFFECTS:
        if contract == "no-crash" and trace.ending is Ending.CRASHED:
            return _end(trace)
        return reason or _end(trace) or f"{contract} is broken"
    extra, missing = differences_of(trace, nominal)
    lines = [*map(_extra, extra), *map(_missing, missing)]
    if contract not in BY_EXTRA:
        lines = [*map(_missing, missing), *map(_extra, extra)]
    if lines:
        more = len(lines) - 1
        others = "one more effect differs" if more == 1 else f"{more} more effects differ"
        return f"{lines[0]}, and {others}" if more else lines[0]
    return _end(trace) or reason or f"{contract} is broken"


Difference = tuple[str, int, int]


def differences_of(trace: Trace, nominal: Nominal) -> tuple[list[Difference], list[Difference]]:
    """Return what was committed more often, and less often, than without faults: the effect, here, without faults."""
    here = Counter(map(describe_effect, trace.effects))
    before = Counter(map(describe_effect, nominal.effects))
    extra = [(effect, count, before[effect]) for effect, count in here.items() if count > before[effect]]
    missing = [(effect, here[effect], count) for effect, count in before.items() if here[effect] < count]
    return extra, missing


def _extra(one: Difference) -> str:
    effect, here, before = one
    if not before:
        return f"{effect} is committed; without faults it is not"
    return f"{effect} is committed {_times(here)}; without faults {_times(before)}"


def _missing(one: Difference) -> str:
    effect, here, before = one
    return f"{effect} never happens" if not here else f"{effect} is committed {_times(here)}, not {_times(before)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _end(trace: Trace) -> str:
    if trace.ending is Ending.FINISHED:
        return ""
    if trace.ending is Ending.CRASHED:
        return f"the run crashes: {trace.own_detail}" if trace.own_detail else "the run crashes"
    return f"the run does not finish: {trace.ending.value}"
