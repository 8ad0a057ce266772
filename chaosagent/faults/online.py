"""Online policies (the adversary of Eq. 9): they choose the next injection inside a run, by what they see of it.

A policy is plain data. What it does follows from it, from the run's seed, and from what an adversary at the boundaries
of the target could see there; so a run with a policy is the run of a schedule, the one of what was chosen.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from chaosagent.faults.injection import Injection, Place, hook_at, inject
from chaosagent.faults.observer import Observation
from chaosagent.faults.operator import COST_TOLERANCE, CostModel, Operator, ParameterValue, parameters_of
from chaosagent.faults.space import Choices, Space
from chaosagent.seeds import derive_seed
from chaosagent.vocabulary import Boundary

Declared: TypeAlias = (
    "tuple[tuple[str, tuple[tuple[str, tuple[ParameterValue, ...]], ...], tuple[str, ...], tuple[str, ...]], ...]"
)
"""The choices of a space as plain data: operator, values, interfaces, agents."""

SPREADS: Mapping[str, float] = {"o": 0.12, "i": 0.15, "p": 0.3, "d": 0.08, "h": 0.12, "j": 0.12, "f": 0.08}
"""Standard deviation of a weight that nothing is known of, by the first letter of its context; see `contexts`."""

BLOCK, DEVIATES = 32, 4096
"""How many weights are drawn at once, and from how many values each."""

_WORDS = struct.Struct(f"<{BLOCK}H")


def contexts(seen: Observation) -> tuple[str, ...]:
    """Return what a policy's weights are looked up by: aspects of an observation, each with a letter before it."""
    interface = seen.place.interface
    found = [
        "o",
        f"i {interface}",
        f"p {seen.place}",
        f"d {interface} {seen.operation} {seen.request_size}",
        f"h {interface} {seen.heard_from} {seen.heard}",
        f"f {min(seen.failures, 3)} {min(seen.place.attempt, 1)}",
    ]
    if seen.injected:
        found.append(f"j {interface} {seen.injected} {min(seen.since, 3)}")
    return tuple(found)


class Arm(NamedTuple):
    """An operator of a space that a policy may choose.

    Attributes:
        number: Among all of the space.
        cost: What it costs when it lands.
        operator: With its parameters.
    """

    number: int
    cost: float
    operator: Operator


class Arms:
    """The operators of a space, numbered.

    Args:
        space: Whose.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._numbers: dict[tuple[str, tuple[tuple[str, ParameterValue], ...]], int] = {}
        for choice in space.choices:
            for operator in choice.operators():
                self._numbers.setdefault((operator.name, parameters_of(operator)), len(self._numbers))
        self._at: dict[tuple[Boundary, str, str], tuple[Arm, ...]] = {}

    def number(self, operator: Operator) -> int:
        """Return the number of an operator, -1 when it lies outside the space."""
        return self._numbers.get((operator.name, parameters_of(operator)), -1)

    def at(self, place: Place, boundary: Boundary) -> tuple[Arm, ...]:
        """Return what may be injected at a place, the cheapest first."""
        key = (boundary, place.interface, place.agent)
        known = self._at.get(key)
        if known is None:
            known = self._at[key] = tuple(
                Arm(self.number(priced.operator), priced.cost, priced.operator) for priced in self._space.at(*key)
            )
        return known


def plain_choices(space: Space) -> Declared:
    """Return the choices of a space as plain data."""
    return tuple(
        (choice.operator, tuple((name, tuple(values)) for name, values in choice.values.items()), *_where(choice))
        for choice in space.choices
    )


def _where(choice: Choices) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(choice.interfaces), tuple(choice.agents)


@functools.lru_cache(maxsize=16)
def arms_of(choices: Declared, model: CostModel) -> Arms:
    """Return the operators that plain data declare; made once for each space in a process."""
    named = [Choices(name, dict(values), interfaces, agents) for name, values, interfaces, agents in choices]
    return Arms(Space(named, model))


@dataclass(frozen=True, slots=True)
class Policy:
    """Chooses injections inside a run by a linear model.

    It injects what has the greatest sum of weights, if that reaches a threshold.
    Weights are drawn once for the policy, each from a stream of its own that its name gives, so that neither the order
    of looking at them nor the process matters (Thompson sampling: weights are normal, with mean and deviation as far as
    the past has taught them).

    Attributes:
        name: Tells policies of a study apart.
        seed: Of its draws, together with the seed of the run.
        choices: What it may inject where; see `plain_choices`.
        model: What that costs.
        budget: What its choices may cost together, landed or not.
        threshold: Sum of weights from which it injects.
        spread: Factor on the deviations of all weights.
        dearest: What one of its choices may cost.
        weights: For some contexts, number of an operator, mean and deviation of the weight; the others have mean 0 and
            their deviation from `SPREADS`.
        barred: Numbers of operators that are never chosen at a place, by the text of the place.
        blocked: Sets of hooks and costs: choices that have, at each hook of a set, something at least as dear are not
            made, as what comes of them is known.
    """

    name: str
    seed: int
    choices: Declared = field(hash=False, repr=False)
    model: CostModel = field(hash=False, repr=False)
    budget: float = field(hash=False)
    threshold: float = field(default=0.0, hash=False)
    spread: float = field(default=1.0, hash=False)
    dearest: float = field(default=float("inf"), hash=False)
    weights: tuple[tuple[str, tuple[tuple[int, float, float], ...]], ...] = field(default=(), hash=False, repr=False)
    barred: tuple[tuple[str, tuple[int, ...]], ...] = field(default=(), hash=False, repr=False)
    blocked: tuple[tuple[tuple[str, float], ...], ...] = field(default=(), hash=False, repr=False)


class Scores:
    """What a policy thinks of operators at a moment of runs with one seed.

    Args:
        policy: Whose weights.
        seed: Of the runs.
    """

    def __init__(self, policy: Policy, seed: int) -> None:
        self.policy, self.arms = policy, arms_of(policy.choices, policy.model)
        self._key = derive_seed(seed, "policy", policy.name, policy.seed).to_bytes(16, "big")
        self._given = dict(policy.weights)  # most rows of a policy are of contexts that a run never comes to
        self._known: dict[Observation, list[tuple[float, Arm]]] = {}
        self._barred = dict(policy.barred)
        self._deviates = _deviates()
        self._drawn: dict[tuple[str, tuple[Boundary, str, str]], list[float]] = {}

    def of(self, seen: Observation) -> list[tuple[float, Arm]]:
        """Return what may be injected, each with its sum of weights."""
        known = self._known.get(seen)
        if known is None:
            known = self._known[seen] = self._worked_out(seen)
        return known

    def _worked_out(self, seen: Observation) -> list[tuple[float, Arm]]:
        place = seen.place
        barred, dearest = self._barred.get(str(place), ()), self.policy.dearest + COST_TOLERANCE
        arms = self.arms.at(place, seen.boundary)
        where = (seen.boundary, place.interface, place.agent)
        sums = map(sum, zip(*[self._weights(key, where, arms) for key in contexts(seen)], strict=True))
        return [
            (score, arm)
            for score, arm in zip(sums, arms, strict=True)
            if arm.cost <= dearest and arm.number not in barred
        ]

    def _weights(self, key: str, where: tuple[Boundary, str, str], arms: Sequence[Arm]) -> list[float]:
        """Return the weights in a context of what may be injected at an interface."""
        known = self._drawn.get((key, where))
        if known is None:
            row, usual, factor = self._row(key), (0.0, SPREADS[key[0]]), self.policy.spread
            known = self._drawn[key, where] = []
            for arm, deviate in zip(arms, self._deviates_of(key, arms), strict=True):
                mean, spread = row.get(arm.number, usual)
                known.append(mean + factor * spread * deviate)
        return known

    def _row(self, key: str) -> Mapping[int, tuple[float, float]]:
        """Return what is known of the weights in a context, by number of the operator."""
        return {number: (mean, spread) for number, mean, spread in self._given.get(key, ())}

    def _deviates_of(self, key: str, arms: Sequence[Arm]) -> list[float]:
        """Return the standard normal draws for the weights of operators in a context."""
        blocks: dict[int, tuple[int, ...]] = {}
        for block in {arm.number // BLOCK for arm in arms}:
            # Many at once: a stream for each would cost more than some runs.
            name = f"{block} {key}".encode("utf-8", "surrogatepass")
            blocks[block] = _WORDS.unpack(blake2b(name, digest_size=64, key=self._key).digest())
        return [self._deviates[blocks[arm.number // BLOCK][arm.number % BLOCK] % DEVIATES] for arm in arms]


@functools.lru_cache(maxsize=1)
def _deviates() -> tuple[float, ...]:
    """Return evenly likely values of a standard normal variable; rounded, so that they are equal on every machine."""
    from statistics import NormalDist  # loads a lot, and only runs with a policy need it

    normal = NormalDist()
    return tuple(round(normal.inv_cdf((number + 0.5) / DEVIATES), 6) for number in range(DEVIATES))


class Player:
    """Plays a policy through one run.

    Args:
        scores: Of the policy, with the seed of the run.

    Attributes:
        chosen: What was chosen so far, in the order of choosing.
    """

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self._left = scores.policy.budget + COST_TOLERANCE
        self._blocked = [dict(known) for known in scores.policy.blocked]
        self._costs: dict[str, float] = {}
        self.chosen: list[Injection] = []

    def choose(self, seen: Observation) -> Injection | None:
        """Choose what to inject at the crossing that is observed, `None` for nothing."""
        best, best_score = None, self._scores.policy.threshold
        hook = hook_at(seen.place)
        for score, arm in self._scores.of(seen):
            if score >= best_score and arm.cost <= self._left and not self._is_blocked(str(hook), arm.cost):
                best, best_score = arm, score
        if best is None:
            return None
        self._left -= best.cost
        self._costs[str(hook)] = best.cost
        injection = inject(hook, best.operator)
        self.chosen.append(injection)
        return injection

    def _is_blocked(self, hook: str, cost: float) -> bool:
        for known in self._blocked:
            if cost >= known.get(hook, float("inf")) and all(
                one == hook or self._costs.get(one, -1.0) >= least for one, least in known.items()
            ):
                return True
        return False
