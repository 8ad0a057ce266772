"""Which schedule is searched on from each state, for rule R3: the first in the order of cost that comes there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.proof.frontier import Child, Origin
from chaosagent.searchers.seen.course import NOTHING, State
from chaosagent.searchers.seen.states import States, Stretch, limit_share_used
from chaosagent.study.shrinking.minimal_sets import MinimalSets

Rank: TypeAlias = tuple[float, str]
"""The place of a schedule in the order of expanding: its cost, then its text."""


class Owners:
    """Keeps them.

    Args:
        states: What is known of the states that runs come through.
        model: What injections cost.
        spent_max: Share of a limit that the runs may use together which show what one schedule does.
        is_used: Whether rule R3 is in use; if not, no state has an owner.
        all_minimal: Every minimal counterexample is wanted, so that not every schedule stands for every other.

    Attributes:
        exchanges: How often a state has got another owner. As long as none has, `last_searched` finds the same again.
    """

    def __init__(self, states: States, model: CostModel, *, spent_max: float, is_used: bool, all_minimal: bool) -> None:
        self._states, self._model, self._spent_max = states, model, spent_max
        self._is_used, self._all_minimal = is_used, all_minimal
        self._owners: dict[State, tuple[Rank, Schedule]] = {}
        self.exchanges = 0

    def take(self, evaluation: Evaluation, rank: Rank) -> None:
        """Make a run the owner of the states behind its last action, where none before it is."""
        if not evaluation.fingerprints or not self._is_used:
            return
        for _, state in self._states.course(evaluation).marks_from(evaluation.acted):
            self._own(state, evaluation.schedule, rank)

    def take_shown(self, schedule: Schedule, shown: Sequence[Stretch], rank: Rank) -> None:
        """Make a schedule that was not run the owner of the states that it comes to, where none before it is."""
        for stretch in shown:
            if stretch.next_state is not None:
                self._own(stretch.next_state, schedule, rank)

    def _own(self, state: State, schedule: Schedule, rank: Rank) -> None:
        owner = self._owners.get(state)
        if owner is None or rank < owner[0]:
            self._owners[state] = (rank, schedule)
            self.exchanges += owner is not None

    def last_searched(self, origin: Origin) -> tuple[float, Schedule]:
        """Return the position up to which a schedule is searched on, and the one that stands for what comes behind.

        Infinite, and nothing, where none does.
        """
        run = origin.run
        if not run.fingerprints or not self._is_used or run.schedule != origin.schedule:
            return float("inf"), EMPTY
        for mark in self._states.course(run).marks_from(origin.acted):
            _, owner = self._owners[mark.state]
            if owner != origin.schedule and self._stands_for(owner, origin.schedule):
                return mark.position, owner
        return float("inf"), EMPTY

    def _stands_for(self, owner: Schedule, other: Schedule) -> bool:
        """Whether what is added to one schedule need not be added to another that comes to the same state.

        Where all minimal counterexamples are wanted, only if whatever blocks the one blocks the other, too.
        """
        if not self._all_minimal or owner == EMPTY:
            return True
        held = MinimalSets(self._model)
        held.add(owner)
        return held.held_by(other)

    def shown(self, child: Child, schedule: Schedule) -> tuple[list[Stretch], Schedule] | None:
        """Return what a schedule does when runs have shown it, as far as another does not stand for what comes behind.

        Returns:
            Its stretches from what the child adds on, and the schedule that goes on like it: the one that stands for
            it from there, or one that ended so. `None` when some of that is unknown, or when it is shown by so many
            runs that it might come to a limit which none of them has met.
        """
        if child.injection is None or child.family is None:
            return None
        stretches: list[Stretch] = []
        been: set[State] = set()
        stretch = self._states.foresee(child.family.origin.run, child.position, child.injection)
        while stretch is not None:
            stretches.append(stretch)
            state = stretch.next_state
            if state is None:
                return (stretches, self._states.run_of(stretch).schedule) if self._is_short(stretches) else None
            owner = self._owners.get(state)
            if owner is not None and owner[0] < (child.cost, str(schedule)):
                is_shown = self._stands_for(owner[1], schedule) and self._is_short(stretches)
                return (stretches, owner[1]) if is_shown else None
            if state in been:
                return None  # how often it comes here is in no fingerprint
            been.add(state)
            stretch = self._states.after(state, NOTHING)
        return None

    def _is_short(self, stretches: Sequence[Stretch]) -> bool:
        """Whether stretches in a row use no more of a limit than a single run may."""
        return limit_share_used(stretches) < self._spent_max
