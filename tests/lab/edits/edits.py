"""Random edits of agents, by kind, each kind with the outcomes that are right for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from chaosagent.replays.outcome import ReplayOutcome
from tests.lab.edits.agents import READS, WRITES, Agent, Statement

HELD, VIOLATED, CHANGED, MOVED = (
    ReplayOutcome.HELD,
    ReplayOutcome.VIOLATED,
    ReplayOutcome.CHANGED,
    ReplayOutcome.MOVED,
)
NOT_LANDED = ReplayOutcome.NOT_LANDED


@dataclass(frozen=True)
class Kind:
    """A kind of edits.

    Attributes:
        name: As reports call it.
        expected: The outcomes that are right.
        edit: Makes one.
        is_fix: What was wrong is right afterwards, so that at least 95 % must be HELD.
        is_loosened: The violated contract, where it is the user's own, asks for less.
        is_partial: Only the recorded call is right afterwards; brute force, which tries all, may still break others.
    """

    name: str
    expected: frozenset[ReplayOutcome]
    edit: Callable[[Agent, random.Random], Agent]
    is_fix: bool = False
    is_loosened: bool = False
    is_partial: bool = False


def with_weak(agent: Agent, **changes: object) -> Agent:
    """Return an agent whose vulnerable statement has changed."""
    changed = replace(agent.weak, **changes)  # type: ignore[arg-type]  # fields of a statement
    return _with(agent, agent.vulnerable, changed)


def _with(agent: Agent, at: int, statement: Statement) -> Agent:
    return replace(agent, statements=(*agent.statements[:at], statement, *agent.statements[at + 1 :]))


def inserted(agent: Agent, at: int, statement: Statement) -> Agent:
    """Return an agent that does one thing more."""
    statements = (*agent.statements[:at], statement, *agent.statements[at:])
    return replace(agent, statements=statements, vulnerable=agent.vulnerable + (at <= agent.vulnerable))


def mended(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent none of whose statements is vulnerable any more."""
    if agent.weak.kind == "write":
        return _all_weak(agent, policy=rng.choice(("keyed", "once", "checked before", "checked after")))
    return _all_weak(agent, policy="safe")


def _all_weak(agent: Agent, **changes: object) -> Agent:
    """Return an agent whose vulnerable statements, which share a function, have changed."""
    statements = tuple(
        replace(one, **changes) if one.policy == "naive" else one  # type: ignore[arg-type]  # fields of a statement
        for one in agent.statements
    )
    return replace(agent, statements=statements)


def _keep(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent that does the same; what it notes to itself is no call."""
    del rng
    return agent


def _shifted(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent with one more call of the recorded operation before it, or between two faults."""
    if agent.weak.kind == "write" and rng.random() < 0.5:
        return inserted(agent, agent.vulnerable, replace(agent.weak, order=8, policy="keyed"))
    return _looking_once_more(agent, rng)


def _looking_once_more(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent that looks once more whether something was done, before the vulnerable statement."""
    weak, policy = agent.weak, rng.choice(("ignored", "retried"))
    extra = replace(weak, kind="read", operation=f"find_{weak.operation}", order=rng.choice((7, 8)), policy=policy)
    return inserted(agent, rng.randint(0, agent.vulnerable), extra)


def _with_reads(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent with more reads of other things, anywhere."""
    for _ in range(rng.randint(1, 2)):
        service, operation = rng.choice(READS)
        policy = rng.choice(("retried", "ignored"))
        extra = Statement("read", service, operation, rng.choice((7, 8, 9)), policy)
        agent = inserted(agent, rng.randint(0, len(agent.statements)), extra)
    return agent


def _without_reads(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent without one of its reads, if it has any."""
    reads = [number for number, one in enumerate(agent.statements) if one.kind == "read"]
    if not reads:
        return agent
    at = rng.choice(reads)
    statements = (*agent.statements[:at], *agent.statements[at + 1 :])
    return replace(agent, statements=statements, vulnerable=agent.vulnerable - (at < agent.vulnerable))


def _moved(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent that does the vulnerable thing earlier or later."""
    others = (*agent.statements[: agent.vulnerable], *agent.statements[agent.vulnerable + 1 :])
    at = rng.randint(0, len(others))
    return replace(agent, statements=(*others[:at], agent.weak, *others[at:]), vulnerable=at)


def _with_another_name(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent whose calls have another name of an argument."""
    del rng
    return replace(agent, statements=tuple(replace(one, name="id") for one in agent.statements))


def _at_another_service(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent whose vulnerable statement calls a renamed service, or another one that is there."""
    names = {one.service for one in agent.statements} - {agent.weak.service}
    return with_weak(agent, service=rng.choice((f"{agent.weak.service}_v2", *sorted(names))))


NEUTRAL: tuple[Callable[[Agent, random.Random], Agent], ...] = (_keep, _with_reads, _without_reads, _moved)


def _fix(agent: Agent, rng: random.Random) -> Agent:
    return rng.choice(NEUTRAL)(mended(agent, rng), rng)


def _fix_and_name(agent: Agent, rng: random.Random) -> Agent:
    return _with_another_name(mended(agent, rng), rng)


def _fix_and_shift(agent: Agent, rng: random.Random) -> Agent:
    return mended(_looking_once_more(agent, rng), rng)


def _fix_without_the_call(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent that does not look whether something was done, as it does it once."""
    if agent.weak.kind == "write":
        return mended(agent, rng)
    return _all_weak(agent, kind="write", policy=rng.choice(("keyed", "once")))


def _fix_barely(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent that looks before it writes, and crashes where it cannot."""
    del rng
    return _all_weak(agent, kind="write", policy="checked barely")


def _fix_one(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent of whose vulnerable statements only the first is repaired."""
    policy = rng.choice(("keyed", "once")) if agent.weak.kind == "write" else "safe"
    return with_weak(agent, policy=policy)


def _fix_and_declare(agent: Agent, rng: random.Random) -> Agent:
    return _otherwise_declared(mended(agent, rng), rng)


def _fix_elsewhere(agent: Agent, rng: random.Random) -> Agent:
    return _at_another_service(mended(agent, rng), rng)


def _fails(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent that crashes or waits for ever where it did too much."""
    return rng.choice(NEUTRAL)(with_weak(agent, policy=rng.choice(("crashing", "hanging"))), rng)


def _crashes(agent: Agent, rng: random.Random) -> Agent:
    return replace(mended(agent, rng), crashes=True)


def _twice(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent that does everything right, and always twice."""
    weak = replace(agent.weak, kind="write", policy="once")
    return inserted(_with(agent, agent.vulnerable, weak), rng.randint(0, agent.vulnerable), weak)


def _more(agent: Agent, rng: random.Random) -> Agent:
    """Return a repaired agent that does something else, too."""
    service, operation = rng.choice(WRITES)
    extra = Statement("write", service, operation, 99, "keyed")
    return inserted(mended(agent, rng), rng.randint(0, len(agent.statements)), extra)


def _less(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent that does not do the vulnerable thing any more."""
    del rng
    return with_weak(agent, kind="read", operation="get", policy="ignored")


def _undeclared(agent: Agent, rng: random.Random) -> Agent:
    return replace(agent, effects=rng.choice(("not at all", "with a fresh number", "harmless")))


def _otherwise_declared(agent: Agent, rng: random.Random) -> Agent:
    del rng
    return replace(agent, kinds="new_")


def kind(
    name: str,
    edit: Callable[[Agent, random.Random], Agent],
    *expected: ReplayOutcome,
    is_fix: bool = False,
    is_loosened: bool = False,
    is_partial: bool = False,
) -> Kind:
    """Return a kind of edits."""
    return Kind(name, frozenset(expected), edit, is_fix, is_loosened, is_partial)


KINDS = (
    kind("fixed, with or without harmless edits", _fix, HELD, MOVED, CHANGED, is_fix=True),
    kind("fixed, an argument renamed", _fix_and_name, HELD, MOVED, CHANGED, is_fix=True),
    kind("fixed, a call more of the same operation", _fix_and_shift, HELD, MOVED, CHANGED, is_fix=True),
    kind("fixed, the recorded call left out", _fix_without_the_call, HELD, MOVED, NOT_LANDED),
    kind("fixed, by a read that may fail", _fix_barely, HELD, VIOLATED, MOVED, is_partial=True),
    kind("fixed, one of two", _fix_one, HELD, VIOLATED, is_partial=True),
    kind("fixed, service renamed or merged", _fix_elsewhere, HELD, MOVED, CHANGED),
    kind("fixed, effects declared of another kind", _fix_and_declare, CHANGED),
    kind("unchanged", _keep, VIOLATED),
    kind("shifted by a call of the same operation", _shifted, VIOLATED),
    kind("calls added", _with_reads, VIOLATED),
    kind("calls removed", _without_reads, VIOLATED),
    kind("moved earlier or later", _moved, VIOLATED),
    kind("an argument renamed", _with_another_name, VIOLATED),
    kind("service renamed or merged", _at_another_service, VIOLATED, MOVED, CHANGED),
    kind("crashes or hangs under the fault", _fails, VIOLATED),
    kind("fixed, and always crashes", _crashes, VIOLATED),
    kind("always does it twice", _twice, VIOLATED),
    kind("fixed, and does something else, too", _more, CHANGED),
    kind("does nothing any more", _less, CHANGED, VIOLATED),
    kind("effects declared less strictly", _undeclared, CHANGED, VIOLATED),
    kind("effects declared of another kind", _otherwise_declared, CHANGED, VIOLATED),
    kind("contract loosened", _keep, CHANGED, VIOLATED, is_loosened=True),
)
