"""Equivalence classes of schedules that chance treats alike; one schedule of each is raced."""

from __future__ import annotations

import math
from dataclasses import dataclass

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.chance.confirmation import Confirmation

LOOKS_MAX = 5
"""In how many further worlds a class is looked at before others, once it has violated in one."""


@dataclass(slots=True)
class EquivalenceClass:
    """Schedules that ask the models alike, do the same to the world, and end alike.

    Attributes:
        usual: They ask what is asked without injections.
        schedule: The cheapest of them that was not tested.
        cost: Of it.
        runs: In how many worlds it was run.
        violations: In how many worlds that one violated.
        looks: In how many worlds it is to be looked at before others.
        dropped: How many of them were seen violating, and dropped.
        seen: Whether any of them was seen violating.
        confirmed: Whether a violation of any of them was confirmed.
        undecided: Whether the fresh runs of any of them have told nothing clear.
    """

    usual: bool
    schedule: Schedule = EMPTY
    cost: float = math.inf
    runs: int = 1
    violations: int = 0
    looks: int = 0
    dropped: int = 0
    seen: bool = False
    confirmed: bool = False
    undecided: bool = False

    @property
    def clean(self) -> bool:
        """Whether none of them was seen violating."""
        return not (self.seen or self.dropped or self.confirmed)

    @property
    def open(self) -> bool:
        """Whether a violation of one of them was neither confirmed nor shown to be chance."""
        return not self.confirmed and (self.undecided or (self.seen and not self.dropped))

    def tested(self, confirmation: Confirmation) -> None:
        """Take what fresh runs of one of them have told."""
        self.seen = True
        self.confirmed = self.confirmed or confirmation.confirmed
        self.undecided = self.undecided or confirmation.undecided
        self.dropped += not confirmation.confirmed

    def begin(self, schedule: Schedule, cost: float, *, violated: bool) -> None:
        """Run another schedule for the class from now on, which was run in the first world only."""
        self.schedule, self.cost, self.runs = schedule, cost, 1
        self.violations, self.looks = (1, LOOKS_MAX) if violated else (0, 0)
        self.seen = self.seen or violated

    def is_better(self, schedule: Schedule, cost: float) -> bool:
        """Whether a schedule is to be run for the class from now on; one that was run before is kept at equal cost."""
        return cost < self.cost - COST_TOLERANCE or (
            self.runs == 1 and (cost, schedule.text) < (self.cost, self.schedule.text)
        )


def world_effects_key(evaluation: Evaluation) -> tuple[object, ...]:
    """Return what tells apart what runs did to the world.

    What a fault that acts on more than reading has done there is recorded nowhere (a response lost before or after the
    commit), so such a fault stands for itself.
    """
    written = {crossing.place.interface for crossing in evaluation.crossings if not crossing.read_only}
    reading = {crossing.place.interface for crossing in evaluation.crossings} - written
    acting = tuple(str(one) for one in evaluation.effective if one.hook.interface not in reading)
    crossings = tuple((crossing.place, crossing.request, crossing.response) for crossing in evaluation.crossings)
    return acting, crossings
