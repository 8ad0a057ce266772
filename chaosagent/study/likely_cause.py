"""What most often makes two runs of a target differ, from where they differ first."""

from __future__ import annotations

import re
from collections import Counter

from chaosagent.faults.difference import NO_CALL
from chaosagent.trace.diff import Difference

OR_PIN = "or pin it: `with chaosagent.deterministic(run):`"
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_TIME = re.compile(r"\b(19|20)\d\d-[01]\d-[0-3]\d([T ]\d\d:\d\d)?|\b1[5-9]\d{8}(\.\d+)?\b")
_DRAWN = re.compile(r"\b[0-9a-f]{16,}\b|\b0\.\d{9,}|\b\d\.\d{9,}e-\d\d\b")  # a token, or what random() gives


def likely_cause(difference: Difference, *, in_one_process: bool = True) -> str:
    """Say what most often makes two runs differ in this way, and what to do about it."""
    expected, got = difference.expected, difference.got
    if difference.field in ("asked_at", "arrived_at", "asked at", "answered at"):
        return "real time passes into virtual time, for example through a thread; wait with run.clock.sleep"
    if difference.field == NO_CALL:
        return "a random number from elsewhere than run.rng(label), or the wall clock, in what no call shows"
    if _UUID.search(expected) and _UUID.search(got):
        return f"a uuid; draw it from run.rng(label), {OR_PIN}"
    if _TIME.search(expected) and _TIME.search(got):
        return f"the wall clock; ask run.clock.now(), {OR_PIN}"
    if _DRAWN.search(expected) and _DRAWN.search(got):
        return f"a generated id or a random number; draw it from run.rng(label), {OR_PIN}"
    if expected != got and Counter(expected) == Counter(got):
        return "the order of a set, or of what threads finish; sort it"
    if not in_one_process:
        return "the order of a set, `hash()`, or something that the process keeps between runs; sort, or keep nothing"
    if difference.field == "steps":
        return "something kept between runs, such as a cache in a module's variable; make the world within the function"
    if difference.field in ("interface", "operation", "occurrence", "agent", "place", "calls"):
        return (
            "something kept between runs in a module's variable, or an order of calls that depends on chance, such as "
            "that of a set or of threads; make the world within the function, and fix the order"
        )
    return (
        f"a random number; draw it from run.rng(label), {OR_PIN}; or something kept between runs in a module's variable"
    )
