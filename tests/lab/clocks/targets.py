"""Agents that decide by the clock, or by other chance, whether to pay again after a failure."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from time import time as now

from chaosagent.effects.rule import effect
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, Task

Decide = Callable[[float], bool]
"""Takes a share and returns `True` in this share of the runs, by chance."""

FAILURES = (ConnectionError, TimeoutError)


def by_time(share: float) -> bool:
    return int(time.time() * 1e6) % 100 < 100 * share


def by_imported_time(share: float) -> bool:
    return int(now() * 1e6) % 100 < 100 * share


def by_time_ns(share: float) -> bool:
    return time.time_ns() // 1000 % 100 < 100 * share


def by_monotonic(share: float) -> bool:
    return int(time.monotonic() * 1e6) % 100 < 100 * share


def by_perf_counter(share: float) -> bool:
    return int(time.perf_counter() * 1e6) % 100 < 100 * share


def by_datetime(share: float) -> bool:
    return datetime.now(UTC).microsecond % 100 < 100 * share


def by_helper(share: float) -> bool:
    def stamp() -> int:
        return datetime.now().microsecond

    return stamp() % 100 < 100 * share


def by_thread(share: float) -> bool:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(by_time_ns(share)))
    thread.start()
    thread.join()
    return found[0]


def by_random(share: float) -> bool:
    return random.random() < share


def by_urandom(share: float) -> bool:
    return os.urandom(1)[0] < 256 * share


def by_uuid(share: float) -> bool:
    return uuid.uuid4().int % 100 < 100 * share


READERS: dict[str, tuple[Decide, str]] = {
    "time": (by_time, "time.time()"),
    "imported": (by_imported_time, "time.time()"),
    "time_ns": (by_time_ns, "time.time_ns()"),
    "monotonic": (by_monotonic, "time.monotonic()"),
    "perf_counter": (by_perf_counter, "time.perf_counter()"),
    "datetime": (by_datetime, "datetime.now()"),
    "helper": (by_helper, "datetime.now()"),
    "thread": (by_thread, "time.time_ns()"),
    "random": (by_random, "random.random()"),
    "urandom": (by_urandom, "os.urandom()"),
    "uuid": (by_uuid, "uuid.uuid4()"),
}
"""What each reader decides by, with the name that a complaint has for it."""


def payer(decide: Decide, share: float, *, failures: int = 1) -> Target:
    """Return an agent that looks, pays and notifies, and may pay again once so many calls have failed."""

    @target(name="payer", tasks=[Task("pay")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        stock = run.service("stock", {"look": lambda: 3}, read_only=["look"])
        bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
        mail = run.service("mail", {"send": lambda: 2}, effects={"send": effect()})
        failed = 0
        for service, operation in ((stock, "look"), (bank, "pay"), (mail, "send")):
            try:
                await service(operation)
            except FAILURES:
                failed += 1
                if failed == failures and decide(share):
                    await bank("pay")
        return Outcome("paid", success=True)

    return agent


def synchronous_payer(decide: Decide, share: float) -> Target:
    """Return the same as a plain function."""

    @target(name="payer", tasks=[Task("pay")])
    def agent(task: Task, run: Run) -> Outcome:
        del task
        stock = run.service("stock", {"look": lambda: 3}, read_only=["look"])
        bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
        for service, operation in ((stock, "look"), (bank, "pay")):
            try:
                service(operation)
            except FAILURES:
                if decide(share):
                    bank("pay")
        return Outcome("paid", success=True)

    return agent


def harmless() -> Target:
    """Return an agent that measures for a log how long its calls take, and uses it for nothing else."""
    lines: list[str] = []

    @target(name="harmless", tasks=[Task("pay")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
        mail = run.service("mail", {"send": lambda: 2}, effects={"send": effect()})
        for service, operation in ((bank, "pay"), (mail, "send")):
            begun = time.perf_counter()
            try:
                await service(operation)
            except FAILURES:
                await asyncio.sleep(1)
            lines.append(f"{time.perf_counter() - begun:.6f} s")
        return Outcome("paid", success=True)

    return agent


def attacks(share: float) -> dict[str, tuple[Callable[[], Target], str]]:
    """Return all targets that decide by chance, each with what a complaint is to name."""
    found: dict[str, tuple[Callable[[], Target], str]] = {}
    for name, (decide, read) in READERS.items():
        found[name] = partial(payer, decide, share), read
    found["synchronous"] = partial(synchronous_payer, by_time_ns, share), "time.time_ns()"
    found["in a thread"] = partial(synchronous_payer, by_thread, share), "time.time_ns()"
    found["second failure"] = partial(payer, by_time_ns, share, failures=2), "time.time_ns()"
    return found
