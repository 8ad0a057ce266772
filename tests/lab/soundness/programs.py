"""The target that runs a program in the language of `statements`, and the world that it acts on."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from chaosagent.canonical import Plain
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Effect, Outcome, StatusError, Task
from tests.lab.soundness.statements import (
    Attempt,
    AwaitSignal,
    Body,
    Call,
    Compensate,
    Completed,
    Gather,
    Group,
    Keep,
    Limit,
    Locked,
    OnCancel,
    Post,
    Put,
    Race,
    Recall,
    Receive,
    Send,
    Shielded,
    Signal,
    Spawn,
    Statement,
    Take,
    Unless,
    Wait,
)

FAILURES = (TimeoutError, ConnectionError, StatusError)


@dataclass(frozen=True, slots=True)
class Program:
    """A small target.

    Attributes:
        body: What it does.
        latencies: Virtual seconds that the world behind each door takes.
        counting: Whether lookups return a number that grows with each call.
        keyed: Whether payments carry an idempotency key, one per amount.
        checkpoints: Whether the target offers checkpoints between the statements of its body.
        agents: Whether those who act at the same time have names of their own.
        serial: Whether the world takes one payment after the other.
        later: Whether the world answers a payment at once, and commits it a second later.
        refuses: Whether the world refuses payments of 2.
        impatient: Whether the world behind `look` and `relay` gives up on itself after a while, and answers 0.
    """

    body: Body
    latencies: Mapping[str, float]
    counting: bool = False
    keyed: bool = False
    checkpoints: bool = True
    agents: bool = False
    serial: bool = False
    later: bool = False
    refuses: bool = False
    impatient: bool = False


@dataclass(slots=True)
class World:
    """What stands behind the doors."""

    program: Program
    run: Run
    looks: int = 0
    ledger: list[Plain] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    inbox: list[Plain] = field(default_factory=list)
    entries: dict[str, Plain] = field(default_factory=dict)
    counter: asyncio.Lock = field(default_factory=asyncio.Lock)
    committing: list[asyncio.Task[None]] = field(default_factory=list)

    async def look(self, amount: int) -> Plain:
        """Answer a lookup."""
        if not await self._done_in_time(self._take_time("look")):
            return 0
        self.looks += 1
        return self.looks if self.program.counting else amount + 1

    async def pay(self, amount: int) -> Plain:
        """Pay, once per key where there are keys."""
        if not self.program.serial:
            return await self._pay(amount)
        async with self.counter:
            return await self._pay(amount)

    async def _pay(self, amount: int) -> Plain:
        await self._take_time("pay")
        if self.program.refuses and amount == 2:
            raise StatusError(409, "not twice")
        key = str(amount)
        if self.program.keyed and key in self.keys:
            return {"new": False, "amount": amount}
        self.keys.add(key)
        if self.program.later:
            self.committing.append(asyncio.create_task(self._commit(amount)))
        else:
            self.ledger.append(amount)
        return {"new": True, "amount": amount}

    async def _commit(self, amount: int) -> None:
        await asyncio.sleep(1.0)
        self.ledger.append(amount)

    async def write(self, key: str, value: Plain) -> None:
        """Keep a note."""
        await self._take_time("notes")
        self.entries[key] = value

    async def read(self, key: str) -> Plain:
        """Return a note."""
        await self._take_time("notes")
        return self.entries.get(key)

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
        answers: list[Any] = []

        async def pay() -> None:
            answers.append(await bank("pay", amount=amount))

        if not await self._done_in_time(pay()):
            return 0
        return answers[0]["amount"] if isinstance(answers[0], dict) else None

    async def _done_in_time(self, work: Coroutine[Any, Any, None]) -> bool:
        try:
            async with asyncio.timeout(1.5 if self.program.impatient else None):
                await work
        except TimeoutError:
            if not self.program.impatient:
                raise
            return False
        return True

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
        return [
            self.looks if self.program.counting else 0,
            list(self.ledger),
            keys,
            list(self.inbox),
            dict(self.entries),
        ]


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
        self.post = run.message("post")
        self.notes = run.memory("notes", {"read": world.read, "write": world.write})
        self.lock, self.signal = asyncio.Lock(), asyncio.Event()
        self.queue: asyncio.Queue[Plain] = asyncio.Queue()
        self.variables: dict[str, Plain] = {}
        self.background: list[asyncio.Task[None]] = []

    async def play(self) -> Outcome:
        """Run the body, and hand back all that came of it."""
        with self._acting("main"):
            return await self._play()

    def _acting(self, name: str) -> AbstractContextManager[None]:
        return self.run.agent(name) if self.program.agents else nullcontext()

    async def _play(self) -> Outcome:
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
        return [dict(self.variables), *self.world.state(), queued, self.signal.is_set()]

    async def do(self, body: Body, name: str = "") -> None:
        """Do several statements in order, under the name of an agent if there is one."""
        with self._acting(name) if name else nullcontext():
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
            case Attempt():
                await self._attempt(statement)
            case Post(of):
                await self.post("send", to="clerk", body=self.variables.get(of))
            case Wait(seconds):
                await self.run.clock.sleep(seconds)
            case Signal():
                self.signal.set()
            case Put(of):
                self.queue.put_nowait(self.variables.get(of))
            case Take() | Receive() | AwaitSignal():
                await self._await(statement)
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
                        for number, body in enumerate(branches):
                            group.create_task(self.do(body, f"agent-{number}"))
                except* FAILURES:
                    self.variables["group"] = "failed"
            case Gather(branches):
                await asyncio.gather(*(self.do(body, f"agent-{number}") for number, body in enumerate(branches)))
            case Completed(branches):
                await self._complete(branches)
            case Shielded(body):
                self.background.append(asyncio.create_task(self._quietly(body)))
                await asyncio.shield(self.background[-1])
            case OnCancel(body, cleanup, swallows):
                try:
                    await self.do(body)
                except asyncio.CancelledError:
                    await self._quietly(cleanup)
                    if not swallows:
                        raise
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
        racers = [asyncio.create_task(self._quietly(body, f"agent-{n}")) for n, body in enumerate(branches)]
        try:
            await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
            self.variables["winner"] = next(number for number, racer in enumerate(racers) if racer.done())
        finally:
            for racer in racers:
                racer.cancel()
        await asyncio.gather(*racers, return_exceptions=True)

    async def _complete(self, branches: tuple[Body, ...]) -> None:
        async def numbered(number: int, body: Body) -> int:
            await self._quietly(body, f"agent-{number}")
            return number

        tasks = [asyncio.create_task(numbered(number, body)) for number, body in enumerate(branches)]
        for task in tasks:  # not `as_completed`, which takes them from a set
            task.add_done_callback(lambda done: ended.append(done.result() if not done.cancelled() else -1))
        ended: list[Plain] = []
        try:
            await asyncio.gather(*tasks)
        finally:
            self.variables["order"] = list(ended)

    async def _quietly(self, body: Body, name: str = "") -> None:
        try:
            await self.do(body, name)
        except FAILURES as error:
            self.variables["quiet"] = type(error).__name__

    async def _await(self, statement: Take | Receive | AwaitSignal) -> None:
        into = statement.into
        try:
            async with asyncio.timeout(statement.seconds):
                match statement:
                    case Take():
                        self.variables[into] = await self.queue.get()
                    case Receive():
                        self.variables[into] = await self.run.receive("post", "clerk")
                    case AwaitSignal():
                        self.variables[into] = await self.signal.wait()
        except TimeoutError:
            self.variables[into] = None

    async def _attempt(self, statement: Attempt) -> None:
        ask = self.doors[statement.door].ask(statement.door, amount=_number(self.variables.get(statement.amount)))
        self.variables[statement.into] = None
        for _ in range(statement.attempts):
            try:
                answer: Any = await ask.attempt()
            except FAILURES:
                continue
            self.variables[statement.into] = answer["amount"] if isinstance(answer, dict) else answer
            return

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
