"""Reducing a counterexample until nothing of it can be spared, weakened or exchanged for something cheaper."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, inject
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.schedule import schedule as schedule_of
from chaosagent.faults.space import Space
from chaosagent.vocabulary import Verdict

Rerun: TypeAlias = Callable[[Schedule], Evaluation]
Reducing: TypeAlias = Generator[Schedule, Evaluation, Evaluation]


class Necessity(NamedTuple):
    """Why one injection is necessary: the run without it.

    Attributes:
        injection: The one left out.
        evaluation: What the run without it told; it does not break the contract fairly.
    """

    injection: Injection
    evaluation: Evaluation

    def fate(self, contract: str) -> str:
        """Say how that run ended, and what became of the contract."""
        verdict = self.evaluation.verdict(contract)
        unfair = verdict is not None and verdict.unfair
        return f"{self.evaluation.ending.value}, {contract} {'is violated, but unfairly' if unfair else 'holds'}"


def violates(evaluation: Evaluation, contract: str) -> bool:
    """Whether a run broke a contract fairly."""
    verdict = evaluation.verdict(contract) if evaluation.status is Status.OK else None
    return verdict is not None and verdict.verdict is Verdict.VIOLATED and not verdict.unfair


def spares(evaluation: Evaluation, contract: str) -> bool:
    """Whether a run is known not to break a contract fairly."""
    verdict = evaluation.verdict(contract) if evaluation.status is Status.OK else None
    return verdict is not None and (verdict.verdict is Verdict.HOLDS or verdict.unfair)


def minimise(found: Evaluation, contract: str, space: Space, rerun: Rerun, *, runs_max: int = 500) -> Evaluation:
    """Reduce a schedule that breaks a contract; see `reducing`, whose requests it answers with `rerun`."""
    steps = reducing(found, contract, space, runs_max=runs_max)
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send(rerun(wanted))
    except StopIteration as end:
        smallest: Evaluation = end.value
        return smallest


def reducing(
    found: Evaluation, contract: str, space: Space, *, first: Schedule | None = None, runs_max: int = 500
) -> Reducing:
    """Reduce a schedule that breaks a contract, one run at a time.

    Args:
        found: A run that breaks the contract; it is not changed.
        contract: Id of the contract.
        space: The operators that an injection may be exchanged for.
        first: What most likely matters of it, to begin with.
        runs_max: Limit in runs.

    Yields:
        Schedules to be run; each is sent what it told.

    Returns:
        A run of the cheapest schedule met that breaks the same contract; its cost is never above that of `found`.
        Unless the limit was reached, no injection of it can be dropped, weakened, shortened or moved to a cheaper
        operator.

    Determinism: equal inputs give equal requests.
    Source: Zeller and Hildebrandt 2002 (ddmin), on single injections, with weakening.
    """
    best = found
    runs = 0
    if found.effective != found.schedule:
        best = yield found.effective
        runs += 1
        if not violates(best, contract):
            return found
    if first is not None and first.declared_cost(space.model) < best.effective.declared_cost(space.model):
        evaluation = yield first
        runs += 1
        if violates(evaluation, contract):
            best = evaluation
    improved = True
    while improved and runs < runs_max:
        improved = False
        for candidate in _reductions(best.effective, best, space):
            if runs >= runs_max:
                break
            runs += 1
            evaluation = yield candidate
            if violates(evaluation, contract) and _size(evaluation, space) < _size(best, space):
                best, improved = evaluation, True
                break
    return best


def necessity_of(minimal: Schedule, contract: str, rerun: Rerun) -> tuple[Necessity, ...]:
    """Return, for each injection, the run without it, unless that run breaks the contract, too, or tells nothing."""
    table = (Necessity(injection, rerun(minimal.without(injection))) for injection in minimal)
    return tuple(row for row in table if spares(row.evaluation, contract))


def _reductions(schedule: Schedule, evaluation: Evaluation, space: Space) -> Iterator[Schedule]:
    """Yield cheaper schedules, the most promising first: parts, without an injection, with a cheaper one in its place.

    The parts are those of ddmin: halves and what they leave, then quarters, and so on, as long as a part is more than
    one injection.
    """
    injections = list(schedule)
    parts = 2
    while len(injections) >= 2 * parts:
        cuts = [len(injections) * part // parts for part in range(parts + 1)]
        pieces = [injections[start:end] for start, end in pairwise(cuts)]
        for piece in pieces:
            yield schedule_of(piece)
        if parts > 2:
            for piece in pieces:
                yield schedule_of(injection for injection in injections if injection not in piece)
        parts *= 2
    for injection in schedule:
        yield schedule.without(injection)
    for injection in schedule:
        rest = schedule.without(injection)
        now = space.model.of(injection.operator)
        for crossing in evaluation.crossings:
            if not injection.hook.matches(crossing.place):
                continue
            for priced in space.at(crossing.boundary, crossing.place.interface, crossing.place.agent):
                if priced.cost < now:
                    yield rest.with_injection(inject(injection.hook, priced.operator))


def _size(evaluation: Evaluation, space: Space) -> tuple[float, int]:
    """Return cost and number of injections: of two that cost nothing, the smaller one is better."""
    return evaluation.effective.declared_cost(space.model), len(evaluation.effective)
