"""Agents that break their contract only if they have lost exactly certain answers, which no checkpoint declares.

The agent asks several nodes and notes which of them did not answer; its checkpoints do not declare that. If the noted
set is exactly a certain one, it pays twice; some do so only if the payment fails, too. Chains of many faults overshoot
such an agent. `python -m tests.lab.soundness --particular 10` counts how often the audit misses that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import NamedTuple

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.effects.rule import effect
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.seeds import derive
from chaosagent.study.searcher import SEARCHERS
from chaosagent.study.shrinking.minimise import violates
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.bench import Bench
from chaosagent.testing.enumeration import drive, drive_audit
from chaosagent.vocabulary import Outcome, StatusError, Task

HIDING_PLACES = ("local", "context", "module", "task name")
OPERATORS = (
    (Choices("service.error_status", {"when": ("before",), "status": (503,)}),),
    (Choices("service.timeout", {}), Choices("service.lost_response", {})),
)
CONTRACT = "at-most-once"
AUDIT = 16
COST_MAX = 1.13
"""Of one fault."""

LOST = list[int]()
_lost: ContextVar[tuple[int, ...]] = ContextVar("lost", default=())


class Particular(NamedTuple):
    """An agent that minds one set of lost answers.

    Attributes:
        seed: From which it is drawn.
        size: Answers in that set.
        place: Where it notes what was lost, of `HIDING_PLACES`.
        needs_failed_payment: Whether the payment has to fail as well.
        leaves_out: Whether its checkpoints leave out what was lost.
    """

    seed: int
    size: int
    place: str = "local"
    needs_failed_payment: bool = False
    leaves_out: bool = True

    @property
    def budget(self) -> float:
        """Enough for the weakness, and not for a further fault."""
        return COST_MAX * (self.size + self.needs_failed_payment)

    def target(self) -> Target:
        """Return the target."""
        rng = derive(self.seed, "particular", self.size, self.needs_failed_payment)
        count = rng.randint(5, 7)
        return _agent(count, sorted(rng.sample(range(count), self.size)), self)

    def space(self) -> Space:
        """Return what may be injected."""
        return Space(OPERATORS[self.seed % 2])


def _agent(count: int, minded: list[int], case: Particular) -> Target:
    @target(name="particular", tasks=[Task("only")])
    async def agent(task: Task, run: Run) -> Outcome:
        """Ask every node, and pay."""
        del task
        nodes = run.service("nodes", {"ask": lambda node: {"node": node}}, read_only=True)
        pay = run.service("pay", {"pay": lambda job: job}, effects={"pay": effect("job")})
        in_local = list[int]()
        LOST.clear()
        note, noted = _notes(case.place, in_local)
        for node in range(count):
            try:
                await nodes("ask", node=node)
            except (TimeoutError, ConnectionError, StatusError):
                note(node)
            declared = [node] if case.leaves_out else [node, *noted()]
            run.checkpoint("asked", declared, clock_matters=False, artifacts_matter=False)
            del declared
        failed = False
        try:
            await pay("pay", job=1)
        except (TimeoutError, ConnectionError, StatusError):
            failed = True
        if noted() == minded and (failed or not case.needs_failed_payment):
            for _ in range(2 if case.needs_failed_payment else 1):
                with suppress(TimeoutError, ConnectionError, StatusError):
                    await pay("pay", job=1)
        return Outcome("paid", success=True)

    return agent


def _notes(place: str, in_local: list[int]) -> tuple[Callable[[int], None], Callable[[], list[int]]]:
    match place:
        case "context":
            return _note_in_context, lambda: list(_lost.get())
        case "module":
            return LOST.append, lambda: [*LOST]
        case "task name":
            _task().set_name("agent")
            return lambda node: _task().set_name(f"{_task().get_name()}/{node}"), _named
        case _:
            return in_local.append, lambda: [*in_local]


def _note_in_context(node: int) -> None:
    _lost.set((*_lost.get(), node))


def _task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _named() -> list[int]:
    return [int(node) for node in _task().get_name().split("/")[1:]]


class Found(NamedTuple):
    """What a search of such an agent came to.

    Attributes:
        is_caught: Whether a run contradicted rule R3.
        is_found: Whether a run broke the contract.
        audited: How many schedules the audit has run.
        executed: How many were run in all.
    """

    is_caught: bool
    is_found: bool
    audited: int
    executed: int

    @property
    def is_wrong(self) -> bool:
        """Whether it is proved that nothing breaks the contract, which is wrong of each of these agents."""
        return not self.is_caught and not self.is_found


def search(case: Particular, searcher: str, *, audit: int = AUDIT, search_seed: int = 0) -> Found:
    """Search an agent as a study does, to its end and with the audit."""
    bench = Bench(case.target(), [parse_contract(CONTRACT)], case.space())
    made = SEARCHERS.get(searcher)(bench.problem(CONTRACT, case.budget, search_seed=search_seed))
    told: list[Evaluation] = []

    def run(schedule: Schedule) -> Evaluation:
        told.append(bench.run(schedule))
        return told[-1]

    drive(made, run)
    audited = 0
    if not made.progress.contradictions:
        audited = drive_audit(made, run, audit)
    is_found = any(violates(evaluation, CONTRACT) for evaluation in told)
    return Found(made.progress.contradictions > 0, is_found, audited, len(bench.executed))
