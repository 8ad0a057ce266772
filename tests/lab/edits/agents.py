"""Random agents: short lists of statements, one of which is vulnerable, and the world behind their doors."""

from __future__ import annotations

import asyncio
import functools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import End
from chaosagent.contracts.custom import contract
from chaosagent.effects.rule import EffectRule
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Effect, Impact, Outcome, Task

READS = (("orders", "get"), ("orders", "list"), ("stock", "level"), ("mail", "inbox"), ("crm", "customer"))
WRITES = (("payments", "refund"), ("payments", "charge"), ("mail", "send"), ("stock", "release"))
READING = ("retried", "retried", "ignored", "ignored", "bare")
FAILURES = (ConnectionError, TimeoutError)
TRIES = 3
SINGLE = "tools"


@dataclass(frozen=True)
class Statement:
    """One thing that an agent does.

    Attributes:
        kind: `"read"`, `"write"`, `"ensure"` (write, and write again unless it is found), or `"recover"` (the same, but
            look only after a failure).
        service: Whose operation it is.
        operation: Its name.
        order: What it is about.
        policy: What is done when a call fails; the words depend on the kind.
        name: Of the argument.
    """

    kind: str
    service: str
    operation: str
    order: int
    policy: str
    name: str = "order"


@dataclass(frozen=True)
class Agent:
    """A target.

    Attributes:
        statements: What it does, in order.
        vulnerable: Index of the statement that a fault breaks.
        single_door: All operations are those of one service.
        effects: How effects are declared: `"as they are"`, `"not at all"`, `"with a fresh number"` or `"harmless"`.
        kinds: What the kinds of the effects begin with.
        crashes: It crashes at the end, whatever happens.
    """

    statements: tuple[Statement, ...]
    vulnerable: int
    single_door: bool = False
    effects: str = "as they are"
    kinds: str = ""
    crashes: bool = False

    @property
    def weak(self) -> Statement:
        """The vulnerable statement."""
        return self.statements[self.vulnerable]


def random_agent(rng: random.Random) -> Agent:
    """Return an agent that one fault, or two, make write twice."""
    statements = [_harmless(rng, number) for number in range(rng.randrange(5))]
    service, operation = rng.choice(WRITES)
    weak = Statement(rng.choice(("write", "write", "ensure", "recover")), service, operation, 7, "naive")
    at = rng.randint(0, len(statements))
    if rng.random() < 0.2:
        statements.append(replace(weak, order=8))
    return Agent((*statements[:at], weak, *statements[at:]), at, single_door=rng.random() < 0.3)


def _harmless(rng: random.Random, number: int) -> Statement:
    """Return a statement that no fault makes write twice."""
    if rng.random() < 0.7:
        service, operation = rng.choice(READS)
        return Statement("read", service, operation, rng.choice((7, 7, 8, number)), rng.choice(READING))
    service, operation = rng.choice(WRITES)
    return Statement("write", service, operation, 10 + number, rng.choice(("keyed", "once")))


class World:
    """What was done; `done` is the truth, whatever is declared."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self._keys: set[str] = set()

    def write(self, kind: str, arguments: Mapping[str, Plain]) -> Plain:
        """Do something, unless its key was there before."""
        key = arguments.get("key")
        if isinstance(key, str):
            if key in self._keys:
                return {"repeated": True}
            self._keys.add(key)
        self.done[f"{kind} {order_in(arguments)!r}"] += 1
        return {"repeated": False}

    def find(self, kind: str, arguments: Mapping[str, Plain]) -> Plain:
        """Say whether something was done."""
        return {"done": self.done[f"{kind} {order_in(arguments)!r}"] > 0}


def order_in(arguments: Mapping[str, Plain]) -> Plain:
    """Return what a call is about, whatever the argument is called."""
    return next(value for name, value in arguments.items() if name != "key")


def committed(kind: str, arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Say what a write commits."""
    assert isinstance(answer, dict)
    identity = {name: value for name, value in arguments.items() if name != "key"}
    return None if answer["repeated"] else Effect(kind, identity)


def committed_harmlessly(kind: str, arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Say the same, and that it does not matter."""
    found = committed(kind, arguments, answer)
    return None if found is None else found._replace(impact=Impact.HARMLESS)


def committed_by_number(
    numbers: Counter[str], kind: str, arguments: Mapping[str, Plain], answer: Plain
) -> Effect | None:
    """Say the same, with a number that is never the same."""
    found = committed(kind, arguments, answer)
    numbers[""] += 1
    return None if found is None else found._replace(identity={**found.identity, "number": numbers[""]})


@contract("done-once", at_end=True)
def done_once(end: End) -> bool:
    """Say no where the world says that something was done twice."""
    return most_often(end.outcome.state) <= LIMIT["done-once"]


def most_often(state: Plain) -> int:
    """Return how often that was done which was done most often."""
    counts = state.values() if isinstance(state, Mapping) else ()
    return max([0, *(count for count in counts if isinstance(count, int))])


LIMIT = {"done-once": 1}
"""What another version of the contract loosens."""


class Doors:
    """The doors of one run of an agent."""

    def __init__(self, agent: Agent, run: Run) -> None:
        self.run, self.world = run, World()
        self._agent = agent
        run.state(lambda: dict(self.world.done))
        operations: dict[str, dict[str, Callable[..., Plain]]] = {}
        effects: dict[str, dict[str, EffectRule]] = {}
        for statement in agent.statements:
            service, prefix = self._place(statement)
            kind = f"{agent.kinds}{statement.operation}"
            known = operations.setdefault(service, {})
            if statement.kind == "read":
                known.setdefault(f"{prefix}{statement.operation}", self._reading(statement.operation))
                continue
            known[f"{prefix}{statement.operation}"] = lambda kind=kind, **arguments: self.world.write(kind, arguments)
            known[f"{prefix}find_{statement.operation}"] = lambda kind=kind, **arguments: self.world.find(
                kind, arguments
            )
            rule = self._rule(kind)
            if rule is not None:
                effects.setdefault(service, {})[f"{prefix}{statement.operation}"] = rule
        self._doors = {name: run.service(name, known, effects=effects.get(name)) for name, known in operations.items()}

    def _reading(self, operation: str) -> Callable[..., Plain]:
        if not operation.startswith("find_"):
            return lambda **arguments: {"of": order_in(arguments)}
        kind = f"{self._agent.kinds}{operation.removeprefix('find_')}"
        return lambda **arguments: self.world.find(kind, arguments)

    def _place(self, statement: Statement) -> tuple[str, str]:
        """Return the service of a statement, and what its operations begin with."""
        return (SINGLE, f"{statement.service}_") if self._agent.single_door else (statement.service, "")

    def _rule(self, kind: str) -> EffectRule | None:
        match self._agent.effects:
            case "as they are":
                return functools.partial(committed, kind)
            case "harmless":
                return functools.partial(committed_harmlessly, kind)
            case "with a fresh number":
                return functools.partial(committed_by_number, Counter(), kind)
        return None

    def call(self, statement: Statement, operation: str, **more: Plain) -> Awaitable[Plain]:
        """Make a call of a statement."""
        service, prefix = self._place(statement)
        found: Awaitable[Plain] = self._doors[service](
            f"{prefix}{operation}", **{statement.name: statement.order}, **more
        )
        return found

    async def found(self, statement: Statement, *, is_bare: bool = False) -> bool | None:
        """Return whether a write was done; `None` where nobody answers, or crash then."""
        try:
            answer = await self.call(statement, f"find_{statement.operation}")
        except FAILURES:
            if is_bare:
                raise
            return None
        return bool(isinstance(answer, dict) and answer["done"])


async def perform(doors: Doors, statement: Statement) -> None:
    """Carry out one statement."""
    if statement.kind == "read":
        await _read(doors, statement)
    elif statement.kind == "write":
        await _write(doors, statement)
    else:
        await _ensure(doors, statement)


async def _read(doors: Doors, statement: Statement) -> None:
    for _ in range(TRIES if statement.policy == "retried" else 1):
        try:
            await doors.call(statement, statement.operation)
        except FAILURES:
            if statement.policy == "bare":
                raise
        else:
            return


async def _write(doors: Doors, statement: Statement) -> None:
    policy = statement.policy
    more = {"key": f"{statement.operation}-{statement.order}"} if policy == "keyed" else {}
    for _ in range(1 if policy in ("once", "crashing", "hanging") else TRIES):
        if policy == "checked before" and await doors.found(statement) is not False:
            return
        if policy == "checked barely" and await doors.found(statement, is_bare=True):
            return
        try:
            await doors.call(statement, statement.operation, **more)
        except FAILURES:
            if policy == "crashing":
                raise
            if policy == "hanging":
                await asyncio.get_running_loop().create_future()
            await doors.run.clock.sleep(1.0)
            if policy == "checked after" and await doors.found(statement) is not False:
                return
        else:
            return


async def _ensure(doors: Doors, statement: Statement) -> None:
    """Write, and write again where it is not found; a naive one takes no answer for a no."""
    has_failed = False
    try:
        await doors.call(statement, statement.operation)
    except FAILURES:
        has_failed = True
    if statement.kind == "recover" and not has_failed:
        return
    found = await doors.found(statement)
    if statement.policy == "crashing" and found is None:
        raise RuntimeError("nobody answers")
    if statement.policy == "hanging" and found is None:
        await asyncio.get_running_loop().create_future()
    if found is False or (found is None and statement.policy == "naive"):
        try:
            await doors.call(statement, statement.operation)
        except FAILURES:
            return


def target_of(agent: Agent) -> Target:
    """Return the target that an agent is."""

    @target(name="agent", tasks=[Task("do")])
    async def act(_: Task, run: Run) -> Outcome:
        doors = Doors(agent, run)
        for statement in agent.statements:
            await perform(doors, statement)
        if agent.crashes:
            raise RuntimeError("at the end")
        return Outcome("done", success=True)

    return act
