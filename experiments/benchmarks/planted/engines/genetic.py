"""DEAP's (μ + λ) genetic algorithm, with operators made for schedules.

An individual maps hooks to levels. Crossing two swaps what they have at each hook with probability 1/2; mutating one
adds an injection, drops one, moves one to another hook, or changes its level, and does so until the schedule was not
tried before. That is all that this engine needs to know of the representation; the loop and the selection are DEAP's.
"""

from __future__ import annotations

import random

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce
from chaosagent.experiments.benchmarks.planted.engines.scores import Scores, injections_max
from chaosagent.extras import require
from chaosagent.faults.injection import Hook, inject
from chaosagent.faults.schedule import Schedule, schedule

PARENTS, CHILDREN = 40, 40
CROSSED, MUTATED = 0.3, 0.6
"""Shares of the children; the others are copies."""
TOURNAMENT = 3
GENERATIONS_MAX = 10_000
RETRIES_MAX = 20


class Individual(dict[Hook, int]):
    """The level at each hook of a schedule.

    Args:
        genes: Hooks with levels.
        fitness: A DEAP fitness, not evaluated yet.
    """

    def __init__(self, genes: dict[Hook, int], fitness: object) -> None:
        super().__init__(genes)
        self.fitness = fitness


def genetic(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with a way to reduce what it finds or without."""

    def search(arena: Arena, rng: random.Random) -> None:
        algorithms = require("deap.algorithms", extra="search", needed_by="--searcher deap-ga")
        base, tools = require("deap.base", extra="search", needed_by="--searcher deap-ga"), algorithms.tools
        fitness = type("Fitness", (base.Fitness,), {"weights": (-1.0,)})
        breeding, scores = Breeding(arena, rng), Scores(arena, reduce)
        toolbox = base.Toolbox()
        toolbox.register("evaluate", lambda individual: (scores(breeding.born(individual)).value,))
        toolbox.register("mate", breeding.cross)
        toolbox.register("mutate", breeding.mutate)
        toolbox.register("select", tools.selTournament, tournsize=TOURNAMENT)
        first = [Individual(breeding.draw(), fitness()) for _ in range(PARENTS)]
        state = random.getstate()
        random.setstate(rng.getstate())  # DEAP draws from the module
        try:
            algorithms.eaMuPlusLambda(
                first, toolbox, PARENTS, CHILDREN, CROSSED, MUTATED, GENERATIONS_MAX, verbose=False
            )
        finally:
            random.setstate(state)

    return search


class Breeding:
    """Draws, crosses and mutates individuals.

    Args:
        arena: Hooks and levels.
        rng: All chance.
    """

    def __init__(self, arena: Arena, rng: random.Random) -> None:
        self._arena, self._rng = arena, rng
        self._most = injections_max(arena)
        self._tried: set[Schedule] = set()

    def draw(self) -> dict[Hook, int]:
        """Return the genes of a random schedule."""
        hooks = self._rng.sample(self._arena.hooks, self._rng.randint(1, min(self._most, len(self._arena.hooks))))
        return {hook: self._level(hook) for hook in hooks}

    def born(self, individual: Individual) -> Schedule:
        """Return the schedule of an individual, which is tried now."""
        made = self._schedule(individual)
        self._tried.add(made)
        return made

    def cross(self, one: Individual, other: Individual) -> tuple[Individual, Individual]:
        """Swap what two individuals have at each hook with probability 1/2."""
        for hook in sorted({*one, *other}):
            if self._rng.random() < 0.5:
                mine, yours = one.pop(hook, None), other.pop(hook, None)
                if yours is not None:
                    one[hook] = yours
                if mine is not None:
                    other[hook] = mine
        for individual in (one, other):
            self._trim(individual)
        return one, other

    def mutate(self, individual: Individual) -> tuple[Individual]:
        """Change an individual until its schedule was not tried before."""
        for _ in range(RETRIES_MAX):
            self._change(individual)
            if self._schedule(individual) not in self._tried:
                break
        return (individual,)

    def _change(self, individual: Individual) -> None:
        rng, hooks = self._rng, sorted(individual)
        free = [hook for hook in self._arena.hooks if hook not in individual]
        kinds = ["level", "move", "drop"] if hooks else []
        kinds += ["add"] if free and len(hooks) < self._most else []
        kind = rng.choice(kinds)
        if kind in ("move", "drop"):
            del individual[rng.choice(hooks)]
        if kind in ("move", "add") and free:
            hook = rng.choice(free)
            individual[hook] = self._level(hook)
        if kind == "level":
            hook = rng.choice(hooks)
            individual[hook] = self._level(hook)

    def _trim(self, individual: Individual) -> None:
        while len(individual) > self._most:
            del individual[self._rng.choice(sorted(individual))]
        if not individual:
            individual.update(self.draw())

    def _level(self, hook: Hook) -> int:
        return self._rng.randrange(len(self._arena.levels[hook]))

    def _schedule(self, individual: Individual) -> Schedule:
        return schedule(inject(hook, self._arena.levels[hook][level]) for hook, level in individual.items())
