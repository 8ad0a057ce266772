"""The target that the conformance suite of searchers searches: two lookups in parallel, then a payment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from chaosagent.canonical import Plain
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Claim, Effect, Outcome, StatusError, Task

FAILURES = (TimeoutError, ConnectionError, StatusError)


def payer() -> Target:
    """Return an agent that looks up an amount and a key at the same time, and pays once per key.

    The lookups return a number that grows with each call, so their order matters. The agent attempts the first lookup
    and the payment twice. A failed lookup leaves the amount at 1 or the payment without a key, so that a retry can pay
    twice.
    """

    @target(name="program", tasks=[Task("only")], objective=lambda _, outcome: bool(outcome.state))
    async def pay_once(task: Task, run: Run) -> Outcome:
        """Look up, then pay."""
        del task
        return await _Payer(run).play()

    return pay_once


@dataclass(slots=True)
class _World:
    calls: int = 0
    ids: int = 0
    paid: dict[str, int] = field(default_factory=dict)

    def get(self, key: str) -> Plain:
        self.calls += 1
        return {"value": self.calls, "key": key}

    async def get_slowly(self, key: str) -> Plain:
        await asyncio.sleep(1.0)
        return self.get(key)

    def pay(self, amount: int, key: str) -> Plain:
        if key and key in self.paid:
            return {"id": self.paid[key], "repeated": True}
        self.ids += 1
        if key:
            self.paid[key] = self.ids
        return {"id": self.ids, "repeated": False, "amount": amount}


class _Payer:
    def __init__(self, run: Run) -> None:
        self._run, self._world, self._variables = run, _World(), dict[str, Plain]()
        lookups: tuple[Callable[[str], Plain | Awaitable[Plain]], ...] = (self._world.get, self._world.get_slowly)
        self._services = [run.service(f"s{number}", {"get": get}) for number, get in enumerate(lookups)]
        self._payments = run.service("pay", {"pay": self._world.pay}, effects={"pay": _effect})

    async def play(self) -> Outcome:
        with self._run.agent("agent"):
            self._run.checkpoint("0", self._state(), clock_matters=False)
            await asyncio.gather(self._look_up(0, "x", "a", attempts=2), self._look_up(1, "yy", "b", attempts=1))
            self._run.checkpoint("1", self._state(), clock_matters=False)
            await self._pay()
        claims = (Claim("pay", {}),) if self._variables.get("paid") else ()
        return Outcome("done", success=self._world.ids > 0, state=[*self._state(), 0.0], claims=claims)

    def _state(self) -> list[Plain]:
        paid: list[Plain] = [list[Plain](pair) for pair in sorted(self._world.paid.items())]
        return [dict(self._variables), self._world.calls, self._world.ids, paid]

    async def _look_up(self, service: int, key: str, into: str, *, attempts: int) -> None:
        self._variables[into] = await self._answer(service, key, attempts)

    async def _answer(self, service: int, key: str, attempts: int) -> Plain:
        ask = self._services[service].ask("get", key=key)
        for left in reversed(range(attempts)):
            try:
                answer = await ask.attempt()
                return answer.get("value") if isinstance(answer, dict) else None
            except FAILURES:
                if left:
                    await self._run.clock.sleep(1.0)
        return None

    async def _pay(self) -> None:
        amount, found = self._variables["a"], self._variables["b"]
        key = "" if found is None else f"key-{found!r}"
        for _ in range(2):
            try:
                await self._payments("pay", amount=amount if isinstance(amount, int) else 1, key=key)
            except FAILURES:
                continue
            self._variables["paid"] = True
            return


def _effect(arguments: Any, answer: Any) -> Effect | None:
    return None if answer["repeated"] else Effect("pay", {"amount": arguments["amount"]})
