"""What makes equal runs differ is noticed before anything is proved, and its likely cause is named."""

from __future__ import annotations

import asyncio
import importlib
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chaosagent.contracts.contract import Contract, End
from chaosagent.contracts.custom import contract
from chaosagent.errors import StudyError, TargetError
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.study.determinism.determinism import examine
from chaosagent.study.task_seed import TaskSeed
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

Leak = Callable[[Run, Path], Any]
KEPT: list[object] = []
"""What a module keeps between runs."""


class Agent:
    """An object that is hashed by its address."""

    def __init__(self, name: int) -> None:
        self.name = name


POOL = [Agent(0) for _ in range(40)]
CHANCE = random.Random(5)


def agents() -> list[Agent]:
    """Return agents at other addresses than in the run before."""
    CHANCE.shuffle(POOL)
    for name, agent in enumerate(POOL):
        agent.name = name
    return POOL


def examined(leak: Leak, folder: Path, *contracts: Contract) -> tuple[str, ...]:
    """Run a target several times without injections, as a study does before it searches; return errors of runs."""

    @target(name="leaking", tasks=[Task("t")])
    async def system(task: Task, run: Run) -> Outcome:
        del task
        shelf = run.service("shelf", {"find": lambda what: what}, read_only=True)
        found = leak(run, folder)
        if asyncio.iscoroutine(found):
            found = await found
        for one in found if isinstance(found, tuple) else (found,):
            await shelf("find", what=one)
        return Outcome("done", success=True)

    workbench = Workbench(system, system.config("default"), contracts)
    return tuple(map(str, examine([TaskSeed("t", 0)], workbench, None, stochastic=False).uncompared))


def counted_in_a_file(_: Run, folder: Path) -> int:
    file = folder / "count"
    count = int(file.read_text("utf-8")) + 1 if file.exists() else 0
    file.write_text(str(count), "utf-8")
    return count


def counted_in_a_module(_: Run, __: Path) -> int:
    KEPT.append(None)
    return len(KEPT)


def drawn_in_a_thread(_: Run, __: Path) -> float:
    drawn: list[float] = []
    thread = threading.Thread(target=lambda: drawn.append(random.uniform(0, 1)))
    thread.start()
    thread.join()
    return drawn[0]


def address(_: Run, __: Path) -> str:
    KEPT.append(object())  # it stays where it is, so that the next one is elsewhere
    return f"no answer from {KEPT[-1]!r}"


async def message_of_a_cancel_scope(_: Run, __: Path) -> str:
    anyio: Any = importlib.import_module("anyio")
    KEPT.append(scope := anyio.CancelScope())
    with scope:
        scope.cancel()
        try:
            await anyio.sleep(1)
        except asyncio.CancelledError as error:
            message = str(error)
            raise RuntimeError(message) from None
    return ""


def names_of_a_set(_: Run, __: Path) -> list[int]:
    return [agent.name for agent in set(agents())]


LEAKS: dict[str, tuple[Leak, str]] = {
    "a global random number": (lambda *_: random.uniform(0, 1), r"random\.uniform\(\) at"),
    "a uuid": (lambda *_: str(uuid.uuid4()), r"uuid\.uuid4\(\) at"),
    "the wall clock": (lambda *_: time.time_ns() / 1e9, "the wall clock"),
    "an address in a message": (address, ""),  # noted, whatever is said of it
    "a random number of a raw thread": (drawn_in_a_thread, r"random\.uniform\(\) at"),
    "a file": (counted_in_a_file, r"what files keep between runs: the target writes .*count \(test_leaks.py"),
    "a module": (counted_in_a_module, "what the process keeps between runs: runs change KEPT in test_leaks.py"),
    "a set of objects": (names_of_a_set, "the order of a set"),
}


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    KEPT.clear()


@pytest.mark.parametrize("name", list(LEAKS))
def test_what_makes_runs_differ_is_noticed_and_named(name: str, tmp_path: Path) -> None:
    leak, cause = LEAKS[name]
    with pytest.raises(StudyError, match=f"the target is not deterministic.*Likely cause: .*{cause}"):
        examined(leak, tmp_path)


def test_an_address_in_a_message_of_anyio_is_noticed(tmp_path: Path) -> None:
    pytest.importorskip("anyio")
    with pytest.raises(StudyError, match=r"the target is not deterministic.*Cancelled via cancel scope"):
        examined(message_of_a_cancel_scope, tmp_path)


def test_a_contract_that_keeps_something_between_runs_is_noticed(tmp_path: Path) -> None:
    @contract("first", at_end=True)
    def only_the_first(end: End) -> bool:
        del end
        KEPT.append(None)
        return len(KEPT) == 1

    with pytest.raises(StudyError, match="the target is not deterministic"):
        examined(lambda *_: 1, tmp_path, only_the_first)


def test_a_raw_thread_that_calls_a_door_is_refused(tmp_path: Path) -> None:
    def call(run: Run, _: Path) -> int:
        shelf = run.service("shelf", None)

        async def find() -> None:
            with suppress(TargetError):  # the run is refused all the same
                await shelf("find", what=1)

        thread = threading.Thread(target=lambda: asyncio.run(find()))
        thread.start()
        thread.join()
        return 1

    (error,) = examined(call, tmp_path)
    assert "service:shelf is called from another thread" in error


def test_a_target_without_a_leak_passes(tmp_path: Path) -> None:
    async def tasks(run: Run, _: Path) -> list[int]:
        made = {asyncio.create_task(asyncio.sleep(0.1, number)) for number in range(20)}
        done, _pending = await asyncio.wait(made)
        return [task.result() for task in done] + [run.rng("draws").randrange(9)]

    assert examined(tasks, tmp_path) == ()
