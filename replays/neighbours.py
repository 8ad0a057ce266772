"""The neighbours of a record that holds: a fix that only evades the recorded faults breaks under one of them.

A neighbour has one of the recorded faults changed, or one fault more:

* *another value*: the same operator with its other searched values, and with numbers near the recorded ones;
* *another operator*: one that leaves the agent without an answer, as the recorded fault did, or gives it one;
* *another operation*: the same fault at another operation of the same interface;
* *one more fault*: any operator that is searched by default, at any other call.

The cheapest are run first, up to a limit. One counts where every fault landed, the record's contract is violated in
comparison with today's run without faults, and, with one more fault, that fault alone does not do it.
"""

from __future__ import annotations

import enum
import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from chaosagent.contracts.contract import Contract
from chaosagent.errors import UsageError
from chaosagent.execution.execute import Execution
from chaosagent.execution.real_time import RunTooLongError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Hook, Injection, hook_at, inject
from chaosagent.faults.operator import (
    OPERATORS,
    Operator,
    ParameterValue,
    bind,
    lattice,
    parameters_of,
)
from chaosagent.faults.schedule import Schedule, schedule
from chaosagent.faults.space import Space
from chaosagent.replays.calls import Call, Candidate, calls_of, place_of
from chaosagent.replays.cold_runs import ColdRunsOfTask
from chaosagent.replays.drawing import run_schedule
from chaosagent.replays.outcome import Neighbour, Replay, ReplayOutcome
from chaosagent.replays.placements import FixedRun
from chaosagent.replays.record import Named, ReplayRecord, record_of_run
from chaosagent.replays.today import Today, is_broken
from chaosagent.trace.step import Step, StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Landing

NEAR = (0.5, 0.9, 1.1, 2.0)
"""What numbers are multiplied by, besides the searched values: a guard on one exact number misses these."""


HUNG_MAX = 3
"""Neighbours that are ended by the limit of real time before no more are run: each costs that limit."""


class Kind(enum.Enum):
    """What is other than in the record."""

    ANOTHER_VALUE = "another value"
    ANOTHER_OPERATOR = "another operator"
    ANOTHER_OPERATION = "another operation"
    ONE_MORE = "one more fault"
    FEWER = "fewer of the faults"


class _Planned(NamedTuple):
    """A neighbour to be run.

    Attributes:
        cost: Of its schedule.
        number: Its place among all neighbours; of equally dear ones the first comes first.
        kind: What is other than in the record.
        replaced: The fault in whose place another one is; `None` where there is one more.
        hook: Where that one is.
        operator: What it does.
    """

    cost: float
    number: int
    kind: Kind
    replaced: Candidate | None
    hook: Hook
    operator: Operator

    @property
    def changed(self) -> Injection:
        """The fault that the record does not have."""
        return inject(self.hook, self.operator)


@dataclass(slots=True)
class Around:
    """Runs the neighbours of one record that holds.

    Args:
        record: The stored counterexample.
        contract: Of the record, as it is today.
        today: Today's target.
        fixed: The run that says that the record holds.
        runs_max: How many neighbours may be run.
        cold: Repeats the run of what was found in a process of its own; `None` where that is not possible.
    """

    record: ReplayRecord
    contract: Contract
    today: Today
    fixed: FixedRun
    runs_max: int
    cold: ColdRunsOfTask | None

    def judged(self, held: Replay) -> Replay:
        """Return the outcome: `DODGED` where a neighbour breaks the contract, else what it was, with a note.

        Args:
            held: The outcome without neighbours.

        Raises:
            ChaosAgentError: A run cannot be made.
        """
        if self.record.stochastic:
            return _noted(
                held, "no neighbours were run, as answers come by chance; search to know how often they break"
            )
        if not self.fixed.placed:
            return _noted(held, "it has no neighbours, as none of its faults landed")
        neighbours = list(self._all(Space()))
        planned = heapq.nsmallest(self.runs_max, neighbours, key=lambda one: (one.cost, one.number))
        counted, alone, hung = 0, list[Injection](), list[Schedule]()
        for number, one in enumerate(planned, 1):
            wanted = self._schedule_of(one)
            try:
                execution = self._run(wanted)
                if not self._counts(one, wanted, execution):
                    continue
                counted += 1
                if not self._is_broken(execution.trace):
                    continue
                if one.kind is Kind.ONE_MORE and self._is_broken(self._run(schedule([one.changed])).trace):
                    alone.append(one.changed)
                    continue
                found = self._smallest(wanted)
                trace = self._run(found).trace
            except RunTooLongError:
                hung.append(wanted)
                if len(hung) == HUNG_MAX:
                    del planned[number:]
                continue
            if self._is_broken(trace) and self._repeats(found):
                return self._dodged(held, one.kind if one.changed in found else Kind.FEWER, found, trace)
            held = _noted(held, f"{found} broke {self.contract.id}, but not each time, or not in a process of its own")
        if hung:
            held = _noted(held, self._told_of(hung))
        count = "one neighbour" if counted == 1 else f"{counted} neighbours"
        detail = f"{held.detail}; so it does under {count} of the faults"
        missed = f", {len(planned) - counted} did not land" if counted < len(planned) else ""
        cut = f" (the {len(planned)} cheapest of {len(neighbours)} were run{missed})"
        held = replace(held, detail=detail + cut)
        if alone:
            more = f"{len(alone)} with one more fault" if len(alone) > 1 else "one with one more fault"
            broke = f"{more} broke {self.contract.id} by that fault alone ({alone[0]})"
            held = _noted(held, f"{broke}: search with --contract {self.contract.id}")
        return held

    # ------------------------------------------------------------------ which neighbours there are

    def _all(self, space: Space) -> Iterator[_Planned]:
        """Yield every neighbour, without a schedule, as there may be hundreds of thousands."""
        price, numbers = space.model.of, itertools.count()
        costs = {candidate: price(candidate.injection.operator) for candidate in self.fixed.placed}
        total = sum(costs.values())
        secrets = self.today.experiment.target.secrets
        calls = calls_of(self.fixed.judged.execution.evaluation.crossings, secrets)
        undisturbed = calls_of(self.today.undisturbed.evaluation.crossings, secrets)
        for candidate in self.fixed.placed:
            others = [one.injection.hook for one in self.fixed.placed if one is not candidate]
            changed = dict.fromkeys(self._in_place_of(candidate, space, [*calls, *undisturbed]))
            for kind, hook, operator in changed:
                if not any(hook.overlaps(other) for other in others):
                    cost = total - costs[candidate] + price(operator)
                    yield _Planned(cost, next(numbers), kind, candidate, hook, operator)
        placed = [one.injection.hook for one in self.fixed.placed]
        for call in calls:
            hook = hook_at(call.place)
            if not any(hook.overlaps(other) for other in placed):
                for priced in space.at(call.boundary, call.place.interface, call.place.agent):
                    yield _Planned(total + priced.cost, next(numbers), Kind.ONE_MORE, None, hook, priced.operator)

    def _in_place_of(
        self, candidate: Candidate, space: Space, calls: Iterable[Call]
    ) -> Iterator[tuple[Kind, Hook, Operator]]:
        """Yield what may take the place of one fault."""
        hook, operator = candidate.injection.hook, candidate.injection.operator
        for other in _other_values(operator):
            yield Kind.ANOTHER_VALUE, hook, other
        for priced in space.at(hook.boundary, hook.interface, hook.agent):
            if priced.operator.name != operator.name:
                yield Kind.ANOTHER_OPERATOR, hook, priced.operator
        own = candidate.fault.pair if candidate.call is None else candidate.call.pair
        for call in calls:
            if call.place.interface == hook.interface and call.pair != own:
                yield Kind.ANOTHER_OPERATION, hook_at(call.place), operator

    def _schedule_of(self, one: _Planned) -> Schedule:
        kept = [candidate.injection for candidate in self.fixed.placed if candidate is not one.replaced]
        return schedule([*kept, one.changed])

    # ------------------------------------------------------------------ what their runs do

    def _run(self, wanted: Schedule) -> Execution:
        return run_schedule(self.today.experiment, wanted)

    def _counts(self, one: _Planned, wanted: Schedule, execution: Execution) -> bool:
        """Whether every fault landed, and another operator looks to the agent as the recorded fault did."""
        landed = {each.injection for each in execution.trace.landed if each.landing is Landing.LANDED}
        if not landed.issuperset(map(str, wanted)):
            return False
        recorded = None if one.replaced is None else one.replaced.fault.step
        if one.kind is not Kind.ANOTHER_OPERATOR or recorded is None:
            return True
        step = _step_at(execution.trace, one.hook)
        return step is not None and _has_answer(step) == _has_answer(recorded)

    def _is_broken(self, trace: Trace) -> bool:
        return is_broken(trace.verdict(self.contract.id))

    def _smallest(self, wanted: Schedule) -> Schedule:
        """Leave out faults without which the contract is violated, too."""
        for injection in wanted:
            less = wanted.without(injection)
            if less and self._is_broken(self._run(less).trace):
                return self._smallest(less)
        return wanted

    def _repeats(self, found: Schedule) -> bool:
        """Whether the violation does not depend on what was run before in this process."""
        nominal = self.today.experiment.nominal
        if self.cold is None or nominal is None or self.record.task.id not in self.today.experiment.target.tasks:
            return True
        (evaluation,) = self.cold.again(found, (0,), nominal)
        return self._breaks(evaluation)

    def _breaks(self, evaluation: Evaluation) -> bool:
        return any(one.contract == self.contract.id and is_broken(one) for one in evaluation.verdicts)

    # ------------------------------------------------------------------ what is said and kept

    def _told_of(self, hung: Sequence[Schedule]) -> str:
        limit = f"{self.today.experiment.limits.wall_seconds_max:g} s of real time (run.wall_seconds)"
        ended = f"{len(hung)} of its neighbours took longer than {limit} and were ended, the first {hung[0]}"
        rest = "no more neighbours were run; " if len(hung) == HUNG_MAX else ""
        return f"{ended}; {rest}search `termination` to see whether they ever end"

    def _dodged(self, held: Replay, kind: Kind, found: Schedule, trace: Trace) -> Replay:
        violation = trace.verdict(self.contract.id).violation
        reason = "" if violation is None else f": {violation.reason}"
        neighbour = Neighbour(kind.value, self._record_of(found, trace))
        detail = (
            f"{self.contract.id} holds under the recorded faults, and is violated under a neighbour of them "
            f"({kind.value}), {found} (cost {neighbour.record.cost:g}){reason}"
        )
        return replace(
            held,
            outcome=ReplayOutcome.DODGED,
            step=None if violation is None else violation.step,
            detail=detail,
            neighbour=neighbour,
        )

    def _record_of(self, found: Schedule, trace: Trace) -> ReplayRecord:
        origin = (
            f"a neighbour of the record {self.record.id}, found by a replay; nothing is proved of cheaper schedules"
        )
        named = Named(self.record.target_reference, self.record.contract_specs, origin)
        made = record_of_run(
            self.today.experiment, self.today.undisturbed, trace, found, contract=self.contract, named=named
        )
        return replace(made, declarations=self.today.declarations, fresh=self.record.fresh)


def _noted(replay: Replay, note: str) -> Replay:
    return replace(replay, notes=(*replay.notes, note))


def _other_values(operator: Operator) -> Iterator[Operator]:
    """Yield an operator at the other values that are searched, and with each number a little smaller and larger."""
    own = parameters_of(operator)
    found = dict.fromkeys([*lattice(OPERATORS.get(operator.name)), *_near(operator.name, dict(own))])
    yield from (other for other in found if parameters_of(other) != own)


def _near(name: str, own: Mapping[str, ParameterValue]) -> Iterator[Operator]:
    for parameter, value in own.items():
        if isinstance(value, bool | str):
            continue
        for factor in NEAR:
            near = round(value * factor) if isinstance(value, int) else value * factor
            try:
                yield bind(name, tuple(sorted({**own, parameter: near}.items())))
            except UsageError:
                continue  # outside of what the operator allows


def _step_at(trace: Trace, hook: Hook) -> Step | None:
    calls = (step for step in trace.steps if step.kind in (StepKind.CALL, StepKind.CANCELLED))
    return next((step for step in calls if hook.matches(place_of(step))), None)


def _has_answer(step: Step) -> bool:
    """Whether the agent was given an answer, be it a wrong or a late one."""
    return step.kind is StepKind.CALL and step.failure is None
