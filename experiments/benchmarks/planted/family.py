"""What a family of the benchmark is: a target with a planted minimum, in as many layouts as there are seeds."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, TypeVar

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import End, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import AtEnd
from chaosagent.contracts.settings import ContractSettings
from chaosagent.faults.injection import Hook
from chaosagent.faults.operator import Operator
from chaosagent.faults.schedule import Schedule, parse
from chaosagent.faults.space import Space
from chaosagent.seeds import derive
from chaosagent.targets.target import Target
from chaosagent.vocabulary import Verdict

_WORDS = """
accounts archive audit baggage billing bookings calendar carriers catalogue claims contracts credit customs
deliveries depot deposits directory drivers duties fares fleet forecast freight gates hangars imports
insurance invoices labels ledger licences manifests meters notices offers orders pallets parcels payroll
permits pickups ports prices queues quotas rates receipts refunds releases returns routes scans schedules
seals shelves slots stock suppliers tariffs taxes tenders tokens tolls trucks vaults vouchers weights zones
"""
NAMES = tuple(_WORDS.split())
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Chance:
    """How often a model decides badly.

    Attributes:
        seed: Of the draws; the n-th draw of a target follows from it and n.
        rate: Where the faults have led it astray.
        flake: Anyway.
    """

    seed: int = 0
    rate: float = 0.3
    flake: float = 0.02


CERTAIN = Chance(rate=1.0, flake=0.0)
"""A model that errs wherever it can be led astray and never otherwise: under it a stochastic target violates exactly
where its true rate is above the flakes."""


class Judge:
    """A model that decides whether to go on, by chance; each draw is the next of its stream, over all runs of a target.

    Args:
        chance: How often it decides badly.
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._drawn = 0

    def ask(self, astray: bool, **remarks: Plain) -> Plain:  # noqa: FBT001  # an argument of the model's request
        """Decide; `remarks` are in the prompt, so that a frozen answer holds for these only."""
        del remarks
        self._drawn += 1
        draw = derive(self._chance.seed, "judge", self._drawn).random()
        wrong = draw < (self._chance.rate if astray else self._chance.flake)
        return {"content": "go on" if wrong or not astray else "stop", "tool_calls": [], "wrong": wrong}


class Layout:
    """The names and places of one layout; equal seeds give equal layouts.

    Args:
        family: Name of the family.
        seed: Which layout.
        checkpoints: Whether the target offers checkpoints, for rule R3.
        chance: Of a stochastic target.
    """

    def __init__(self, family: str, seed: int, *, checkpoints: bool = True, chance: Chance | None = None) -> None:
        self._rng = derive(seed, "planted", family)
        self.checkpoints = checkpoints
        self.chance = Chance(seed) if chance is None else chance

    def names(self, count: int) -> list[str]:
        """Return different names, in random order."""
        return self._rng.sample(NAMES, count)

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """Return some of a few things, in random order."""
        return self._rng.sample(items, count)

    def pick(self, items: Sequence[Item]) -> Item:
        """Return one of a few things."""
        return self._rng.choice(items)

    @property
    def rng(self) -> random.Random:
        """The stream of the layout."""
        return self._rng


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(ContractSettings):
    """The contract of all families: the outcome keeps a distance above 0 from a violation, which is the margin."""

    outcome_only: ClassVar[bool] = True

    id: str = "kept"

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return AtEnd(_judge)


def _judge(end: End) -> Reading:
    state = end.outcome.state
    distance = state.get("distance") if isinstance(state, dict) else None
    if not isinstance(distance, float):
        return Reading(Verdict.UNKNOWN, 0.0, f"the run ended with {end.ending.value}: {end.detail}")
    return Reading(Verdict.HOLDS, distance) if distance > 0.0 else violated("what was planted has happened")


KEPT = Kept()


@dataclass(frozen=True, slots=True)
class Planted:
    """A family in one layout.

    Attributes:
        target: The system under test, with one task.
        space: What may be injected, and what it costs.
        hooks: All places that some schedule reaches.
        minima: Schedules of the least cost that break the contract, one of each kind; none for a robust target.
        budget: Up to which is searched.
        stochastic: Answers come by chance.
    """

    target: Target
    space: Space
    hooks: tuple[Hook, ...]
    minima: tuple[Schedule, ...]
    budget: float
    stochastic: bool = False

    @property
    def minimum(self) -> float | None:
        """The least cost of a violation; `None` when there is none within the budget."""
        return self.minima[0].declared_cost(self.space.model) if self.minima else None

    def levels(self, hook: Hook) -> tuple[Operator, ...]:
        """Return what may be injected at a hook, cheapest first."""
        return tuple(priced.operator for priced in self.space.at(hook.boundary, hook.interface, hook.agent))


Build: TypeAlias = Callable[[Layout], Planted]


@dataclass(frozen=True, slots=True)
class Family:
    """One row of the benchmark.

    Attributes:
        name: As the command line and the tables call it.
        build: Makes it in a layout.
        hooks: How many places it has.
        levels: How many parameter levels each of them has.
        minimum: The least cost of a violation, `None` when there is none within the budget.
    """

    name: str
    build: Build
    hooks: int
    levels: int
    minimum: float | None

    def planted(self, seed: int, *, checkpoints: bool = True, chance: Chance | None = None) -> Planted:
        """Return the family in the layout of a seed."""
        return self.build(Layout(self.name, seed, checkpoints=checkpoints, chance=chance))


def hooks(*texts: str) -> tuple[Hook, ...]:
    """Return the hooks that some texts name, such as `"service:orders[1.1]"`."""
    return tuple(_hook(text) for text in texts)


@functools.lru_cache(maxsize=4_096)
def _hook(text: str) -> Hook:
    (injection,) = parse(f"{text} {'prompt.splice' if text.startswith('prompt') else 'service.delay'}")
    return injection.hook


def tries(name: str, attempts: int, occurrence: int = 1) -> tuple[Hook, ...]:
    """Return the hooks of one logical call to a service that may be attempted several times."""
    return tuple(Hook(f"service:{name}", "", occurrence, occurrence, attempt) for attempt in range(attempts))
