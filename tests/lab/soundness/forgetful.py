"""Agents whose checkpoints leave out one variable on which their future depends.

The agent asks several services, each up to twice. From some of them it accepts a short answer without a remark, and if
all of these were short its outcome is wrong. Its checkpoints declare everything that it remembers but one such fact, so
rule R3 merges runs that differ. `python -m tests.lab.soundness --forgetful 12` counts how often the audit misses that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.experiments.benchmarks.planted.desk import ANY_LIST, FAILURES, ITEMS, answer_of, complete, item_count
from chaosagent.experiments.benchmarks.planted.levels import LAST_LOST, fourteen, space
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule, parse
from chaosagent.seeds import derive
from chaosagent.study.searcher import SEARCHERS
from chaosagent.study.shrinking.minimise import violates
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.bench import Bench
from chaosagent.testing.enumeration import drive, drive_audit
from chaosagent.vocabulary import Outcome, Task

HIDING_PLACES = ("local", "attribute", "closure", "world", "nested")
AUDIT = 16


class Forgetful(NamedTuple):
    """An agent that forgets to declare something.

    Attributes:
        seed: From which it is drawn.
        size: How many short answers are too many.
        place: Where it keeps the undeclared one, of `HIDING_PLACES`.
        leaves_out: Whether it does; else its checkpoints are complete.
    """

    seed: int
    size: int
    place: str
    leaves_out: bool = True

    @property
    def budget(self) -> float:
        """Enough for the weakness, and not for a further fault."""
        return 1.35 * self.size

    def target(self) -> Target:
        """Return the target."""
        rng = derive(self.seed, "forgetful", self.size)
        names = [f"s{number}" for number in range(rng.randint(6, 8))]
        rng.shuffle(names)
        weak = rng.sample(names, self.size)
        hidden = rng.choice(weak) if self.leaves_out else ""
        return _agent(names, weak, hidden, self.place)


@dataclass(slots=True)
class _Desk:
    """What an agent keeps outside its function's variables."""

    was_short: bool = False
    facts: dict[str, Any] = field(default_factory=lambda: {"list": [{"fact": {"short": False}}]})


def _agent(names: list[str], weak: list[str], hidden: str, place: str) -> Target:
    @target(name="forgetful", tasks=[Task("only")])
    async def agent(task: Task, run: Run) -> Outcome:
        """Ask every service, and accept some short answers without a remark."""
        del task
        doors = {
            name: run.service(name, {"get": lambda number, name=name: answer_of("list", name, number)}, read_only=True)
            for name in names
        }
        desk, world = _Desk(), {"short": False}
        seen, doubts, in_local, in_closure = dict[str, bool](), 0, False, False

        def note(*, short: bool) -> None:
            nonlocal in_closure
            in_closure = short

        for name in names:
            lost = await _fetch(doors[name], accepts=ANY_LIST if name in weak else complete)
            if lost is None:
                return Outcome("a colleague will look into it", success=True)
            if name == hidden:
                match place:
                    case "local":
                        in_local = lost > 0
                    case "attribute":
                        desk.was_short = lost > 0
                    case "closure":
                        note(short=lost > 0)
                    case "world":
                        world["short"] = lost > 0
                    case _:
                        desk.facts["list"][0]["fact"]["short"] = lost > 0
            elif name in weak:
                seen[name] = lost > 0
            elif lost:
                doubts += 1
            declared: list[Plain] = [[[name, short] for name, short in sorted(seen.items())], doubts]
            run.checkpoint(name, declared, clock_matters=False, artifacts_matter=False)
            del lost, declared
        hidden_facts = (in_local, in_closure, desk.was_short, world["short"], desk.facts["list"][0]["fact"]["short"])
        facts = [*seen.values(), *([any(hidden_facts)] if hidden else [])]
        return Outcome("done", success=not all(facts))

    return agent


async def _fetch(door: Any, accepts: Callable[[Plain], bool]) -> int | None:
    """Return how many items an answer lacks; `None` when none came that is accepted."""
    ask = door.ask("get", number=1)
    for _ in range(2):
        with suppress(*FAILURES):
            value = await ask.attempt()
            if accepts(value):
                return ITEMS - item_count(value)
    return None


class _ContradictionError(Exception):
    """A run contradicted a rule, so nothing wrong is claimed."""


class Found(NamedTuple):
    """What a search of a forgetful agent came to.

    Attributes:
        truth: The least cost of a violation.
        bound: What was proved in the end.
        is_caught: Whether a run contradicted rule R3.
        audited: How many schedules the audit has run.
    """

    truth: float
    bound: float
    is_caught: bool
    audited: int

    @property
    def is_wrong(self) -> bool:
        """Whether more is proved than is true."""
        return not self.is_caught and self.bound > self.truth + 1e-6


def search(case: Forgetful, searcher: str, *, audit: int = AUDIT, search_seed: int = 0) -> Found:
    """Search a forgetful agent as a study does, to its end and with the audit; stop where a rule is contradicted."""
    bench = Bench(case.target(), [parse_contract("objective")], space(*fourteen()))
    made = SEARCHERS.get(searcher)(bench.problem("objective", case.budget, search_seed=search_seed))
    audited = 0

    def run(schedule: Schedule) -> Evaluation:
        if made.progress.contradictions:
            raise _ContradictionError
        evaluation = bench.run(schedule)
        assert not violates(evaluation, "objective") or len(evaluation.effective) >= case.size
        return evaluation

    with suppress(_ContradictionError):
        drive(made, run)
        audited = drive_audit(made, run, audit)
    cheapest = parse(f"service:s0[1] {LAST_LOST}", "the cheapest short answer").declared_cost(bench.space.model)
    progress = made.progress
    return Found(case.size * cheapest, progress.lower_bound, progress.contradictions > 0, audited)
