"""A small language of concurrent agents, and the target that runs a program in it.

Its statements are what makes pruning hard: races, cancellation, task groups, time-outs, locks, queues, background work
that outlives the run, doors behind doors, slow message channels, shared memory, retries and compensation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Effect, Outcome, StatusError, Task

FAILURES = (TimeoutError, ConnectionError, StatusError)


@dataclass(frozen=True, slots=True)
class Call:
    """Ask a service.

    Attributes:
        door: `look` (reads), `pay` (commits), `undo` (takes the last payment back) or `relay` (whose world pays through
            a door of its own).
        amount: Name of the variable that is sent; anything but a number counts as 1.
        into: Name of the variable for the answer.
        retries: How often a failure is followed by another call.
        raises: A failure is raised at the end, and not only kept as an empty variable.
    """

    door: str
    amount: str
    into: str
    retries: int = 0
    raises: bool = False


@dataclass(frozen=True, slots=True)
class Send:
    """Send a variable over the message channel, which may be slow."""

    of: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Write a variable into the shared memory."""

    of: str


@dataclass(frozen=True, slots=True)
class Recall:
    """Read a variable from the shared memory."""

    into: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Let virtual time pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Race:
    """Do several things at once; the first that ends wins, and the others are cancelled."""

    branches: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Do two things in a task group: one that raises cancels the other."""

    branches: tuple[Body, Body]


@dataclass(frozen=True, slots=True)
class Gather:
    """Do several things at once and wait for all of them."""

    branches: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """Do something within a time limit."""

    seconds: float
    body: Body


@dataclass(frozen=True, slots=True)
class Locked:
    """Do something while holding a lock."""

    body: Body


@dataclass(frozen=True, slots=True)
class Put:
    """Put a variable into the queue."""

    of: str


@dataclass(frozen=True, slots=True)
class Take:
    """Take a variable from the queue, waiting at most so many seconds."""

    into: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Spawn:
    """Do something in the background; nobody waits for it."""

    body: Body


@dataclass(frozen=True, slots=True)
class Compensate:
    """Do something, and take the last payment back if it raises."""

    body: Body


@dataclass(frozen=True, slots=True)
class Unless:
    """Do something unless a variable is set."""

    of: str
    body: Body


Statement: TypeAlias = (
    "Call | Send | Keep | Recall | Wait | Race | Group | Gather | Limit | Locked | Put | Take | Spawn | Compensate "
    "| Unless"
)
Body: TypeAlias = tuple["Statement", ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A small target.

    Attributes:
        body: What it does.
        latencies: Virtual seconds that the world behind each door takes.
        counting: Whether lookups return a number that grows with each call.
        keyed: Whether payments carry an idempotency key, one per amount.
        checkpoints: Whether the target offers checkpoints between the statements of its body.
    """

    body: Body
    latencies: Mapping[str, float]
    counting: bool = False
    keyed: bool = False
    checkpoints: bool = True


@dataclass(slots=True)
class World:
    """What stands behind the doors."""

    program: Program
    run: Run
    looks: int = 0
    ledger: list[Plain] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    inbox: list[Plain] = field(default_factory=list)

    async def look(self, amount: int) -> Plain:
        """Answer a lookup."""
        await self._take_time("look")
        self.looks += 1
        return self.looks if self.program.counting else amount + 1

    async def pay(self, amount: int) -> Plain:
        """Pay, once per key where there are keys."""
        await self._take_time("pay")
        key = str(amount)
        if self.program.keyed and key in self.keys:
            return {"new": False, "amount": amount}
        self.keys.add(key)
        self.ledger.append(amount)
        return {"new": True, "amount": amount}

    async def undo(self, amount: int) -> Plain:
        """Take the last payment back."""
        await self._take_time("undo")
        if self.ledger:
            self.ledger.append(["undone", self.ledger.pop()])
        return amount

    async def relay(self, amount: int) -> Plain:
        """Pay through another door."""
        await self._take_time("relay")
        bank = self.run.service("bank", {"pay": self.pay}, effects={"pay": _paid})
        answer = await bank("pay", amount=amount)
        return answer["amount"] if isinstance(answer, dict) else None

    async def send(self, operation: str, /, to: str, body: Plain) -> None:
        """Deliver a message."""
        del operation, to
        await self._take_time("send")
        self.inbox.append(body)

    async def _take_time(self, door: str) -> None:
        seconds = self.program.latencies.get(door, 0.0)
        if seconds:
            await asyncio.sleep(seconds)

    def state(self) -> list[Plain]:
        """Return everything that later answers depend on."""
        keys: list[Plain] = [*sorted(self.keys)]
        return [self.looks if self.program.counting else 0, list(self.ledger), keys, list(self.inbox)]


def _paid(asked: Mapping[str, Plain], answer: Plain) -> Effect | None:
    is_new = isinstance(answer, dict) and answer["new"]
    return Effect("pay", {"amount": asked["amount"]}) if is_new else None


def target_of(program: Program) -> Target:
    """Return the target that runs a program."""

    @target(name="concurrent-program", tasks=[Task("only")])
    async def run_program(task: Task, run: Run) -> Outcome:
        """Run the statements one after the other."""
        del task
        return await Interpreter(program, run).play()

    return run_program


class Interpreter:
    """Plays one program in one run."""

    def __init__(self, program: Program, run: Run) -> None:
        self.program, self.run, self.world = program, run, World(program, run)
        world = self.world
        self.doors = {
            "look": run.service("look", {"look": world.look}, read_only=not program.counting),
            "pay": run.service("pay", {"pay": world.pay}, effects={"pay": _paid}),
            "undo": run.service("undo", {"undo": world.undo}),
            "relay": run.service("relay", {"relay": world.relay}),
        }
        self.desk = run.message("desk", world.send)
        self.notes = run.memory("notes")
        self.lock = asyncio.Lock()
        self.queue: asyncio.Queue[Plain] = asyncio.Queue()
        self.variables: dict[str, Plain] = {}
        self.background: list[asyncio.Task[None]] = []

    async def play(self) -> Outcome:
        """Run the body, and hand back all that came of it."""
        for place, statement in enumerate(self.program.body):
            if self.program.checkpoints:
                self.run.checkpoint(str(place), self.state())
            try:
                await self.execute(statement)
            except FAILURES as error:
                self.variables["failed"] = type(error).__name__
        return Outcome("done", success=True, state=self.state())

    def state(self) -> list[Plain]:
        """Return what the future depends on: variables, world and queue."""
        queued = list(getattr(self.queue, "_queue"))  # noqa: B009  # there is no other way to look into it
        return [dict(self.variables), *self.world.state(), queued]

    async def do(self, body: Body) -> None:
        """Do several statements in order."""
        for statement in body:
            await self.execute(statement)

    async def execute(self, statement: Statement) -> None:
        """Do one statement."""
        match statement:
            case Call():
                await self._call(statement)
            case Send(of):
                await self.desk("send", to="clerk", body=self.variables.get(of))
            case Keep(of):
                await self.notes("write", key="k", value=self.variables.get(of))
            case Recall(into):
                self.variables[into] = await self.notes("read", key="k")
            case Wait(seconds):
                await self.run.clock.sleep(seconds)
            case Put(of):
                self.queue.put_nowait(self.variables.get(of))
            case Take(into, seconds):
                await self._take(into, seconds)
            case Unless(of, body):
                if self.variables.get(of) is None:
                    await self.do(body)
            case _:
                await self._together(statement)

    async def _together(self, statement: Statement) -> None:
        match statement:
            case Race(branches):
                await self._race(branches)
            case Group(branches):
                try:
                    async with asyncio.TaskGroup() as group:
                        for body in branches:
                            group.create_task(self.do(body))
                except* FAILURES:
                    self.variables["group"] = "failed"
            case Gather(branches):
                await asyncio.gather(*(self.do(body) for body in branches))
            case Limit(seconds, body):
                try:
                    async with asyncio.timeout(seconds):
                        await self.do(body)
                except TimeoutError:
                    self.variables["late"] = True
            case Locked(body):
                async with self.lock:
                    await self.do(body)
            case Spawn(body):
                self.background.append(asyncio.create_task(self._quietly(body)))
            case Compensate(body):
                try:
                    await self.do(body)
                except FAILURES:
                    await self.doors["undo"]("undo", amount=0)

    async def _race(self, branches: tuple[Body, ...]) -> None:
        racers = [asyncio.create_task(self._quietly(body)) for body in branches]
        try:
            await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
            self.variables["winner"] = next(number for number, racer in enumerate(racers) if racer.done())
        finally:
            for racer in racers:
                racer.cancel()
        await asyncio.gather(*racers, return_exceptions=True)

    async def _quietly(self, body: Body) -> None:
        try:
            await self.do(body)
        except FAILURES as error:
            self.variables["quiet"] = type(error).__name__

    async def _take(self, into: str, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                self.variables[into] = await self.queue.get()
        except TimeoutError:
            self.variables[into] = None

    async def _call(self, call: Call) -> None:
        for attempt in range(call.retries + 1):
            try:
                amount = _number(self.variables.get(call.amount))
                answer: Any = await self.doors[call.door](call.door, amount=amount)
                self.variables[call.into] = answer["amount"] if isinstance(answer, dict) else answer
                return
            except FAILURES:
                self.variables[call.into] = None
                if attempt == call.retries and call.raises:
                    raise


def _number(value: Plain) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 1
