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

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from chaosagent.contracts.contract import Contract
from chaosagent.errors import UsageError
from chaosagent.execution.execute import Execution
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection, hook_at, inject, injection_at
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
ANOTHER_VALUE, ANOTHER_OPERATOR, ANOTHER_OPERATION, ONE_MORE = (
    "another value",
    "another operator",
    "another operation",
    "one more fault",
)
_KINDS = (ANOTHER_VALUE, ANOTHER_OPERATOR, ANOTHER_OPERATION, ONE_MORE)


class _Planned(NamedTuple):
    """A neighbour to be run: what it costs, of which kind it is, and what is other than in the record."""

    cost: float
    kind: int
    number: int
    schedule: Schedule
    changed: Injection
    before: Candidate | None


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
        planned, total = self._planned()
        counted, evaded = 0, 0
        for one in planned:
            execution = self._run(one.schedule)
            if not self._counts(one, execution):
                continue
            counted += 1
            if not self._is_broken(execution.trace):
                continue
            if one.kind == _KINDS.index(ONE_MORE) and self._is_broken(self._run(schedule([one.changed])).trace):
                evaded += 1
                continue
            found = self._smallest(one.schedule)
            if not self._repeats(found):
                held = _noted(held, f"{found} broke {self.contract.id}, but not in a process of its own")
                continue
            return self._dodged(held, one, found)
        detail = f"{held.detail}; so it does under {counted} neighbours of the faults"
        limit = f" (the {len(planned)} cheapest of {total} were run)" if total > len(planned) else ""
        held = replace(held, detail=detail + limit)
        if evaded:
            held = _noted(
                held, f"{evaded} with one more fault break {self.contract.id} by that fault alone; search for it"
            )
        return held

    # ------------------------------------------------------------------ which neighbours there are

    def _planned(self) -> tuple[list[_Planned], int]:
        """Return the neighbours to be run, the cheapest first, and how many there are."""
        space = Space()
        seen: dict[Schedule, _Planned] = {}
        for number, (kind, changed, before, injections) in enumerate(self._all(space)):
            wanted = schedule(injections)
            if wanted not in seen:
                seen[wanted] = _Planned(wanted.declared_cost(space.model), kind, number, wanted, changed, before)
        seen.pop(schedule(self._placed), None)
        return heapq.nsmallest(self.runs_max, seen.values(), key=lambda one: one[:3]), len(seen)

    def _all(self, space: Space) -> Iterator[tuple[int, Injection, Candidate | None, list[Injection]]]:
        calls = calls_of(self.fixed.judged.execution.evaluation.crossings)
        undisturbed = calls_of(self.today.undisturbed.evaluation.crossings)
        for candidate, injection in zip(self.fixed.placed, self._placed, strict=True):
            others = [one for one in self._placed if one != injection]
            for kind, changed in self._changed(candidate, injection, space, [*calls, *undisturbed]):
                if not any(changed.hook.overlaps(other.hook) for other in others):
                    yield kind, changed, candidate, [*others, changed]
        for call in calls:
            hook = hook_at(call.place)
            if any(hook.overlaps(one.hook) for one in self._placed):
                continue
            for priced in space.at(call.boundary, call.place.interface, call.place.agent):
                more = inject(hook, priced.operator)
                yield _KINDS.index(ONE_MORE), more, None, [*self._placed, more]

    def _changed(
        self, candidate: Candidate, injection: Injection, space: Space, calls: Iterable[Call]
    ) -> Iterator[tuple[int, Injection]]:
        """Yield what may take the place of one fault."""
        hook = injection.hook
        for operator in _other_values(injection.operator):
            yield _KINDS.index(ANOTHER_VALUE), inject(hook, operator)
        for priced in space.at(hook.boundary, hook.interface, hook.agent):
            if priced.operator.name != injection.operator_name:
                yield _KINDS.index(ANOTHER_OPERATOR), inject(hook, priced.operator)
        own = candidate.fault.pair if candidate.call is None else candidate.call.pair
        for call in calls:
            if call.place.interface == hook.interface and call.pair != own:
                yield _KINDS.index(ANOTHER_OPERATION), injection_at(call.place, injection)

    @property
    def _placed(self) -> list[Injection]:
        return [candidate.injection for candidate in self.fixed.placed]

    # ------------------------------------------------------------------ what their runs do

    def _run(self, wanted: Schedule) -> Execution:
        return run_schedule(self.today.experiment, wanted)

    def _counts(self, one: _Planned, execution: Execution) -> bool:
        """Whether every fault landed, and another operator looks to the agent as the recorded fault did."""
        landed = {each.injection for each in execution.trace.landed if each.landing is Landing.LANDED}
        if not landed.issuperset(map(str, one.schedule)):
            return False
        if one.kind != _KINDS.index(ANOTHER_OPERATOR) or one.before is None or one.before.fault.step is None:
            return True
        step = _step_at(execution.trace, one.changed)
        return step is not None and _has_answer(step) == _has_answer(one.before.fault.step)

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

    def _dodged(self, held: Replay, one: _Planned, found: Schedule) -> Replay:
        trace = self._run(found).trace
        violation = trace.verdict(self.contract.id).violation
        reason = "" if violation is None else f": {violation.reason}"
        neighbour = Neighbour(_KINDS[one.kind], self._record_of(found, trace))
        detail = (
            f"{self.contract.id} holds under the recorded faults, and is violated under a neighbour of them "
            f"({_KINDS[one.kind]}), {found} (cost {neighbour.record.cost:g}){reason}"
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


def _step_at(trace: Trace, injection: Injection) -> Step | None:
    steps: Sequence[Step] = [step for step in trace.steps if step.kind in (StepKind.CALL, StepKind.CANCELLED)]
    return next((step for step in steps if injection.hook.matches(place_of(step))), None)


def _has_answer(step: Step) -> bool:
    """Whether the agent was given an answer, be it a wrong or a late one."""
    return step.kind is StepKind.CALL and step.failure is None
