"""Random small targets: programs with the traits that make pruning hard, small enough for exhaustive enumeration.

Calls in parallel and in other agents' names, retries by the agent and below it, time-outs that cancel, fallbacks,
services whose answers depend on order, generated ids, shared memory, messages to an agent that acts on them, retrieval,
texts read into a context. They are what searchers and replays are checked on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Claim, Effect, Outcome, StatusError, Task

FAILURES = (TimeoutError, ConnectionError, StatusError)


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
        amount: Name of the variable; anything but a number counts as 1.
        key: Name of the variable with the idempotency key; empty for none.
        retries: How often a failure is followed by another attempt, as a call of the agent.
    """

    amount: str
    key: str = ""
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Keep:
    """Put a variable into the shared memory, or add it to a list there."""

    key: str
    of: str
    append: bool = False


@dataclass(frozen=True, slots=True)
class Recall:
    """Take a variable from the shared memory."""

    key: str
    into: str


@dataclass(frozen=True, slots=True)
class Tell:
    """Send a variable to the clerk, who pays that much."""

    of: str


@dataclass(frozen=True, slots=True)
class Search:
    """Retrieve passages, and keep the id of the first."""

    into: str


@dataclass(frozen=True, slots=True)
class Hear:
    """Read a text into the context, and keep the number of its words."""

    text: str
    into: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Together:
    """Do several things at the same time, each in the name of the same agent or of its own."""

    branches: tuple[tuple[Statement, ...], ...]
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Hurry:
    """Do something, and give up on it after some time."""

    seconds_max: float
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Fallback:
    """Do something when a variable is empty."""

    of: str
    body: Statement


Statement: TypeAlias = "Read | Pay | Keep | Recall | Tell | Search | Hear | Wait | Together | Hurry | Fallback"


@dataclass(frozen=True, slots=True)
class Program:
    """A small target.

    Attributes:
        statements: In order.
        latencies: Virtual seconds that each service takes to answer.
        counting: Whether lookups return a number that grows with each call, so that their order matters.
        honest: Whether the target offers checkpoints, for rule R3.
        clerk: Whether a second agent waits for messages and pays what they say.
        timed: Whether the outcome depends on the time at which it is reached.
    """

    statements: tuple[Statement, ...]
    latencies: tuple[float, float] = (0.0, 1.0)
    counting: bool = False
    honest: bool = True
    clerk: bool = False
    timed: bool = False


@dataclass(slots=True)
class World:
    """What the services of a program keep."""

    program: Program
    calls: int = 0
    ids: int = 0
    paid: dict[str, int] = field(default_factory=dict)

    def lookup(self, service: int) -> Any:
        """Return the operation behind one service."""

        def get(key: str) -> Plain:
            self.calls += 1
            return {"value": self.calls if self.program.counting else len(key) + service, "key": key}

        async def get_slowly(key: str) -> Plain:
            await asyncio.sleep(self.program.latencies[service])
            return get(key)

        return {"get": get_slowly if self.program.latencies[service] else get}

    def pay(self, amount: int, key: str) -> Plain:
        """Pay once per idempotency key."""
        if key and key in self.paid:
            return {"id": self.paid[key], "repeated": True}
        self.ids += 1
        if key:
            self.paid[key] = self.ids
        return {"id": self.ids, "repeated": False, "amount": amount}

    def state(self) -> list[Plain]:
        """Return everything that later answers depend on."""
        return [
            self.calls if self.program.counting else 0,
            self.ids,
            [list[Plain](pair) for pair in sorted(self.paid.items())],
        ]


def passages(operation: str, **arguments: Any) -> Plain:
    """Return what the retriever finds, whatever is asked."""
    del operation, arguments
    return [{"id": 3, "text": "pay three"}, {"id": 5, "text": "pay five"}]


def _paid(arguments: Any, answer: Any) -> Effect | None:
    return None if answer["repeated"] else Effect("pay", {"amount": arguments["amount"]})


def target_of(program: Program) -> Target:
    """Return the target that runs a program."""

    @target(name="program", tasks=[Task("only")], objective=lambda _, outcome: bool(outcome.state))
    async def run_program(task: Task, run: Run) -> Outcome:
        """Run the statements one after the other."""
        del task
        return await Interpreter(program, run).play()

    return run_program


class Interpreter:
    """Plays one program in one run.

    Args:
        program: What is played.
        run: The doors to the world.
    """

    def __init__(self, program: Program, run: Run) -> None:
        self.program, self.run, self.world = program, run, World(program)
        self.services = [
            run.service(f"s{number}", self.world.lookup(number), read_only=not program.counting)
            for number in range(len(program.latencies))
        ]
        self.payments = run.service("pay", {"pay": self.world.pay}, effects={"pay": _paid})
        self.variables: dict[str, Plain] = {}

    async def play(self) -> Outcome:
        """Run the statements, and hand back all that came of them."""
        run, program = self.run, self.program
        clerk: asyncio.Task[None] | None = None
        if program.clerk:
            with run.agent("clerk"):
                clerk = asyncio.create_task(self._serve())
        with run.agent("agent"):
            for place, statement in enumerate(program.statements):
                if program.honest:
                    run.checkpoint(str(place), self._state(), clock_matters=program.timed)
                await self._execute(statement)
            if clerk is not None:
                await run.message("desk")("send", to="clerk", body=None)
                await clerk
        claims = (Claim("pay", {}),) if self.variables.get("paid") else ()
        when = run.clock.now() if program.timed else 0.0
        return Outcome("done", success=self.world.ids > 0, state=[*self._state(), when], claims=claims)

    def _state(self) -> list[Plain]:
        return [dict(self.variables), *self.world.state()]

    async def _serve(self) -> None:
        """Pay what messages say until one says nothing."""
        while (amount := await self.run.receive("desk", "clerk")) is not None:
            self.variables["served"] = amount
            await self._attempt_to_pay(amount, "")

    async def _execute(self, statement: Statement) -> None:  # one branch for each kind of statement
        match statement:
            case Read():
                self.variables[statement.into] = await self._read(statement)
            case Pay():
                await self._pay(statement)
            case Together(branches, apart):
                await asyncio.gather(
                    *(self._branch(body, f"agent{number}" if apart else "") for number, body in enumerate(branches))
                )
            case Hurry(seconds_max, body):
                try:
                    async with asyncio.timeout(seconds_max):
                        for inside in body:
                            await self._execute(inside)
                except TimeoutError:
                    self.variables["late"] = True
            case Fallback(of, body):
                if self.variables.get(of) is None:
                    await self._execute(body)
            case Wait(seconds):
                await self.run.clock.sleep(seconds)
            case _:
                await self._talk(statement)

    async def _talk(self, statement: Keep | Recall | Tell | Search | Hear) -> None:
        run, variables = self.run, self.variables
        match statement:
            case Keep(key, of, append):
                await run.memory("notes")("append" if append else "write", key=key, value=variables.get(of))
            case Recall(key, into):
                variables[into] = await run.memory("notes")("read", key=key)
            case Tell(of):
                await run.message("desk")("send", to="clerk", body=_number(variables.get(of)))
            case Search(into):
                found = await run.retrieval("kb", passages)("search", query="how much")
                variables[into] = found[0]["id"] if found else None
            case Hear(text, into):
                variables[into] = len((await run.prompt("mail")("read", text=text)).split())

    def _branch(self, body: tuple[Statement, ...], agent: str) -> Coroutine[Any, Any, None]:
        async def play() -> None:
            for statement in body:
                await self._execute(statement)

        async def play_as() -> None:
            with self.run.agent(agent):
                await play()

        return play_as() if agent else play()

    async def _read(self, read: Read) -> Plain:
        ask = self.services[read.service].ask("get", key=read.key)
        for attempt in range(read.retries + 1):
            try:
                if read.seconds_max:
                    async with asyncio.timeout(read.seconds_max):
                        answer = await ask.attempt()
                else:
                    answer = await ask.attempt()
                return answer.get("value") if isinstance(answer, dict) else None
            except FAILURES:
                if attempt < read.retries:
                    await self.run.clock.sleep(1.0)
        return None

    async def _pay(self, pay: Pay) -> None:
        key = self.variables.get(pay.key) if pay.key else None
        for _ in range(pay.retries + 1):
            if await self._attempt_to_pay(self.variables.get(pay.amount), "" if key is None else f"key-{key!r}"):
                return

    async def _attempt_to_pay(self, amount: Plain, key: str) -> bool:
        try:
            await self.payments("pay", amount=_number(amount), key=key)
        except FAILURES:
            return False
        self.variables["paid"] = True
        return True


def _number(value: Plain) -> int:
    return value if isinstance(value, int) else 1
