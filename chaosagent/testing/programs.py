"""Random small targets: programs of calls with retries, time-outs, parallel calls, stateful services and generated ids.

They are what searchers are checked on: small enough for exhaustive enumeration, and with the traits that make pruning
hard.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import strategies as st

from chaosagent.canonical import Plain
from chaosagent.targets.target import Door, Run, Target, target
from chaosagent.vocabulary import Claim, Effect, Outcome, Task


@dataclass(frozen=True, slots=True)
class Read:
    """Look something up; a failure leaves the variable empty.

    Attributes:
        service: Number of the service.
        key: What is looked up.
        into: Name of the variable.
        retries: How often a failure is followed by another attempt, below the agent.
        seconds_max: Time-out of each attempt in virtual seconds, 0 for none.
    """

    service: int
    key: str
    into: str
    retries: int = 0
    seconds_max: float = 0.0


@dataclass(frozen=True, slots=True)
class Pay:
    """Commit an effect with an amount taken from a variable.

    Attributes:
        amount: Name of the variable; an empty one counts as 1.
        key: Name of the variable with the idempotency key; empty for none.
        retries: How often a failure is followed by another attempt, as a call of the agent.
    """

    amount: str
    key: str = ""
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Together:
    """Look several things up at the same time."""

    reads: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class Fallback:
    """Look something up elsewhere when a variable is empty."""

    of: str
    read: Read


Statement: TypeAlias = Read | Pay | Together | Fallback


@dataclass(frozen=True, slots=True)
class Program:
    """A small target.

    Attributes:
        statements: In order.
        latencies: Virtual seconds that each service takes to answer.
        counting: Whether lookups return a number that grows with each call, so that their order matters.
        honest: Whether the target offers checkpoints, for rule R3.
    """

    statements: tuple[Statement, ...]
    latencies: tuple[float, float] = (0.0, 1.0)
    counting: bool = False
    honest: bool = True


@dataclass(slots=True)
class World:
    """What the services of a program keep."""

    program: Program
    calls: int = 0
    ids: int = 0
    paid: dict[str, int] = field(default_factory=dict)

    def lookup(self, service: int) -> Any:
        """Return the operation behind one service."""

        async def get(key: str) -> Plain:
            await asyncio.sleep(self.program.latencies[service])
            self.calls += 1
            return {"value": self.calls if self.program.counting else len(key) + service, "key": key}

        return {"get": get}

    def pay(self, amount: int, key: str) -> Plain:
        """Pay once per idempotency key."""
        if key and key in self.paid:
            return {"id": self.paid[key], "repeated": True}
        self.ids += 1
        if key:
            self.paid[key] = self.ids
        return {"id": self.ids, "repeated": False, "amount": amount}

    def state(self) -> Plain:
        """Return everything that later answers depend on."""
        return [
            self.calls if self.program.counting else 0,
            self.ids,
            [list[Plain](pair) for pair in sorted(self.paid.items())],
        ]


def _paid(arguments: Any, answer: Any) -> Effect | None:
    return None if answer["repeated"] else Effect("pay", {"amount": arguments["amount"]})


def target_of(program: Program) -> Target:
    """Return the target that runs a program."""

    @target(name="program", tasks=[Task("only")], objective=lambda _, outcome: bool(outcome.state))
    async def run_program(task: Task, run: Run) -> Outcome:
        """Run the statements one after the other."""
        del task
        world = World(program)
        doors = [
            run.service(f"s{number}", world.lookup(number), read_only=not program.counting)
            for number in range(len(program.latencies))
        ]
        payments = run.service("pay", {"pay": world.pay}, effects={"pay": _paid})
        variables: dict[str, Plain] = {}
        with run.agent("agent"):
            for place, statement in enumerate(program.statements):
                if program.honest:
                    run.checkpoint(str(place), [variables, world.state()], clock_matters=False)
                await _execute(statement, run, doors, payments, variables)
        claims = (Claim("pay", {}),) if variables.get("paid") else ()
        return Outcome("done", state=world.ids > 0, claims=claims)

    return run_program


async def _execute(
    statement: Statement, run: Run, doors: list[Door], payments: Door, variables: dict[str, Plain]
) -> None:
    match statement:
        case Read():
            variables[statement.into] = await _read(statement, run, doors)
        case Together(reads):
            answers = await asyncio.gather(*(_read(read, run, doors) for read in reads))
            variables.update((read.into, answer) for read, answer in zip(reads, answers, strict=True))
        case Fallback(of, read):
            if variables.get(of) is None:
                variables[of] = await _read(read, run, doors)
        case Pay():
            await _pay(statement, payments, variables)


async def _read(read: Read, run: Run, doors: list[Door]) -> Plain:
    ask = doors[read.service].ask("get", key=read.key)
    for attempt in range(read.retries + 1):
        try:
            if read.seconds_max:
                async with asyncio.timeout(read.seconds_max):
                    answer = await ask.attempt()
            else:
                answer = await ask.attempt()
            return answer.get("value") if isinstance(answer, dict) else None
        except (TimeoutError, ConnectionError):
            if attempt < read.retries:
                await run.clock.sleep(1.0)
    return None


async def _pay(pay: Pay, payments: Door, variables: dict[str, Plain]) -> None:
    amount = variables.get(pay.amount)
    key = variables.get(pay.key) if pay.key else None
    for _ in range(pay.retries + 1):
        try:
            await payments(
                "pay", amount=amount if isinstance(amount, int) else 1, key="" if key is None else f"key-{key!r}"
            )
        except (TimeoutError, ConnectionError):
            continue
        variables["paid"] = True
        return


_names = st.sampled_from(["a", "b", "c"])


@st.composite
def reads(draw: st.DrawFn) -> Read:
    """Lookups, with and without retries and time-outs."""
    return Read(
        draw(st.integers(0, 1)),
        draw(st.sampled_from(["x", "yy"])),
        draw(_names),
        draw(st.integers(0, 1)),
        draw(st.sampled_from([0.0, 5.0])),
    )


@st.composite
def programs(draw: st.DrawFn, statements_max: int = 3) -> Program:
    """Programs of a few statements that end with a payment."""
    statement = st.one_of(
        reads(),
        st.builds(lambda pair: Together(tuple(pair)), st.lists(reads(), min_size=2, max_size=2)),
        st.builds(Fallback, _names, reads()),
    )
    before = draw(st.lists(statement, min_size=1, max_size=statements_max - 1))
    last = draw(st.builds(Pay, _names, st.one_of(st.just(""), _names), st.integers(0, 2)))
    return Program(
        (*before, last),
        latencies=draw(st.sampled_from([(0.0, 0.0), (0.0, 1.0), (2.0, 1.0)])),
        counting=draw(st.booleans()),
        honest=draw(st.booleans()),
    )
